#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/quant/scheme_row.h"
#include "src/store/model_build.h"

static uint64_t
last_dim(const struct tensor_part *p)
{
	return p->ndim ? p->dim[p->ndim - 1] : 0;
}

/* Elements a row of packed words stands for; 0 = no whole number. */
static uint64_t
row_elems(const struct tensor_part *weight, unsigned bits)
{
	uint64_t n = last_dim(weight);

	return bits && n <= UINT64_MAX / 32 && n * 32 % bits == 0 ? n * 32 / bits : 0;
}

static bool
same_rows(const struct tensor_part *a, const struct tensor_part *b)
{
	if (a->ndim != b->ndim || a->ndim == 0)
		return false;
	return memcmp(a->dim, b->dim, (a->ndim - 1) * sizeof(*a->dim)) == 0;
}

static bool
build_scheme_fits(const struct scheme *s, const struct tensor *t)
{
	uint64_t k = row_elems(&t->weight, s->bits);
	enum dtype d = t->scale.dtype, want = scheme_scale_dtype(s, DT_COUNT);

	if (scheme_form(s) != FORM_GROUPS || !k || k / s->group != last_dim(&t->scale) ||
	    k % s->group || !same_rows(&t->weight, &t->scale) ||
	    scheme_has_bias(s) != t->has_bias)
		return false;
	if (want == DT_COUNT ? d != DT_BF16 && d != DT_F16 && d != DT_F32 : d != want)
		return false;
	return !t->has_bias || (t->bias.dtype == d && same_rows(&t->scale, &t->bias) &&
				last_dim(&t->bias) == last_dim(&t->scale));
}

/* The group that scales of that many columns mean. */
static unsigned
group_of(const struct tensor *t, unsigned bits)
{
	uint64_t k = row_elems(&t->weight, bits), n = last_dim(&t->scale);

	return n && k % n == 0 && k / n <= 1024 ? (unsigned)(k / n) : 0;
}

/* quant_type and group_size as found.  A type without a group has had several
 * defaults over the years: the shapes know which. */
static bool
meta_scheme(const struct raw *w, const struct tensor *t, struct scheme *out)
{
	if (!scheme_from_quant_type(w->quant_type, w->group, out))
		return false;
	if (w->group == 0 && !build_scheme_fits(out, t))
		return scheme_from_quant_type(w->quant_type, group_of(t, out->bits), out) &&
		       build_scheme_fits(out, t);
	return build_scheme_fits(out, t);
}

#define MAX_CANDIDATES 16

static size_t
candidates(const struct tensor *t, struct scheme out[MAX_CANDIDATES])
{
	size_t n = 0;

	for (enum scheme_kind k = 0; k < SCHEME_KINDS; k++) {
		const struct scheme_row *r = scheme_row(k);

		for (const uint8_t *bits = r->bits; *bits && n < MAX_CANDIDATES; bits++) {
			unsigned group = group_of(t, *bits);

			n += group && scheme_from_mode(r->mode, *bits, group, &out[n]) &&
			     build_scheme_fits(&out[n], t);
		}
	}
	return n;
}

/* Words a group is all that shapes say about an affine scheme: 4 words are int4 of
 * group 32, 16 are int8 of group 64, as Ollama reads them; 8 are int4 of 64 or int8
 * of 32 and need a hint. */
static bool
usual(const struct build *b, const struct scheme *s, size_t n, struct scheme *out)
{
	unsigned words = s->bits * s->group / 32, want = 0;

	if (words == 4)
		want = 4;
	else if (words == 16)
		want = 8;
	else if (words == 8)
		want = strchr(b->hint, '8') ? 8 : strchr(b->hint, '4') ? 4 : 0;
	for (size_t i = 0; i < n; i++) {
		if (s[i].bits == want) {
			*out = s[i];
			return true;
		}
	}
	return false;
}

static bool
shape_scheme(const struct build *b, const struct tensor *t, struct scheme *out)
{
	struct scheme s[MAX_CANDIDATES];
	size_t n = candidates(t, s), expected = 0;

	for (size_t i = 0; i < n; i++) {
		if (n > 1 && !config_width(b, row_elems(&t->weight, s[i].bits)))
			continue;
		*out = s[i];
		expected++;
	}
	return expected == 1 || (n > 0 && usual(b, s, n, out));
}

static void
build_scheme_settle(struct tensor *t, enum origin origin, const struct scheme *s)
{
	t->origin = origin;
	t->scheme = *s;
	t->dim[t->ndim - 1] = row_elems(&t->weight, s->bits);
}

/* The problem that was just told is no damage. */
static enum tb_status
opaque(struct build *b, enum tb_status status)
{
	if (!status)
		b->m->problems[b->m->nproblems - 1].opaque = true;
	return status;
}

enum tb_status
build_scheme(struct build *b, struct tensor *t, const struct raw *w, struct tb_err *err)
{
	size_t n = strlen(t->name) - (tb_ends(t->name, ".weight") ? strlen(".weight") : 0);
	const char *digest = b->m->files[w->part.file].digest;
	enum tb_status status = TB_OK;
	char name[SCHEME_NAME_MAX];
	struct scheme s;

	if (w->quant_type) {
		if (meta_scheme(w, t, &s))
			return build_scheme_settle(t, w->origin, &s), TB_OK;
		/* what nobody knows may mean anything, whatever the shapes would allow */
		if (!scheme_from_quant_type(w->quant_type, 0, &s)) {
			t->origin = ORIGIN_UNKNOWN;
			status = build_problem(b, digest, err, "tensor %.200s: quant_type %.40s is not"
					       " known", t->name, w->quant_type);
			return opaque(b, status);
		}
		status = build_problem(b, digest, err, "tensor %.200s: shapes do not fit its"
				       " metadata (quant_type %.40s, group_size %u)", t->name,
				       w->quant_type, w->group);
	}
	if (!status && config_scheme(b, t->name, n, &s)) {
		if (build_scheme_fits(&s, t))
			return build_scheme_settle(t, ORIGIN_CONFIG, &s), TB_OK;
		status = build_problem(b, digest, err, "tensor %.200s: shapes do not fit config.json"
				       " (%s)", t->name, scheme_name(&s, name));
	}
	if (status)
		return status;
	if (shape_scheme(b, t, &s))
		return build_scheme_settle(t, ORIGIN_SHAPES, &s), TB_OK;
	t->origin = ORIGIN_UNKNOWN;
	status = build_problem(b, digest, err, "tensor %.200s: has scales, but no scheme fits its"
			       " shapes", t->name);
	return opaque(b, status);
}
