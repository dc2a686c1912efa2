/* An OCI image layout: index.json, and blobs that it or they may name; pieces of the
 * input are parted by a byte that JSON does not have. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOBS "blobs/sha256/"

/* Blob number i is called by 64 digits i. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[sizeof(BLOBS) + 64] = BLOBS;

	folder_put("oci-layout", "{}", 2);
	folder_put(BLOBS "x", "", 0);
	for (char i = '0'; i <= '4'; i++) {
		const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
		size_t n = end ? (size_t)(end - data) : size;

		memset(name + strlen(BLOBS), i, 64);
		folder_put(i == '0' ? "index.json" : name, data, n);
		data += n + (end != NULL);
		size -= n + (end != NULL);
	}
	folder_open_all();
	return 0;
}
