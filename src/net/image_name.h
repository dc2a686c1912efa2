/* image_name.h - where a model or an image is: in which registry, under which name.
 *
 *	llama3:8b			as Ollama has it: registry.ollama.ai/library/llama3
 *	ns/model, host:5000/ns/model:tag
 *	docker://HOST/REPO[:TAG]	any repository of any depth
 * each with http:// or https:// in front of the host, and @sha256:… behind it all.  What was parsed
 * is safe in a URL. */
#ifndef TBTUI_NET_IMAGE_NAME_H
#define TBTUI_NET_IMAGE_NAME_H

#include <stdbool.h>

#include "src/base/err.h"
#include "src/base/sha256.h"
#include "src/store/name.h"

struct image_name {		/* all owned */
	char *scheme;		/* "http" or "https", as it was said; "" where nothing was */
	char *host;		/* with its port, in small letters */
	char *repo;		/* "library/llama3" */
	char *tag;		/* "latest" where neither tag nor digest was said; may be "" else */
	char digest[TB_DIGEST_MAX];	/* "": none was said */
};

/* *n is empty after a failure. */
enum tb_status image_name_parse(struct image_name *n, const char *text, struct tb_err *err)
	TB_MUST_USE;
void image_name_free(struct image_name *n);	/* fine on zeros */

/* What a manifest is asked for by: the digest, or the tag. */
const char *image_reference(const struct image_name *n);
/* "HOST/REPO:TAG@DIGEST" in fresh memory, with http:// if that was said, as image_name_parse()
 * understands it; NULL: no memory. */
char *image_name_text(const struct image_name *n);
/* What it is called in a store if nobody says otherwise.  TB_EUSAGE: such a name has no place
 * there, another has to be said. */
enum tb_status image_name_local(const struct image_name *n, struct model_name *out,
				struct tb_err *err) TB_MUST_USE;
#endif
