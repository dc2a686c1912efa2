#include "config.h"

#include "src/text/tok_decode.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/tok_json.h"
#include "src/text/tok_uni.h"

#define STAGES_MAX 64

static enum tb_status
set_text(char **out, const char *s, const char *what, struct tb_err *err)
{
	if (!s)
		return tb_fail(err, TB_EFORMAT, "tokenizer: decoder %s is incomplete", what);
	*out = tb_strdup(s);
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_replace(struct tok_decoder *d, struct tok_dec *s, const cJSON *spec, struct tb_err *err)
{
	const char *from = json_str(json_path(spec, "pattern.String"));
	enum tb_status status;

	(void)d;
	if (!from || !*from)
		return tb_fail(err, TB_EUNSUP, "tokenizer: decoder Replace without a String");
	status = set_text(&s->from, from, "Replace", err);
	return status ? status : set_text(&s->to, json_str(json_get(spec, "content")), "Replace",
					  err);
}

static enum tb_status
read_metaspace(struct tok_decoder *d, struct tok_dec *s, const cJSON *spec, struct tb_err *err)
{
	const char *mark = json_str(json_get(spec, "replacement"));
	const char *scheme = json_str(json_get(spec, "prepend_scheme"));
	bool prefix = true;
	enum tb_status status;

	(void)d;
	(void)json_bool(json_get(spec, "add_prefix_space"), &prefix);
	s->drop_first = scheme ? strcmp(scheme, "never") != 0 : prefix;
	status = set_text(&s->from, mark && *mark ? mark : NULL, "Metaspace", err);
	return status ? status : set_text(&s->to, " ", "Metaspace", err);
}

static enum tb_status
read_strip(struct tok_decoder *d, struct tok_dec *s, const cJSON *spec, struct tb_err *err)
{
	const char *content = json_str(json_get(spec, "content"));
	uint64_t start = 0, stop = 0;

	s->only_first = d->fused;
	(void)json_u64(json_get(spec, "start"), &start);
	(void)json_u64(json_get(spec, "stop"), &stop);
	if (start > 1 || stop || !content || !*content)
		return tb_fail(err, TB_EUNSUP, "tokenizer: decoder Strip is supported for one "
			       "character in front only");
	return set_text(&s->from, start ? content : "", "Strip", err);
}

static const struct dec_row {
	const char *type;
	enum tok_dec_kind kind;
	enum tb_status (*read)(struct tok_decoder *d, struct tok_dec *s, const cJSON *spec,
			       struct tb_err *err);
} dec_rows[] = {
	{ "Replace", DEC_REPLACE, read_replace },
	{ "ByteFallback", DEC_FALLBACK, NULL },
	{ "Metaspace", DEC_REPLACE, read_metaspace },
	{ "Strip", DEC_STRIP, read_strip },
	{ "ByteLevel", DEC_BYTES, NULL },
};

static enum tb_status
decoder_stage(void *to, const cJSON *spec, const char *type, struct tb_err *err)
{
	struct tok_decoder *d = to;

	if (!strcmp(type, "Fuse")) {
		d->fused = true;
		return TB_OK;
	}
	if (d->n == STAGES_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: over %d decoders", STAGES_MAX);
	for (size_t i = 0; i < sizeof(dec_rows) / sizeof(*dec_rows); i++) {
		const struct dec_row *row = &dec_rows[i];

		if (strcmp(type, row->type))
			continue;
		if (!tb_grow(&d->v, &d->cap, d->n + 1, sizeof(*d->v)))
			return tb_nomem(err);
		d->v[d->n++] = (struct tok_dec){ .kind = row->kind };
		return row->read ? row->read(d, &d->v[d->n - 1], spec, err) : TB_OK;
	}
	return tb_fail(err, TB_EUNSUP, "tokenizer: decoder \"%s\" is not supported", type);
}

enum tb_status
tok_decoder_new(struct tok_decoder *d, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status;

	*d = (struct tok_decoder){ .blanks = !spec || json_is_null(spec) };
	status = tok_stages(spec, "decoder", "decoders", decoder_stage, d, err);
	if (status)
		tok_decoder_free(d);
	return status;
}

static enum tb_status
add_dec(struct tok_decoder *d, enum tok_dec_kind kind, const char *from, const char *to,
	struct tb_err *err)
{
	struct tok_dec *s;

	if (!tb_grow(&d->v, &d->cap, d->n + 1, sizeof(*d->v)))
		return tb_nomem(err);
	s = &d->v[d->n++];
	*s = (struct tok_dec){ .kind = kind, .only_first = true };
	s->from = from ? tb_strdup(from) : NULL;
	s->to = to ? tb_strdup(to) : NULL;
	return (!from || s->from) && (!to || s->to) ? TB_OK : tb_nomem(err);
}

enum tb_status
tok_decoder_blanks(struct tok_decoder *d, const char *mark, bool prefix, struct tb_err *err)
{
	enum tb_status status = add_dec(d, DEC_REPLACE, mark, " ", err);

	if (!status)
		status = add_dec(d, DEC_FALLBACK, NULL, NULL, err);
	if (!status && prefix)
		status = add_dec(d, DEC_STRIP, " ", NULL, err);
	return status;
}

enum tb_status
tok_decoder_bytes(struct tok_decoder *d, struct tb_err *err)
{
	return add_dec(d, DEC_BYTES, NULL, NULL, err);
}

void
tok_decoder_free(struct tok_decoder *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].from);
		free(d->v[i].to);
	}
	free(d->v);
	*d = (struct tok_decoder){ 0 };
}

static void
replace_all(const struct tok_dec *s, const struct tb_buf *in, bool first, struct tb_buf *out)
{
	const char *p = tb_buf_cstr(in), *end = p + in->len, *hit;
	size_t n = strlen(s->from);

	while ((hit = memmem(p, (size_t)(end - p), s->from, n))) {
		tb_buf_add(out, p, (size_t)(hit - p));
		if (!(first && s->drop_first))
			tb_buf_str(out, s->to);
		p = hit + n;
	}
	tb_buf_add(out, p, (size_t)(end - p));
}

/* A piece with a character outside the alphabet, an added token, stands for itself. */
static void
from_bytes(const struct tb_buf *in, struct tb_buf *out)
{
	uint32_t cp;
	uint8_t byte;

	for (size_t i = 0; i < in->len;) {
		i += tb_utf8_next(in->p + i, in->len - i, &cp);
		if (!tok_cp_byte(cp, &byte)) {
			tb_buf_clear(out);
			tb_buf_add(out, in->p, in->len);
			return;
		}
		tb_buf_chr(out, (char)byte);
	}
}

static void
apply_dec(const struct tok_dec *s, const struct tb_buf *in, bool first, struct tb_buf *out)
{
	size_t n;
	uint8_t byte;

	switch (s->kind) {
	case DEC_REPLACE:
		replace_all(s, in, first, out);
		return;
	case DEC_BYTES:
		from_bytes(in, out);
		return;
	case DEC_FALLBACK:
		if (tok_byte_piece(tb_buf_cstr(in), in->len, &byte))
			tb_buf_chr(out, (char)byte);
		else
			tb_buf_add(out, tb_buf_cstr(in), in->len);
		return;
	case DEC_STRIP:
		n = strlen(s->from);
		if ((s->only_first && !first) || in->len < n || memcmp(tb_buf_cstr(in), s->from, n))
			n = 0;
		tb_buf_add(out, tb_buf_cstr(in) + n, in->len - n);
		return;
	}
}

void
tok_decode(const struct tok_decoder *d, const char *piece, size_t len, bool first,
	   struct tb_buf *out)
{
	struct tb_buf now = TB_BUF(out->max), next = TB_BUF(out->max), swap;
	bool failed = false;

	if (d->blanks && !first)
		tb_buf_chr(out, ' ');
	tb_buf_add(&now, piece, len);
	for (size_t i = 0; i < d->n; i++) {
		failed |= tb_buf_failed(&now);
		tb_buf_clear(&next);
		apply_dec(&d->v[i], &now, first, &next);
		swap = now;
		now = next;
		next = swap;
	}
	tb_buf_add(out, tb_buf_cstr(&now), now.len);
	out->failed |= failed || tb_buf_failed(&now);
	tb_buf_free(&now);
	tb_buf_free(&next);
}
