#include "config.h"

#include "ui/sizes.h"

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/face/figures.h"
#include "src/face/words.h"
#include "ui/draw.h"

#define TEXT_MAX 65536u
#define BAR 10

/* ---- parameters ---- */

static void
sum_line(struct tb_buf *b, const char *name, const struct param_sum *s,
	 const struct param_sum *all, bool active)
{
	char params[16], bytes[16], number[16], share[WORD_MAX];

	tb_text_clip(b, name, 15, true);
	tb_buf_printf(b, "%8ju%9s%10s%8s", (uintmax_t)s->tensors,
		      tb_human_count(s->params, params), tb_human_bytes(s->bytes, bytes),
		      word_percent(s->bytes, all->bytes, share));
	if (active)
		tb_buf_printf(b, "%8s", tb_human_count(s->active, number));
	tb_buf_str(b, "  ");
	if (s != all)
		draw_bar(b, s->bytes, all->bytes, BAR);
	tb_buf_chr(b, '\n');
}

static void
head_line(struct tb_buf *b, const char *what, bool active)
{
	tb_buf_printf(b, "%-15s%8s%9s%10s%8s%s\n", what, "TENSORS", "PARAMS", "SIZE", "SHARE",
		      active ? "  ACTIVE" : "");
}

char *
sizes_params(const struct params *p)
{
	struct tb_buf b = TB_BUF(TEXT_MAX);
	bool active = p->total.active != p->total.params;
	char *text;

	if (!p->total.tensors)
		return NULL;
	figures_params(p, &b);
	tb_buf_str(&b, "\n\n");
	head_line(&b, "GROUP", active);
	for (int g = 0; g < TNAME_ROLES; g++)
		if (p->group[g].tensors)
			sum_line(&b, tname_role_words((enum tname_role)g), &p->group[g], &p->total,
				 active);
	sum_line(&b, "Total", &p->total, &p->total, active);
	tb_buf_chr(&b, '\n');
	head_line(&b, "SCHEME", false);
	for (size_t i = 0; i < p->nschemes; i++) {
		char name[SCHEME_NAME_MAX];

		sum_line(&b, scheme_name(&p->scheme[i].scheme, name), &p->scheme[i].sum, &p->total,
			 false);
	}
	text = tb_buf_take(&b);
	tb_buf_free(&b);
	return text;
}

/* ---- memory ---- */

static void
machine_line(struct tb_buf *b, const struct memory *m, bool steady)
{
	char all[16], left[16];

	if (!m->machine)
		return;
	tb_buf_printf(b, "This machine %10s   %s of it free\n",
		      steady ? "-" : tb_human_bytes(m->machine, all),
		      steady ? "-" : tb_human_bytes(m->available, left));
}

static void
context_line(struct tb_buf *b, const struct memory *m, const struct memory_row *r, bool steady)
{
	char f32[16], f16[16], int8[16], all[16];
	bool ok = r->total <= m->machine;

	tb_buf_printf(b, "%8ju%10s%10s%10s%12s", (uintmax_t)r->context,
		      tb_human_bytes(r->kv[KV_F32], f32), tb_human_bytes(r->kv[KV_F16], f16),
		      tb_human_bytes(r->kv[KV_INT8], int8), tb_human_bytes(r->total, all));
	if (m->machine && !steady)
		tb_buf_printf(b, "  %s %s", theme_sign(ok ? SIGN_OK : SIGN_BAD),
			      figures_fit(m, r->total));
	tb_buf_chr(b, '\n');
}

char *
sizes_memory(const struct memory *m, bool steady)
{
	struct tb_buf b = TB_BUF(TEXT_MAX);
	char number[16], token[16], *text;

	if (!m->weights)
		return NULL;
	tb_buf_printf(&b, "Weights      %10s   mapped; a token reads %s\n",
		      tb_human_bytes(m->weights, number), tb_human_bytes(m->token, token));
	if (m->work)
		tb_buf_printf(&b, "Room to work %10s   while a long prompt is read\n",
			      tb_human_bytes(m->work, number));
	machine_line(&b, m, steady);
	if (!m->n) {
		tb_buf_printf(&b, "\n%s\n", m->why);
	} else {
		tb_buf_printf(&b, "\n%8s%10s%10s%10s%12s\n", "CONTEXT", "KV F32", "KV F16",
			      "KV INT8", "ALL, F16");
		for (size_t i = 0; i < m->n; i++)
			context_line(&b, m, &m->row[i], steady);
		tb_buf_str(&b, "\nKeys and values are kept as F16 unless --kv says f32 or"
			   " int8.\n");
	}
	if (!m->runs)
		tb_buf_str(&b, FIGURES_NO_RUN "\n");
	text = tb_buf_take(&b);
	tb_buf_free(&b);
	return text;
}
