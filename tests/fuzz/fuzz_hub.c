/* A Hugging Face cache: files and links with names from the input. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPO "models--o--n/"
#define REV REPO "snapshots/0123/"
#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* Where what comes next goes; NULL: to a name of the input's own. */
static const char *const places[] = {
	REPO "refs/main", REPO "refs/pr/1", REV "config.json", REV "model.safetensors",
	REV "model.safetensors.index.json", REV "x.gguf", REV "deep/model.safetensors",
	REPO "snapshots/4567/config.json", REPO "blobs/" HASH, REPO "blobs/" HASH ".incomplete",
	REPO "blobs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	NULL,
};
#define NPLACES (sizeof(places) / sizeof(*places))

/* Stays below folder(): no "..", no absolute path. */
static void
own_name(const uint8_t *p, size_t n, char out[80])
{
	size_t len = (size_t)snprintf(out, 80, "%s", n % 2 ? REV : REPO "blobs/");

	for (size_t i = 0; i < n && i < 24; i++)
		if (p[i] && p[i] != '/' && (p[i] != '.' || (i && out[len - 1] != '.')))
			out[len++] = (char)p[i];
	out[len++] = 'x';
	out[len] = 0;
}

/* place, kind and length of what follows, again and again. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	folder();
	while (size >= 3) {
		const char *name = places[data[0] % NPLACES];
		size_t n = data[2] < size - 3 ? data[2] : size - 3;
		char own[80], target[256];

		if (!name) {
			own_name(data + 3, n, own);
			name = own;
		}
		memcpy(target, data + 3, n);
		target[n] = 0;
		if (data[1] % 3 == 0)
			folder_link(name, target);
		else if (data[1] % 3 == 1) {
			snprintf(target, sizeof(target), "../../%s",
				 places[data[1] / 3 % (NPLACES - 1)] + strlen(REPO));
			folder_link(name, target);
		} else
			folder_put(name, data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
	folder_open_all();
	folder_clear();
	return 0;
}
