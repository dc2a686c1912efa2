/* The list of an operation in a store's quarantine: read, asked what it holds, gone back and
 * emptied.  What lies outside of the store must stay as it is. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/store/journal.h"
#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const lists[] = { "begun", "done", "undoing", "undone", "emptying" };

/* The first byte says what state it is in, and what is asked. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j = { 0 };
	uint64_t things, bytes;
	char name[64], store[128], top[160];
	struct stat st;

	if (!size)
		return 0;
	snprintf(name, sizeof(name), "store/.tbtui/1/journal.%s", lists[data[0] % 5]);
	snprintf(store, sizeof(store), "%s/store", folder());
	snprintf(top, sizeof(top), "%s/.tbtui", store);
	folder_put("outside", "kept", 4);
	folder_put("store/blobs/a", "a", 1);
	folder_put("store/.tbtui/1/0", "taken", 5);
	folder_put(name, data + 1, size - 1);
	chmod(top, 0700);
	if (!journal_read(&j, store, 1, NULL))
		(void)!journal_held(&j, &things, &bytes, NULL);
	if (!store_lock_alone(&lock, store, NULL)) {
		(void)!journal_recover(store, &lock, NULL, NULL);
		if (j.root && (data[0] & 64))
			(void)!journal_undo(&j, &lock, NULL);
		else if (j.root && (data[0] & 32))
			(void)!journal_empty(&j, &lock, NULL);
	}
	store_unlock(&lock);
	journal_free(&j);
	snprintf(top, sizeof(top), "%s/outside", folder());
	if (stat(top, &st) || st.st_size != 4)
		abort();
	folder_clear();
	return 0;
}
