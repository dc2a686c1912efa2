#include "config.h"

#include "src/face/clipboard.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/base64.h"

/* tmux keeps for itself what it is sent, or hands it on when asked to. */
static void
wrap_for_tmux(struct tb_buf *out, const char *seq)
{
	tb_buf_str(out, "\033Ptmux;");
	for (; *seq; seq++) {
		if (*seq == '\033')
			tb_buf_chr(out, '\033');
		tb_buf_chr(out, *seq);
	}
	tb_buf_str(out, "\033\\");
}

/* Consoles have no clipboard. */
bool
clipboard_takes(size_t len)
{
	const char *term = getenv("TERM");

	return len <= CLIPBOARD_MAX && term && strcmp(term, "linux");
}

void
clipboard_put(const char *text, size_t len, struct tb_buf *out)
{
	struct tb_buf seq = TB_BUF(1u << 20);
	const char *tmux = getenv("TMUX");

	tb_buf_str(&seq, "\033]52;c;");
	tb_base64(&seq, text, len);
	tb_buf_chr(&seq, '\a');
	tb_buf_add(out, tb_buf_cstr(&seq), seq.len);
	if (tmux && *tmux)
		wrap_for_tmux(out, tb_buf_cstr(&seq));
	tb_buf_free(&seq);
}
