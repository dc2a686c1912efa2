#include "config.h"

#include "ui/paste.h"

#include "src/base/text.h"
#include "ui/term.h"

#define PASTE_MAX (64u << 20)
#define PASTE_WAIT 2.0		/* seconds without a byte */

static const char end_mark[] = TERM_PASTE_END;
#define END_LEN (sizeof(end_mark) - 1)

void
paste_begin(struct paste *p)
{
	*p = (struct paste){ .on = true, .text = TB_BUF(PASTE_MAX + END_LEN), .last = tb_monotonic() };
}

static void
paste_keep(struct paste *p, const char *s, size_t n)
{
	p->cut |= p->text.len + n > PASTE_MAX;
	if (!p->cut)
		tb_buf_add(&p->text, s, n);
}

bool
paste_byte(struct paste *p, unsigned char c)
{
	char byte = (char)c;

	p->last = tb_monotonic();
	if (byte == end_mark[p->matched]) {
		if (++p->matched == END_LEN)
			p->on = false;
		return !p->on;
	}
	paste_keep(p, end_mark, p->matched);
	p->matched = byte == end_mark[0];
	if (!p->matched)
		paste_keep(p, &byte, 1);
	return false;
}

bool
paste_stalled(const struct paste *p)
{
	return p->on && tb_monotonic() - p->last > PASTE_WAIT;
}

void
paste_end(struct paste *p)
{
	tb_buf_free(&p->text);
	*p = (struct paste){ 0 };
}
