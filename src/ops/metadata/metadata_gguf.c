/* metadata_gguf.c - keys of a GGUF file: as lines, in full, and as JSON. */
#include "config.h"

#include "src/ops/metadata/metadata_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/format/ggml_type.h"
#include "src/format/gguf_array.h"
#include "src/format/json.h"
#include "src/store/model_meta.h"

#define NUMBER_MAX 40
#define CHECK_EVERY 4096	/* elements between two looks at the job */

const char *
metadata_file_type(uint64_t n)
{
	const struct gguf_mixture *m = gguf_mixture(n);

	return m ? m->name : NULL;
}

static int64_t
signed_of(enum gguf_value type, uint64_t bits)
{
	return type == GGUF_I8 ? (int8_t)bits
	     : type == GGUF_I16 ? (int16_t)bits
	     : type == GGUF_I32 ? (int32_t)bits : (int64_t)bits;
}

/* The fewest digits that give the same F32 again. */
static void
f32_text(float x, char out[NUMBER_MAX])
{
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(out, NUMBER_MAX, "%.*g", digits, (double)x);
		if (strtof(out, NULL) == x)
			return;
	}
}

static void
number_text(enum gguf_value type, uint64_t bits, char out[NUMBER_MAX])
{
	double x = 0;

	switch (type) {
	case GGUF_BOOL:
		snprintf(out, NUMBER_MAX, "%s", bits ? "true" : "false");
		break;
	case GGUF_F32:
		(void)gguf_number_f64(type, bits, &x);
		f32_text((float)x, out);
		break;
	case GGUF_F64:
		(void)gguf_number_f64(type, bits, &x);
		snprintf(out, NUMBER_MAX, "%.17g", x);
		break;
	case GGUF_I8: case GGUF_I16: case GGUF_I32: case GGUF_I64:
		snprintf(out, NUMBER_MAX, "%" PRId64, signed_of(type, bits));
		break;
	default:
		snprintf(out, NUMBER_MAX, "%" PRIu64, bits);
	}
}

/* The first bytes of a string value; NUL characters in it become blanks, for what comes
 * after them is part of it. */
static enum tb_status
read_string(const struct model_meta *mm, const struct gguf_kv *kv, size_t max, char **out,
	    size_t *len, struct tb_err *err)
{
	size_t n = kv->len < max ? (size_t)kv->len : max;
	char *text = tb_calloc(n + 1, 1);
	enum tb_status status = text ? tb_file_read(&mm->file, kv->off, text, n, err)
				     : tb_nomem(err);

	for (size_t i = 0; !status && i < n; i++)
		if (!text[i])
			text[i] = ' ';
	*out = status ? NULL : text;
	*len = n;
	if (status)
		free(text);
	return status;
}

/* ---- lines ---- */

static void
add_item(struct tb_buf *line, enum gguf_value type, const struct gguf_item *item)
{
	char number[NUMBER_MAX];

	if (line->len)
		tb_buf_str(line, ", ");
	if (type == GGUF_STRING) {
		tb_buf_printf(line, "\"%.*s\"", item->len < META_LINE ? (int)item->len
			      : (int)META_LINE, item->s);
		return;
	}
	number_text(type, item->bits, number);
	tb_buf_str(line, number);
}

static enum tb_status
array_line(struct model_meta *mm, const struct gguf_kv *kv, struct tb_buf *line, bool *whole,
	   struct tb_err *err)
{
	struct gguf_array *a;
	struct gguf_item item;
	uint64_t n = 0;
	enum tb_status status = gguf_array_open(&a, kv, &mm->file, err);

	if (status)
		return status;
	for (; line->len < META_LINE && gguf_array_next(a, &item); n++)
		add_item(line, kv->elem, &item);
	*whole = n == kv->count && line->len <= META_LINE;
	if (n < kv->count)
		tb_buf_str(line, ", …");
	return gguf_array_close(a);
}

static enum tb_status
value_line(struct model_meta *mm, const struct gguf_kv *kv, struct tb_buf *line, bool *whole,
	   struct tb_err *err)
{
	char number[NUMBER_MAX], *text;
	enum tb_status status;
	size_t len;

	*whole = true;
	if (kv->type == GGUF_ARRAY)
		return array_line(mm, kv, line, whole, err);
	if (kv->type == GGUF_STRING) {
		if ((status = read_string(mm, kv, META_LINE, &text, &len, err)))
			return status;
		tb_buf_add(line, text, len);
		*whole = len == kv->len && !memchr(text, '\n', len);
		free(text);
		return TB_OK;
	}
	number_text(kv->type, kv->bits, number);
	tb_buf_str(line, number);
	if (!strcmp(kv->key, "general.file_type") && metadata_file_type(kv->bits))
		tb_buf_printf(line, " (%s)", metadata_file_type(kv->bits));
	return TB_OK;
}

enum tb_status
meta_gguf_rows(struct metadata *md, struct model_meta *mm, struct tb_err *err)
{
	struct tb_buf line = TB_BUF(GGUF_ITEM_MAX);
	enum tb_status status = TB_OK;

	md->version = mm->g.version;
	md->alignment = mm->g.alignment;
	for (size_t i = 0; !status && i < mm->g.nkv; i++) {
		const struct gguf_kv *kv = &mm->g.kv[i];
		char type[NUMBER_MAX];
		bool whole;

		tb_buf_clear(&line);
		snprintf(type, sizeof(type), "%s", gguf_value_name(kv->type));
		if (kv->type == GGUF_ARRAY)
			snprintf(type, sizeof(type), "%s[%ju]", gguf_value_name(kv->elem),
				 (uintmax_t)kv->count);
		status = value_line(mm, kv, &line, &whole, err);
		if (!status)
			status = tb_buf_status(&line, kv->key, err);
		if (!status && !meta_add(md, META_GGUF, kv->key, type, tb_buf_cstr(&line), whole))
			status = tb_nomem(err);
	}
	tb_buf_free(&line);
	return status;
}

/* ---- in full ---- */

static enum tb_status
array_each(struct model_meta *mm, const struct gguf_kv *kv, meta_item_fn *fn, void *arg,
	   struct tb_job *job, struct tb_err *err)
{
	struct gguf_array *a;
	struct gguf_item item;
	char number[NUMBER_MAX];
	enum tb_status status = gguf_array_open(&a, kv, &mm->file, err), end;

	if (status)
		return status;
	for (uint64_t i = 0; !status && gguf_array_next(a, &item); i++) {
		if (i % CHECK_EVERY == 0 && (status = tb_job_check(job, err)))
			break;
		if (!item.s)
			number_text(kv->elem, item.bits, number);
		status = fn(arg, item.s ? item.s : number, item.s ? item.len : strlen(number), err);
	}
	end = gguf_array_close(a);
	return status ? status : end;
}

enum tb_status
meta_gguf_each(struct model_meta *mm, const struct gguf_kv *kv, meta_item_fn *fn, void *arg,
	       struct tb_job *job, struct tb_err *err)
{
	char number[NUMBER_MAX], *text;
	enum tb_status status;
	size_t len;

	if (kv->type == GGUF_ARRAY)
		return array_each(mm, kv, fn, arg, job, err);
	if (kv->type != GGUF_STRING) {
		number_text(kv->type, kv->bits, number);
		return fn(arg, number, strlen(number), err);
	}
	if (kv->len > META_STRING_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: key %.120s: a string of %ju bytes",
			       mm->file.path, kv->key, (uintmax_t)kv->len);
	if ((status = read_string(mm, kv, META_STRING_MAX, &text, &len, err)))
		return status;
	status = fn(arg, text, len, err);
	free(text);
	return status;
}

/* ---- JSON ---- */

/* name NULL: at the end of an array. */
static void
set_number(cJSON *o, const char *name, enum gguf_value type, uint64_t bits)
{
	double x = 0;

	if (type == GGUF_BOOL) {
		json_set_bool(o, name, bits != 0);
	} else if (type == GGUF_F32 || type == GGUF_F64) {
		(void)gguf_number_f64(type, bits, &x);
		json_set_f64(o, name, x);
	} else if (type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32 || type == GGUF_I64) {
		json_set_i64(o, name, signed_of(type, bits));
	} else {
		json_set_u64(o, name, bits);
	}
}

static enum tb_status
array_json(struct model_meta *mm, const struct gguf_kv *kv, cJSON *list, struct tb_job *job,
	   struct tb_err *err)
{
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status = gguf_array_open(&a, kv, &mm->file, err), end;

	if (status)
		return status;
	for (uint64_t i = 0; !status && gguf_array_next(a, &item); i++) {
		if (i % CHECK_EVERY == 0)
			status = tb_job_check(job, err);
		if (item.s)
			json_push_str(list, item.s);
		else
			set_number(list, NULL, kv->elem, item.bits);
	}
	end = gguf_array_close(a);
	return status ? status : end;
}

static enum tb_status
set_string(void *arg, const char *text, size_t len, struct tb_err *err)
{
	char **out = arg;

	(void)len;
	*out = tb_strdup(text);
	return *out ? TB_OK : tb_nomem(err);
}

enum tb_status
meta_gguf_json(struct model_meta *mm, const struct gguf_kv *kv, const char *name, cJSON *o,
	       struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;
	char *text = NULL;
	cJSON *list;

	if (kv->type == GGUF_STRING) {
		if ((status = meta_gguf_each(mm, kv, set_string, &text, job, err)))
			return status;
		json_set_str(o, name, text);
		free(text);
		return TB_OK;
	}
	if (kv->type != GGUF_ARRAY) {
		set_number(o, name, kv->type, kv->bits);
		return TB_OK;
	}
	list = json_array();
	status = array_json(mm, kv, list, job, err);
	json_set(o, name, list);
	return status;
}
