/* hub_name.h - models of a Hugging Face hub: "hf:ORG/NAME[@REVISION][:WHICH]", or the address of
 * the repository's page there.
 *
 * REVISION is a branch, a tag, "refs/pr/1" or a commit; WHICH one of several GGUF files, as its
 * quantization ("Q4_K_M") or its name. */
#ifndef TBTUI_NET_HUB_NAME_H
#define TBTUI_NET_HUB_NAME_H

#include <stdbool.h>

#include "src/base/err.h"

struct hub_name {		/* all owned */
	char *repo;		/* "ORG/NAME", or "NAME" of the oldest ones */
	char *revision;		/* "main" where nothing is said */
	char *which;		/* "": nothing is said */
};

/* Does it begin as one? */
bool hub_name_is(const char *text);
/* *out is empty after a failure. */
enum tb_status hub_name_parse(struct hub_name *out, const char *text, struct tb_err *err)
	TB_MUST_USE;
void hub_name_free(struct hub_name *n);		/* also fine on zeros */

/* 40 hex digits: a revision that nobody can change. */
bool hub_is_commit(const char *revision);
/* May a file of a repository be called so?  *why: a sentence's end that says why not. */
bool hub_path_ok(const char *path, const char **why);
#endif
