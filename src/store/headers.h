/* headers.h - headers of safetensors files, read once for all models that share them.
 * Private to src/store.
 *
 * A header that explains itself (every tensor is plain, or packed with its scales beside
 * it and metadata that say how) has its logical tensors ready, too: they are the same in
 * each model. */
#ifndef TBTUI_STORE_HEADERS_H
#define TBTUI_STORE_HEADERS_H

#include "src/store/model_build.h"

struct header {
	unsigned refs;			/* private, as is what follows to `id` */
	struct header *next;
	uint64_t hash;			/* of the path */
	struct tb_arena arena;		/* owns the texts of `ready` */
	struct tb_ident id;
	struct st_header h;
	struct ready_tensor { struct tensor t; const char *key; } *ready;
	size_t nready;			/* 0: it does not explain itself */
	char path[];
};

/* NULL: not known; else a reference. */
struct header *headers_find(struct model_cache *c, const char *path);
/* Takes over h and what is in it; *out is a reference to it. */
enum tb_status headers_put(struct model_cache *c, const char *path, const struct tb_ident *id,
			   struct st_header *h, struct header **out, struct tb_err *err)
	TB_MUST_USE;
void headers_unref(struct header *h);
#endif
