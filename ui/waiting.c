#include "config.h"

#include "ui/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define ROWS_MAX 3

bool
waiting_add(struct waiting *w, const char *text)
{
	if (!tb_grow(&w->v, &w->cap, w->n + 1, sizeof(*w->v)) || !(w->v[w->n] = tb_strdup(text)))
		return false;
	w->n++;
	return true;
}

char *
waiting_first(struct waiting *w)
{
	char *text = w->n ? w->v[0] : NULL;

	if (text)
		memmove(w->v, w->v + 1, --w->n * sizeof(*w->v));
	w->held &= w->n > 0;
	return text;
}

char *
waiting_last(struct waiting *w)
{
	char *text = w->n ? w->v[--w->n] : NULL;

	w->held &= w->n > 0;
	return text;
}

void
waiting_clear(struct waiting *w)
{
	while (w->n)
		free(w->v[--w->n]);
	free(w->v);
	*w = (struct waiting){ 0 };
}

int
waiting_rows(const struct waiting *w)
{
	return w->n < ROWS_MAX ? (int)w->n : ROWS_MAX;
}

/* The first ones, and how many more; a line of several as its words. */
void
waiting_draw(struct area a, const struct waiting *w, const struct chips *chips)
{
	for (int i = 0; i < a.h; i++) {
		struct tb_buf line = TB_BUF(1u << 20);

		if (i == a.h - 1 && w->n > (size_t)a.h)
			tb_buf_printf(&line, "%s %zu more", theme_sign(SIGN_DOT),
				      w->n - (size_t)i);
		else {
			tb_buf_printf(&line, "%s ", theme_sign(SIGN_DOT));
			chips_show(chips, w->v[i], &line, NULL);
		}
		put_clip(a.y + i, a.x, a.w, tb_buf_cstr(&line), ROLE_DIM);
		tb_buf_free(&line);
	}
}
