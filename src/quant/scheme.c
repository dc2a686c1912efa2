#include "config.h"

#include "src/quant/scheme.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/text.h"
#include "src/format/ggml_type.h"
#include "src/quant/ggml.h"

/* One row a kind.  group and bits are those of the mode when nothing else is said;
 * affine is the only one that has others. */
static const struct kind {
	const char *mode;	/* as in config.json, and the command line */
	unsigned bits, group;
	bool bias;
	bool plain_scale;	/* scales have the source's dtype; else U8 */
} kinds[] = {
	[SCHEME_AFFINE] = { "affine", 4, 64, true, true },
	[SCHEME_MXFP4] = { "mxfp4", 4, 32, false, false },
	[SCHEME_MXFP8] = { "mxfp8", 8, 32, false, false },
	[SCHEME_NVFP4] = { "nvfp4", 4, 16, false, false },
	[SCHEME_GGML] = { "ggml", 0, 0, false, false },
	[SCHEME_AWQ] = { "awq", 4, 0, false, false },
	[SCHEME_GPTQ] = { "gptq", 4, 0, false, false },
	[SCHEME_GPTQ_V2] = { "gptq_v2", 4, 0, false, false },
	[SCHEME_CT_INT] = { "ct-int", 4, 0, false, false },
	[SCHEME_INT8] = { "ct-int8", 8, 0, false, false },
	[SCHEME_FP8] = { "fp8", 8, 0, false, false },
};
#define NMODES SCHEME_GGML	/* those that config.json can name */

/* What people type besides the modes' names. */
static const struct { const char *name; enum scheme_kind kind; unsigned bits; enum dtype dtype; }
aliases[] = {
	{ "f32", SCHEME_PLAIN, 32, DT_F32 },
	{ "f16", SCHEME_PLAIN, 16, DT_F16 },
	{ "bf16", SCHEME_PLAIN, 16, DT_BF16 },
	{ "int4", SCHEME_AFFINE, 4, 0 }, { "q4", SCHEME_AFFINE, 4, 0 }, { "fp4", SCHEME_AFFINE, 4, 0 },
	{ "int8", SCHEME_AFFINE, 8, 0 }, { "q8", SCHEME_AFFINE, 8, 0 }, { "fp8", SCHEME_AFFINE, 8, 0 },
	{ "mxfp4", SCHEME_MXFP4, 4, 0 },
	{ "mxfp8", SCHEME_MXFP8, 8, 0 },
	{ "nvfp4", SCHEME_NVFP4, 4, 0 },
};

static bool
affine_valid(uint64_t bits, uint64_t group)
{
	return bits >= 2 && bits <= 8 && bits != 7 && (group == 32 || group == 64 || group == 128);
}

static struct scheme
quantized(enum scheme_kind kind, unsigned bits, unsigned group)
{
	return (struct scheme){ .kind = kind, .bits = bits, .group = group };
}

struct scheme
scheme_plain(enum dtype d)
{
	return (struct scheme){ .kind = SCHEME_PLAIN, .bits = dtype_bits(d), .dtype = d };
}

struct scheme
scheme_affine(unsigned bits, unsigned group)
{
	return quantized(SCHEME_AFFINE, bits, group);
}

struct scheme
scheme_ggml(unsigned type)
{
	const struct ggml_info *info = ggml_info(type);

	if (info->dtype != DT_COUNT)
		return scheme_plain(info->dtype);
	return (struct scheme){ .kind = SCHEME_GGML, .group = info->block, .ggml = type };
}

bool
scheme_equal(const struct scheme *a, const struct scheme *b)
{
	return a->kind == b->kind && a->bits == b->bits && a->group == b->group &&
	       (a->kind != SCHEME_PLAIN || a->dtype == b->dtype) &&
	       (a->kind != SCHEME_GGML || a->ggml == b->ggml);
}

enum scheme_form
scheme_form(const struct scheme *s)
{
	return s->kind == SCHEME_PLAIN ? FORM_PLAIN : s->kind < SCHEME_GGML ? FORM_GROUPS
	     : s->kind == SCHEME_GGML ? FORM_BLOCKS : FORM_MATRIX;
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

/* Of the last two dimensions, where a word of 32 bits holds several codes. */
static uint64_t
foreign_place(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t index)
{
	uint64_t each = (cols * s->bits + 31) / 32;	/* words of a row that are codes */
	uint64_t row, col;

	if (!rows || !cols)
		return 0;
	row = index / cols;
	col = index % cols;
	switch (s->kind) {
	case SCHEME_AWQ:	/* all inputs of 8 outputs side by side */
		return ((row / rows * cols + col) * (rows / 8) + row % rows / 8) * 4;
	case SCHEME_GPTQ:
	case SCHEME_GPTQ_V2:
		return ((row / rows * each + col * s->bits / 32) * rows + row % rows) * 4;
	case SCHEME_CT_INT:
		return (row * each + col * s->bits / 32) * 4;
	default:
		return index / 8 * s->bits + index % 8 * s->bits / 8;
	}
}

uint64_t
scheme_place(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t index)
{
	if (scheme_form(s) == FORM_BLOCKS)
		return scheme_code_bytes(s, index / s->group * s->group);
	if (scheme_foreign(s))
		return foreign_place(s, rows, cols, index);
	return index / 8 * s->bits + index % 8 * s->bits / 8;	/* at once it could overflow */
}

/* "affine:BITS:GROUP" */
static bool
parse_affine(const char *text, struct scheme *out)
{
	const char *colon;
	uint64_t bits, group;
	char digits[8];

	if (strncasecmp(text, "affine:", 7))
		return false;
	text += 7;
	colon = strchr(text, ':');
	if (!colon || (size_t)(colon - text) >= sizeof(digits))
		return false;
	memcpy(digits, text, (size_t)(colon - text));
	digits[colon - text] = '\0';
	if (!tb_parse_u64(digits, &bits) || !tb_parse_u64(colon + 1, &group) ||
	    !affine_valid(bits, group))
		return false;
	*out = scheme_affine((unsigned)bits, (unsigned)group);
	return true;
}

static bool
is_ggml_name(const char *text)
{
	for (uint32_t type = 0; type <= GGML_Q2_0; type++)
		if (ggml_info(type) && !strcasecmp(text, ggml_info(type)->name))
			return true;
	return false;
}

enum tb_status
scheme_parse(const char *text, struct scheme *out, struct tb_err *err)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcasecmp(text, aliases[i].name))
			continue;
		*out = aliases[i].kind == SCHEME_PLAIN
			? scheme_plain(aliases[i].dtype)
			: quantized(aliases[i].kind, aliases[i].bits, kinds[aliases[i].kind].group);
		return TB_OK;
	}
	if (parse_affine(text, out))
		return TB_OK;
	if (is_ggml_name(text))
		return tb_fail(err, TB_EUNSUP, "\"%s\" is a type of GGUF files, which are read but"
			       " not written", text);
	return tb_fail(err, TB_EUSAGE, "\"%s\" is no scheme: f32 f16 bf16 int4 int8 mxfp4 mxfp8 "
		       "nvfp4 affine:BITS:GROUP (bits 2 3 4 5 6 8, group 32 64 128)", text);
}

static const char *
foreign_name(const struct scheme *s, char out[SCHEME_NAME_MAX])
{
	const char *mode = kinds[s->kind].mode;
	char group[12];

	snprintf(group, sizeof(group), "%u", s->group);
	if (s->group >= SCHEME_PER_ROW)
		snprintf(group, sizeof(group), s->group == SCHEME_PER_ROW ? "row" : "tensor");
	if (s->kind == SCHEME_FP8 && s->group < SCHEME_PER_ROW)
		snprintf(out, SCHEME_NAME_MAX, "%s:%ux%u", mode, s->group, s->group);
	else if (s->kind == SCHEME_FP8 || s->kind == SCHEME_INT8)
		snprintf(out, SCHEME_NAME_MAX, "%s:%s", mode, group);
	else if (s->kind == SCHEME_CT_INT)
		snprintf(out, SCHEME_NAME_MAX, "%s%u:%s", mode, s->bits, group);
	else
		snprintf(out, SCHEME_NAME_MAX, "%s:%u:%s", mode, s->bits, group);
	return out;
}

const char *
scheme_name(const struct scheme *s, char out[SCHEME_NAME_MAX])
{
	if (scheme_foreign(s))
		return foreign_name(s, out);
	if (s->kind == SCHEME_PLAIN)
		snprintf(out, SCHEME_NAME_MAX, "%s", dtype_name(s->dtype));
	else if (s->kind == SCHEME_GGML)
		snprintf(out, SCHEME_NAME_MAX, "%s", ggml_info(s->ggml)->name);
	else if (s->kind != SCHEME_AFFINE)
		snprintf(out, SCHEME_NAME_MAX, "%s", kinds[s->kind].mode);
	else if (s->group == 64 && (s->bits == 4 || s->bits == 8))
		snprintf(out, SCHEME_NAME_MAX, "int%u", s->bits);
	else
		snprintf(out, SCHEME_NAME_MAX, "affine:%u:%u", s->bits, s->group);
	return out;
}

const char *
scheme_quant_type(const struct scheme *s)
{
	static const char *const ints[] = { [2] = "int2", [3] = "int3", [4] = "int4",
					    [5] = "int5", [6] = "int6", [8] = "int8" };

	if (s->kind == SCHEME_PLAIN || s->kind >= SCHEME_GGML)
		return NULL;
	return s->kind == SCHEME_AFFINE ? ints[s->bits] : kinds[s->kind].mode;
}

bool
scheme_from_quant_type(const char *type, unsigned group, struct scheme *out)
{
	if (!strncasecmp(type, "int", 3) && type[3] >= '2' && type[3] <= '8' && !type[4])
		return scheme_from_mode("affine", (unsigned)(type[3] - '0'), group, out);
	return strcasecmp(type, "affine") && scheme_from_mode(type, 0, group, out);
}

bool
scheme_from_mode(const char *mode, unsigned bits, unsigned group, struct scheme *out)
{
	for (unsigned k = SCHEME_AFFINE; k < NMODES; k++) {
		if (strcasecmp(mode ? mode : "affine", kinds[k].mode))
			continue;
		*out = quantized(k, bits ? bits : kinds[k].bits, group ? group : kinds[k].group);
		if (k == SCHEME_AFFINE)
			return affine_valid(out->bits, out->group);
		return out->bits == kinds[k].bits && out->group == kinds[k].group;
	}
	return false;
}

const char *
scheme_mode(const struct scheme *s)
{
	return s->kind == SCHEME_PLAIN ? dtype_name(s->dtype) : kinds[s->kind].mode;
}

bool
scheme_has_bias(const struct scheme *s)
{
	return kinds[s->kind].bias;
}

enum dtype
scheme_scale_dtype(const struct scheme *s, enum dtype source)
{
	return kinds[s->kind].plain_scale ? source : DT_U8;
}

bool
scheme_fits(const struct scheme *s, uint64_t k)
{
	return s->kind == SCHEME_PLAIN || (!scheme_foreign(s) && k > 0 && k % s->group == 0);
}

/* n elements of plain data may end inside a byte; groups never do. */
uint64_t
scheme_code_bytes(const struct scheme *s, uint64_t n)
{
	if (s->kind == SCHEME_GGML)
		return n / s->group * ggml_info(s->ggml)->bytes;
	return n / 8 * s->bits + (n % 8 * s->bits + 7) / 8;
}

uint64_t
scheme_scales(const struct scheme *s, uint64_t n)
{
	return s->kind == SCHEME_PLAIN || s->kind >= SCHEME_GGML ? 0 : n / s->group;
}
