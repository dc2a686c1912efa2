/* look_facts.c - is it worth loading: what would come, where there is room for it, and whether
 * it would run here. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/output/output.h"
#include "src/ops/verify/verify.h"
#include "src/store/ollama.h"

#define LACKS_MAX (1u << 20)

static bool
has_blob(const char *store, const struct look_file *f)
{
	char *path = tb_starts(f->digest, "sha256:") ? ollama_blob_path(store, f->digest) : NULL;
	struct tb_ident id;
	bool has = path && !tb_file_ident(path, &id, NULL) && id.size == f->size;

	free(path);
	return has;
}

static void
facts_count(const struct look *l, const struct op_ctx *ctx, struct look_facts *out)
{
	if (store_destination(&ctx->roots, &out->store, NULL))
		out->store = NULL;	/* one will be made */
	if (out->store)
		out->free = space_free(out->store);
	for (size_t i = 0; i < l->n; i++) {
		const struct look_file *f = l->files[i];

		if (!*f->digest || (i && !strcmp(l->files[i - 1]->path, f->path)))
			continue;
		out->bytes += f->size;
		if (out->store && has_blob(out->store, f))
			out->there += f->size;
	}
	out->to_come = out->bytes - out->there;
}

enum tb_status
look_facts(struct look *l, struct op_ctx *ctx, const struct model *m, struct look_facts *out,
	   struct tb_err *err)
{
	struct tb_buf lacks = TB_BUF(LACKS_MAX);
	enum tb_status status;

	*out = (struct look_facts){ .free = UINT64_MAX };
	if (l->source.cost)
		l->source.cost(l->source.arg, out);
	else
		facts_count(l, ctx, out);
	status = verify_headers(m, &lacks, &out->nlacks, err);
	if (!status && !(out->lacks = tb_strdup(tb_buf_cstr(&lacks))))
		status = tb_nomem(err);
	tb_buf_free(&lacks);
	if (!status)
		status = look_failed(l, err);
	if (status)
		look_facts_free(out);
	return status;
}

void
look_facts_free(struct look_facts *f)
{
	free(f->store);
	free(f->lacks);
	*f = (struct look_facts){ 0 };
}
