/* look_stores.c - what is looked at far away may be in a store here. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <stdlib.h>
#include <string.h>

#include "db/audit.h"
#include "src/ops/home/home.h"
#include "src/store/ollama.h"

bool
look_is_known(struct db *db, const char *path, const char *digest, uint64_t size)
{
	struct tb_ident id;
	bool known = false;

	return !tb_file_ident(path, &id, NULL) && id.size == size &&
	       !db_hash_known(db, path, &id, digest, &known, NULL) && known;
}

enum tb_status
look_in_stores(const struct op_ctx *ctx, struct db *db, const char *digest, uint64_t size,
	       char **path, struct tb_err *err)
{
	*path = NULL;
	for (size_t i = 0; db && i < ctx->roots.n; i++) {
		*path = ollama_blob_path(ctx->roots.path[i], digest);
		if (!*path)
			return tb_nomem(err);
		if (look_is_known(db, *path, digest, size))
			return TB_OK;
		free(*path);
		*path = NULL;
	}
	return TB_OK;
}
