/* What a hub says: a list of files, a Link header; and what people call its models. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/net/hub_api.h"
#include "src/net/hub_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_files(const struct hub_files *f)
{
	const char *why;

	for (size_t i = 0; i < f->n; i++)
		if (!hub_path_ok(f->v[i].path, &why) ||
		    strchr(hub_file_hex(&f->v[i]), '/') || hub_files_find(f, f->v[i].path) != &f->v[i])
			abort();
}

static void
check_name(const struct hub_name *n)
{
	if (strstr(n->repo, "..") || strchr(n->repo, '@') || *n->repo == '/' ||
	    strstr(n->revision, "..") || *n->revision == '/')
		abort();
}

/* The first byte says what the rest is. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hub_files files = { 0 };
	struct hub_name name;
	char *text;

	if (!size)
		return 0;
	text = tb_strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	if (*data == 'f') {
		if (!hub_files_add(&files, (const char *)data + 1, size - 1, "x", NULL) &&
		    !hub_files_sort(&files, "x", NULL))
			check_files(&files);
		hub_files_free(&files);
	} else if (*data == 'l') {
		free(hub_next_page(text));
	} else if (!hub_name_parse(&name, text, NULL)) {
		check_name(&name);
		hub_name_free(&name);
	}
	free(text);
	return 0;
}
