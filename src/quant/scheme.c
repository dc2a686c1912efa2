#include "config.h"

#include "src/quant/scheme_row.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/format/ggml_type.h"
#include "src/quant/foreign.h"
#include "src/quant/ggml.h"
#include "src/quant/ggml_encode.h"

static void
plain_decode(const struct scheme *s, const struct quant_src *q, size_t n, float *out)
{
	dtype_to_f32(s->dtype, q->codes, n, out);
}

static const struct scheme_row scheme_row_plain = { .form = FORM_PLAIN, .decode = plain_decode };

#define X(id, row, names, pattern, example) [SCHEME_##id] = &scheme_row_##row,
static const struct scheme_row *const rows[SCHEME_KINDS] = {
	[SCHEME_PLAIN] = &scheme_row_plain, SCHEME_LIST(X)
};
#undef X

const struct scheme_row *
scheme_row(enum scheme_kind k)
{
	return rows[k];
}

struct scheme
scheme_plain(enum dtype d)
{
	return (struct scheme){ .kind = SCHEME_PLAIN, .bits = dtype_bits(d), .dtype = d };
}

struct scheme
scheme_affine(unsigned bits, unsigned group)
{
	return (struct scheme){ .kind = SCHEME_AFFINE, .bits = bits, .group = group };
}

struct scheme
scheme_ggml(unsigned type)
{
	const struct ggml_info *info = ggml_info(type);

	if (info->dtype != DT_COUNT)
		return scheme_plain(info->dtype);
	return (struct scheme){ .kind = SCHEME_GGML, .group = info->block, .ggml = type };
}

struct scheme
scheme_in_gguf(const struct scheme *s)
{
	for (uint32_t type = 0; type <= GGML_Q2_0; type++)
		if (scheme_form(s) == FORM_GROUPS && ggml_info(type) &&
		    !strcasecmp(rows[s->kind]->mode, ggml_info(type)->name))
			return scheme_ggml(type);
	return *s;
}

bool
scheme_ggml_type(const struct scheme *s, unsigned *type)
{
	if (scheme_form(s) == FORM_BLOCKS) {
		*type = s->ggml;
		return true;
	}
	for (*type = 0; scheme_is_plain(s) && *type <= GGML_Q2_0; ++*type)
		if (ggml_info(*type) && ggml_info(*type)->dtype == s->dtype)
			return true;
	return false;
}

bool
scheme_equal(const struct scheme *a, const struct scheme *b)
{
	return a->kind == b->kind && a->bits == b->bits && a->group == b->group &&
	       (!scheme_is_plain(a) || a->dtype == b->dtype) &&
	       (scheme_form(a) != FORM_BLOCKS || a->ggml == b->ggml);
}

enum scheme_form
scheme_form(const struct scheme *s)
{
	return rows[s->kind]->form;
}

bool
scheme_is_plain(const struct scheme *s)
{
	return scheme_form(s) == FORM_PLAIN;
}

bool
scheme_foreign(const struct scheme *s)
{
	return scheme_form(s) == FORM_MATRIX;
}

bool
scheme_readable(const struct scheme *s)
{
	return scheme_form(s) != FORM_BLOCKS || ggml_decodable(s->ggml);
}

uint64_t
scheme_place(const struct scheme *s, uint64_t height, uint64_t cols, uint64_t index)
{
	if (scheme_form(s) == FORM_BLOCKS)
		return scheme_code_bytes(s, index / s->group * s->group);
	if (scheme_foreign(s) && (!height || !cols))
		return 0;
	if (scheme_foreign(s) && rows[s->kind]->foreign->place)
		return rows[s->kind]->foreign->place(s, height, cols, index / cols, index % cols);
	return index / 8 * s->bits + index % 8 * s->bits / 8;	/* at once it could overflow */
}

/* 0: what is meant where nothing is said. */
static bool
scheme_make(enum scheme_kind k, uint64_t bits, uint64_t group, struct scheme *out)
{
	const struct scheme_row *r = rows[k];
	const uint8_t *b = r->bits;
	const uint16_t *g = r->groups;

	bits = bits ? bits : r->usual_bits ? r->usual_bits : *b;
	group = group ? group : r->usual_group ? r->usual_group : *g;
	while (*b && *b != bits)
		b++;
	while (*g && *g != group)
		g++;
	*out = (struct scheme){ .kind = k, .bits = *b, .group = *g };
	return *b && *g;
}

/* Is there a choice of widths and groups? */
static bool
patterned(const struct scheme_row *r)
{
	return r->bits[0] && (r->bits[1] || r->groups[1]);
}

/* "MODE:BITS:GROUP" */
static bool
parse_pattern(enum scheme_kind k, const char *text, struct scheme *out)
{
	size_t n = strlen(rows[k]->mode);
	const char *colon;
	uint64_t bits, group;
	char digits[8];

	if (!patterned(rows[k]) || strncasecmp(text, rows[k]->mode, n) || text[n] != ':')
		return false;
	text += n + 1;
	colon = strchr(text, ':');
	if (!colon || (size_t)(colon - text) >= sizeof(digits))
		return false;
	memcpy(digits, text, (size_t)(colon - text));
	digits[colon - text] = '\0';
	return tb_parse_u64(digits, &bits) && tb_parse_u64(colon + 1, &group) && bits && group &&
	       scheme_make(k, bits, group, out);
}

static bool
parse_kind(enum scheme_kind k, const char *text, struct scheme *out)
{
	const struct scheme_row *r = rows[k];

	for (unsigned i = 0; i < 8 && r->words[i].name; i++)
		if (!strcasecmp(text, r->words[i].name))
			return scheme_make(k, r->words[i].bits, 0, out);
	return patterned(r) ? parse_pattern(k, text, out)
			    : !strcasecmp(text, r->mode) && scheme_make(k, 0, 0, out);
}

/* What would be accepted: names, then patterns with what their numbers may be. */
static enum tb_status
no_scheme(const char *text, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(1024);
	enum tb_status status;
	const char *blank = "";

#define X(id, row, names, pattern, example) names
	tb_buf_str(&b, SCHEME_DTYPES SCHEME_LIST(X));
#undef X
	for (enum scheme_kind k = 0; k < SCHEME_KINDS; k++) {
		const struct scheme_row *r = rows[k];

		if (!patterned(r))
			continue;
		tb_buf_printf(&b, "%s%s:BITS:GROUP (bits", blank, r->mode);
		for (const uint8_t *bits = r->bits; *bits; bits++)
			tb_buf_printf(&b, " %u", *bits);
		tb_buf_str(&b, ", group");
		for (const uint16_t *group = r->groups; *group; group++)
			tb_buf_printf(&b, " %u", *group);
		tb_buf_str(&b, ")");
		blank = " ";
	}
	/* the manual lists all: an error has two rows of a screen */
	tb_buf_str(&b, "; GGUF: Q8_0 Q4_K ...");
	status = tb_fail(err, TB_EUSAGE, "\"%s\" is no scheme: %s", text, tb_buf_cstr(&b));
	tb_buf_free(&b);
	return status;
}

enum tb_status
scheme_parse(const char *text, struct scheme *out, struct tb_err *err)
{
	static const enum dtype plain[] = { DT_F32, DT_F16, DT_BF16 };

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!strcasecmp(text, dtype_name(plain[i]))) {
			*out = scheme_plain(plain[i]);
			return TB_OK;
		}
	for (enum scheme_kind k = 0; k < SCHEME_KINDS; k++)
		if (rows[k]->form == FORM_GROUPS && parse_kind(k, text, out))
			return TB_OK;
	for (uint32_t type = 0; type <= GGML_Q2_0; type++) {
		if (!ggml_info(type) || strcasecmp(text, ggml_info(type)->name))
			continue;
		if (!ggml_encodable(type))
			return tb_fail(err, TB_EUNSUP, "\"%s\" is a type of GGUF files that is "
				       "read but not written", text);
		*out = scheme_ggml(type);
		return TB_OK;
	}
	return no_scheme(text, err);
}

static const char *
foreign_name(const struct scheme *s, char out[SCHEME_NAME_MAX])
{
	const struct scheme_row *r = rows[s->kind];
	char group[24], bits[16] = "";

	if (r->foreign->bits)
		snprintf(bits, sizeof(bits), "%s%u", r->foreign->bits, s->bits);
	if (s->group >= SCHEME_PER_ROW)
		snprintf(group, sizeof(group), s->group == SCHEME_PER_ROW ? "row" : "tensor");
	else if (r->foreign->square)
		snprintf(group, sizeof(group), "%ux%u", s->group, s->group);
	else
		snprintf(group, sizeof(group), "%u", s->group);
	snprintf(out, SCHEME_NAME_MAX, "%s%s:%s", r->mode, bits, group);
	return out;
}

const char *
scheme_name(const struct scheme *s, char out[SCHEME_NAME_MAX])
{
	const struct scheme_row *r = rows[s->kind];

	switch (r->form) {
	case FORM_PLAIN:
		snprintf(out, SCHEME_NAME_MAX, "%s", dtype_name(s->dtype));
		return out;
	case FORM_BLOCKS:
		snprintf(out, SCHEME_NAME_MAX, "%s", ggml_info(s->ggml)->name);
		return out;
	case FORM_MATRIX:
		return foreign_name(s, out);
	default:
		break;
	}
	for (unsigned i = 0; i < 8 && r->words[i].name; i++)
		if (s->bits == r->words[i].bits && s->group == r->usual_group) {
			snprintf(out, SCHEME_NAME_MAX, "%s", r->words[i].name);
			return out;
		}
	if (patterned(r))
		snprintf(out, SCHEME_NAME_MAX, "%s:%u:%u", r->mode, s->bits, s->group);
	else
		snprintf(out, SCHEME_NAME_MAX, "%s", r->mode);
	return out;
}

const char *
scheme_quant_type(const struct scheme *s)
{
	const struct scheme_row *r = rows[s->kind];

	if (r->form != FORM_GROUPS)
		return NULL;
	return r->quant_types ? r->quant_types[s->bits] : r->mode;
}

bool
scheme_ollama(const struct scheme *s)
{
	const struct scheme_row *r = rows[s->kind];

	for (unsigned i = 0; r->quant_types && i < 8 && r->words[i].name; i++)
		if (!strcmp(r->words[i].name, r->quant_types[s->bits]))
			return true;
	return r->form == FORM_GROUPS && !r->quant_types;
}

bool
scheme_from_quant_type(const char *type, unsigned group, struct scheme *out)
{
	for (enum scheme_kind k = 0; k < SCHEME_KINDS; k++)
		for (const uint8_t *bits = rows[k]->bits; *bits; bits++) {
			const struct scheme s = { .kind = k, .bits = *bits };

			if (!strcasecmp(type, scheme_quant_type(&s)))
				return scheme_make(k, *bits, group, out);
		}
	return false;
}

bool
scheme_from_mode(const char *mode, unsigned bits, unsigned group, struct scheme *out)
{
	for (enum scheme_kind k = SCHEME_AFFINE; k < SCHEME_KINDS; k++)
		if (rows[k]->form == FORM_GROUPS && !strcasecmp(mode ? mode : "affine", rows[k]->mode))
			return scheme_make(k, bits, group, out);
	return false;
}

const char *
scheme_mode(const struct scheme *s)
{
	return scheme_is_plain(s) ? dtype_name(s->dtype) : rows[s->kind]->mode;
}

bool
scheme_has_bias(const struct scheme *s)
{
	return rows[s->kind]->bias;
}

enum dtype
scheme_scale_dtype(const struct scheme *s, enum dtype source)
{
	const struct scheme_row *r = rows[s->kind];

	return r->form != FORM_GROUPS ? DT_U8 : r->scale == DT_COUNT ? source : r->scale;
}

enum dtype
scheme_scale_float(const struct scheme *s)
{
	return scheme_form(s) == FORM_GROUPS ? rows[s->kind]->scale_float : DT_COUNT;
}

enum dtype
scheme_code_float(const struct scheme *s)
{
	return scheme_form(s) == FORM_GROUPS ? rows[s->kind]->code_float : DT_COUNT;
}

struct scheme
scheme_eight(const struct scheme *s, bool *experts)
{
	const struct scheme_row *r = rows[s->kind];
	struct scheme out = *s;

	*experts = r->eight_experts;
	if (r->form == FORM_GROUPS && !scheme_make(r->eight, 8, s->group, &out))
		(void)scheme_make(r->eight, 8, 0, &out);
	return out;
}

bool
scheme_fits(const struct scheme *s, uint64_t k)
{
	return scheme_is_plain(s) || (!scheme_foreign(s) && k > 0 && k % s->group == 0);
}

/* n elements of plain data may end inside a byte; groups never do. */
uint64_t
scheme_code_bytes(const struct scheme *s, uint64_t n)
{
	if (scheme_form(s) == FORM_BLOCKS)
		return n / s->group * ggml_info(s->ggml)->bytes;
	return n / 8 * s->bits + (n % 8 * s->bits + 7) / 8;
}

uint64_t
scheme_scales(const struct scheme *s, uint64_t n)
{
	return scheme_form(s) == FORM_GROUPS ? n / s->group : 0;
}
