/* split.h - models in several GGUF files: NAME-00001-of-00003.gguf. */
#ifndef TBTUI_STORE_SPLIT_H
#define TBTUI_STORE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#define SPLIT_MAX 1024u		/* files; a name that says more is not believed */

struct split {
	size_t base;		/* bytes of NAME, which may be a path */
	unsigned no, count;	/* no: from 1 */
};
bool split_parse(const char *name, struct split *out);
/* The same of files with another ending: ".safetensors". */
bool split_parse_as(const char *name, const char *ending, struct split *out);
/* Does `name`, a split as well, belong to the same model? */
bool split_same(const char *a, const char *b);
/* The file `no` of the model that `name` belongs to; NULL when out of memory. */
char *split_path(const char *name, const struct split *s, unsigned no);
/* "x.gguf" -> "x-00001-of-00003.gguf": file `no` of it; NULL when out of memory. */
char *split_name(const char *path, unsigned no, unsigned count);
#endif
