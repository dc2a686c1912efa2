#include "config.h"

#include "ui/chips.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define CHIP_FIRST 0x100000u
#define CHIP_MAX 0xff00u
#define CHIP_LEAD 0xf4		/* the first of the four bytes of each of them */
#define CHIP_NONE "\xf3\xb0\x80\x80"	/* a private character that stands for nothing */

static size_t
rows_of(const char *text, size_t cols)
{
	size_t rows = 1, col = 0;

	for (; *text; text++)
		if (*text == '\n')
			rows++, col = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80 && ++col > cols)
			rows++, col = 1;
	return rows;
}

bool
chips_hide(const struct chips *c, const char *text)
{
	return c->rows > 0 && c->cols > 0 && MB_CUR_MAX > 1 &&
	       rows_of(text, (size_t)c->cols) > (size_t)c->rows;
}

bool
chips_add(struct chips *c, char *text, char out[5])
{
	size_t lines = 1;

	if (c->n == CHIP_MAX || !tb_grow(&c->v, &c->cap, c->n + 1, sizeof(*c->v)))
		return false;
	for (const char *s = text; (s = strchr(s, '\n')) && s[1]; s++)
		lines++;
	out[tb_utf8_put(CHIP_FIRST + (uint32_t)c->n, out)] = 0;
	c->v[c->n++] = (struct chip){ text, strlen(text), lines };
	return true;
}

/* The text that a character stands for; NULL: it is one like others. */
static const struct chip *
chip_at(const struct chips *c, const char *s, size_t *len)
{
	uint32_t cp;

	if (!c || (unsigned char)*s != CHIP_LEAD)
		return NULL;
	*len = tb_utf8_next(s, strnlen(s, 4), &cp);
	return cp >= CHIP_FIRST && cp - CHIP_FIRST < c->n ? &c->v[cp - CHIP_FIRST] : NULL;
}

static void
chip_word(const struct chip *chip, struct tb_buf *out)
{
	char bytes[16];

	if (chip->lines > 1)
		tb_buf_printf(out, "[%zu lines]", chip->lines);
	else
		tb_buf_printf(out, "[%s in a line]", tb_human_bytes(chip->len, bytes));
}

static void
chips_each(const struct chips *c, const char *line, struct tb_buf *out, size_t *point, bool whole)
{
	size_t at = point ? *point : SIZE_MAX, n = 0;
	const struct chip *chip;

	for (const char *s = line; ; s += n) {
		size_t run = strcspn(s, "\xf4");

		if (at >= (size_t)(s - line) && at <= (size_t)(s - line) + run)
			*point = out->len + at - (size_t)(s - line);
		tb_buf_add(out, s, run);
		s += run;
		if (!*s)
			return;
		n = 1;
		if (!(chip = chip_at(c, s, &n)))
			tb_buf_add(out, s, n);
		else if (whole)
			tb_buf_add(out, chip->text, chip->len);
		else
			chip_word(chip, out);
	}
}

void
chips_show(const struct chips *c, const char *line, struct tb_buf *out, size_t *point)
{
	chips_each(c, line, out, point, false);
}

void
chips_unfold(const struct chips *c, const char *line, struct tb_buf *out)
{
	chips_each(c, line, out, NULL, true);
}

void
chips_guard(char *text)
{
	while ((text = strchr(text, CHIP_LEAD)) && strnlen(text, 4) == 4) {
		memcpy(text, CHIP_NONE, 4);
		text += 4;
	}
}

void
chips_clear(struct chips *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].text);
	free(c->v);
	c->v = NULL;
	c->n = c->cap = 0;
}
