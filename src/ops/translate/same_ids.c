/* same_ids.c - do two tokenizers give the same ids? */
#include "config.h"

#include "src/ops/translate/same_ids.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/text/tokenizer.h"

/* What tokenizers differ in: blanks, newlines, digits, signs, capitals, scripts. */
static const char corners[] =
	"Hello, World!  It's 2024: 1,234,567.89 + x_y = (a && b) || !c;\n\n\n\tif (i < 10)\r\n"
	"        return;   \n  I'LL, you'Re; don\u2019t. caf\u00e9 na\u00efve \u03b1\u03b2\u03b3 "
	"\u041f\u0440\u0438\u0432\u0435\u0442 \u0661\u0662\u0663 \u4f60\u597d\uff0c\u4e16\u754c\u3002 "
	"\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940 "
	"\U0001f600\U0001f469\u200d\U0001f4bb camelCase HTTPServer ?!? ... --- ###   ";

#define PIECES 4000u		/* of the vocabulary, one behind the other */

static void
make_sample(const struct tokenizer *t, struct tb_buf *out)
{
	size_t n = tokenizer_size(t), step = n > PIECES ? n / PIECES : 1;

	tb_buf_str(out, corners);
	for (size_t id = 0; id < n; id += step) {
		const char *piece = tokenizer_piece(t, (uint32_t)id);

		if (!piece)
			continue;
		tokenizer_decode(t, (uint32_t)id, false, out);
		if (id / step % 3 == 0)
			tb_buf_chr(out, ' ');
	}
}

static enum tb_status
same_on(const struct tokenizer *a, const struct tokenizer *b, const struct tb_buf *text,
	 bool special, bool *same, struct tb_err *err)
{
	struct token_ids x = { 0 }, y = { 0 };
	enum tb_status status = tokenizer_encode(a, text->p, text->len, true, special, &x, err);

	if (!status)
		status = tokenizer_encode(b, text->p, text->len, true, special, &y, err);
	*same &= x.n == y.n && (!x.n || !memcmp(x.v, y.v, x.n * sizeof(*x.v)));
	free(x.v);
	free(y.v);
	return status;
}

enum tb_status
same_ids(const struct tokenizer *a, const struct tokenizer *b, bool typed, bool *same,
	 struct tb_err *err)
{
	struct tb_buf text = TB_BUF(1u << 24), plain = TB_BUF(sizeof(corners));
	enum tb_status status;

	*same = true;
	make_sample(a, &text);
	tb_buf_str(&plain, corners);
	status = tb_buf_status(&text, "a sample of the vocabulary", err);
	if (!status)
		status = tb_buf_status(&plain, "a sample of text", err);
	if (!status)
		status = same_on(a, b, &text, true, same, err);
	if (!status)
		status = same_on(a, b, typed ? &text : &plain, false, same, err);
	tb_buf_free(&text);
	tb_buf_free(&plain);
	return status;
}
