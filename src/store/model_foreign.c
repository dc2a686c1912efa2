/* model_foreign.c - weights that AWQ, GPTQ, compressed-tensors and the makers of FP8
 * checkpoints pack: recognised by the names and shapes of their parts, which say more
 * than config.json does; that decides where they leave a choice. */
#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/quant/foreign.h"
#include "src/quant/scheme_row.h"
#include "src/store/model_build.h"

static void
say_group(struct foreign_said *s, const cJSON *v)
{
	uint64_t n;
	double minus;

	if (s->ngroups == FOREIGN_MAX)
		return;
	if (json_u64(v, &n) && n && n < SCHEME_PER_ROW)
		s->group[s->ngroups++] = (unsigned)n;
	else if (json_f64(v, &minus) && minus == -1)
		s->group[s->ngroups++] = SCHEME_PER_ROW;
}

static void
say_bits(struct foreign_said *s, const cJSON *v)
{
	uint64_t n;

	if (s->nbits < FOREIGN_MAX && json_u64(v, &n) && n >= 1 && n <= 8)
		s->bits[s->nbits++] = (unsigned)n;
}

/* What config.json says, in the first block that names a method. */
static struct foreign_said
find_said(const struct build *b)
{
	static const char *const places[] = { "quantization_config", "compression_config",
		"text_config.quantization_config", "text_config.compression_config" };
	struct foreign_said s = { 0 };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !s.any; i++) {
		const cJSON *q = json_path(b->config, places[i]);

		if (!json_str(json_get(q, "quant_method")))
			continue;
		s = (struct foreign_said){ .any = true,
					   .format = json_str(json_get(q, "checkpoint_format")) };
		say_bits(&s, json_get(q, "bits"));
		say_bits(&s, json_get(q, "w_bit"));
		say_group(&s, json_get(q, "group_size"));
		say_group(&s, json_get(q, "q_group_size"));
		say_group(&s, json_first(json_get(q, "weight_block_size")));
		for (const cJSON *g = json_first(json_get(q, "config_groups")); g; g = json_next(g)) {
			say_bits(&s, json_path(g, "weights.num_bits"));
			say_group(&s, json_path(g, "weights.group_size"));
			say_group(&s, json_first(json_path(g, "weights.block_structure")));
		}
	}
	return s;
}

static struct foreign_part
foreign_part_of(const struct tensor_part *p)
{
	struct foreign_part s = { p->ndim, 1, 1, 1, p->len, p->dtype };
	unsigned n = p->ndim;

	if (n > 0)
		s.cols = p->dim[n - 1];
	if (n > 1)
		s.rows = p->dim[n - 2];
	for (unsigned i = 0; i + 2 < n; i++)
		s.many *= p->dim[i];
	return s;
}

/* MX scales are powers of two: U8 or E8M0 a group of 32, and no business of ours. */
static bool
mx_scales(const struct raw *w, const struct raw *scale)
{
	return scale->part.dtype == DT_U8 ||
	       (scale->part.dtype == DT_F8_E8M0 && w->part.ndim && scale->part.ndim &&
		scale->part.dim[scale->part.ndim - 1] * 32 == w->part.dim[w->part.ndim - 1]);
}

/* Takes the parts that have these names; false: there are none. */
static bool
foreign_gather(struct build *b, struct tensor *t, struct raw *w, const struct foreign_names *f,
	       struct tb_buf *key)
{
	size_t n = strlen(w->name) - strlen(f->weight);
	struct tensor_part ignored;
	struct raw *scale;

	if (!w->part.ndim)
		return false;
	scale = build_companion(b, key, w->name, n, f->scale);
	if (!scale || scale->used || mx_scales(w, scale))
		return false;
	build_take(w, &t->weight);
	t->has_scale = build_take(scale, &t->scale);
	t->has_bias = build_take(build_companion(b, key, w->name, n, f->zeros), &t->bias);
	t->has_order = build_take(build_companion(b, key, w->name, n, f->order), &t->order);
	build_take(build_companion(b, key, w->name, n, f->shape), &ignored);
	t->name = *f->weight ? tb_arena_cat(b->arena, w->name, n, ".weight") : w->name;
	return true;
}

/* Kinds that call their parts alike are all asked what these can be. */
static bool
same_names(const struct foreign_names *a, const struct foreign_names *b)
{
	return b->weight && a->dtype == b->dtype && !strcmp(a->weight, b->weight) &&
	       !strcmp(a->scale, b->scale);
}

#define MAX_ANSWERS 32

static unsigned
answers(const struct foreign_said *said, const struct tensor *t, const struct foreign_names *names,
	struct foreign_answer out[MAX_ANSWERS])
{
	const struct foreign_parts p = {
		foreign_part_of(&t->weight), foreign_part_of(&t->scale), foreign_part_of(&t->bias),
		foreign_part_of(&t->order), t->has_bias, t->has_order
	};
	unsigned n = 0;

	for (enum scheme_kind k = 0; k < SCHEME_KINDS && n + FOREIGN_MAX <= MAX_ANSWERS; k++) {
		const struct foreign_layout *l = scheme_row(k)->foreign;

		if (l && (same_names(names, &l->names[0]) || same_names(names, &l->names[1])))
			n += l->fit(k, said, &p, out + n);
	}
	return n;
}

/* Of several answers the one that config.json lets expect, by its numbers and by the
 * length of a row, or none. */
static const struct foreign_answer *
foreign_choose(const struct build *b, const struct foreign_said *said, const struct foreign_answer *found, unsigned n)
{
	const struct foreign_answer *best = n == 1 ? found : NULL;
	int most = 0;

	for (unsigned i = 0; n > 1 && i < n; i++) {
		int points = foreign_among(found[i].s.bits, said->bits, said->nbits) +
			     foreign_among(found[i].s.group, said->group, said->ngroups) +
			     config_width(b, found[i].cols);

		if (points == most)
			best = NULL;
		if (points > most)
			best = &found[i];
		most = points > most ? points : most;
	}
	return best;
}

static void
foreign_settle(struct tensor *t, const struct foreign_said *said, const struct foreign_answer *f)
{
	bool bits = !said->nbits || foreign_among(f->s.bits, said->bits, said->nbits);
	bool group = !said->ngroups || foreign_among(f->s.group, said->group, said->ngroups);

	t->scheme = f->s;
	t->origin = said->any && bits && group ? ORIGIN_CONFIG : ORIGIN_SHAPES;
	if (t->ndim > 1)
		t->dim[t->ndim - 2] = f->rows;
	t->dim[t->ndim - 1] = f->cols;
}

/* Is it called as such codes are? */
static bool
codes_of(const struct raw *r, const struct foreign_names *f)
{
	return f->weight && r->part.dtype == f->dtype && tb_ends(r->name, f->weight);
}

/* What holds codes is no wide float: most tensors are. */
static bool
no_codes(const struct raw *r)
{
	return dtype_floating(r->part.dtype) && dtype_bits(r->part.dtype) > 8;
}

bool
build_foreign_codes(const struct raw *r)
{
	for (enum scheme_kind k = 0; k < SCHEME_KINDS && !no_codes(r); k++) {
		const struct foreign_layout *l = scheme_row(k)->foreign;

		for (unsigned i = 0; l && i < 2; i++)
			if (codes_of(r, &l->names[i]) && *l->names[i].weight)
				return true;
	}
	return false;
}

/* The names under which the weight has its parts, which are taken; NULL: none. */
static const struct foreign_names *
take_parts(struct build *b, struct tensor *t, struct raw *w, struct tb_buf *key)
{
	for (enum scheme_kind k = 0; k < SCHEME_KINDS && !no_codes(w); k++) {
		const struct foreign_layout *l = scheme_row(k)->foreign;

		for (unsigned i = 0; l && i < 2; i++)
			if (codes_of(w, &l->names[i]) && foreign_gather(b, t, w, &l->names[i], key))
				return &l->names[i];
	}
	return NULL;
}

enum tb_status
build_foreign(struct build *b, struct tensor *t, struct raw *w, struct tb_buf *key, bool *done,
	      struct tb_err *err)
{
	const struct foreign_names *names = scheme_is_plain(&w->blocks) ? take_parts(b, t, w, key) : NULL;
	struct foreign_answer found[MAX_ANSWERS];
	const struct foreign_answer *f;
	struct foreign_said said;

	*done = names != NULL;
	if (!names)
		return TB_OK;
	if (!t->name || tb_buf_failed(key))
		return tb_nomem(err);
	t->ndim = t->weight.ndim;
	memcpy(t->dim, t->weight.dim, sizeof(t->dim));
	t->scheme = scheme_plain(t->weight.dtype);
	said = find_said(b);
	f = foreign_choose(b, &said, found, answers(&said, t, names, found));
	if (f) {
		foreign_settle(t, &said, f);
		return TB_OK;
	}
	t->origin = ORIGIN_UNKNOWN;
	return build_problem(b, b->m->files[w->part.file].digest, err, "tensor %.200s: has scales,"
			     " but its layout is none that is known", t->name);
}
