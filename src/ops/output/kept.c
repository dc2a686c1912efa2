#include "config.h"

#include "src/ops/output/output.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/ollama.h"

/* Would a terminal show it as it is? */
static bool
shows(const char *word)
{
	struct tb_buf b = TB_BUF(65536);
	bool same;

	tb_text_clip(&b, word, SIZE_MAX, false);
	same = !strcmp(tb_buf_cstr(&b), word);
	tb_buf_free(&b);
	return same;
}

/* $'…' of shells: what a terminal obeys, or cannot show, is copied by its number. */
static void
quote_bytes(struct tb_buf *out, const char *word)
{
	tb_buf_str(out, "$'");
	for (; *word; word++) {
		unsigned char c = (unsigned char)*word;

		if (c < ' ' || c > '~')
			tb_buf_printf(out, "\\%03o", c);
		else
			tb_buf_printf(out, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
	}
	tb_buf_chr(out, '\'');
}

/* As one word of a shell. */
static void
quote(struct tb_buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:@%+=,";

	if (*word && strspn(word, plain) == strlen(word)) {
		tb_buf_str(out, word);
		return;
	}
	if (!shows(word)) {
		quote_bytes(out, word);
		return;
	}
	tb_buf_chr(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			tb_buf_str(out, "'\\''");
		else
			tb_buf_chr(out, *word);
	tb_buf_chr(out, '\'');
}

/* Neither goes into a folder that is there, nor over anything. */
static char *
swap_back(const char *path, const char *old)
{
	struct tb_buf b = TB_BUF(65536);

	tb_buf_str(&b, "mv -nT -- ");
	quote(&b, path);
	tb_buf_chr(&b, ' ');
	quote(&b, path);
	tb_buf_str(&b, ".new && mv -nT -- ");
	quote(&b, old);
	tb_buf_chr(&b, ' ');
	quote(&b, path);
	return tb_buf_take(&b);
}

char *
kept_remove(const char *old)
{
	struct tb_buf b = TB_BUF(65536);

	tb_buf_str(&b, tb_is_dir(old) ? "rm -r -- " : "rm -- ");
	quote(&b, old);
	return tb_buf_take(&b);
}

void
keep_path(struct kept *k, const char *path, char *old)
{
	*k = (struct kept){ 0 };
	if (!old)
		return;
	*k = (struct kept){ old, swap_back(path, old), kept_remove(old) };
}

void
keep_manifest(struct kept *k, const struct ollama_writer *w)
{
	*k = (struct kept){ 0 };
	if (!w->kept_path)
		return;
	*k = (struct kept){ tb_strdup(w->kept), swap_back(w->path, w->kept_path),
			    kept_remove(w->kept_path) };
}

void
kept_free(struct kept *k)
{
	free(k->where);
	free(k->restore);
	free(k->remove);
	*k = (struct kept){ 0 };
}
