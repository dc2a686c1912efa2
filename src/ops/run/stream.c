#include "config.h"

#include "src/ops/run/stream.h"

#include <string.h>

#include "src/base/text.h"

void
stream_free(struct stream *s)
{
	tb_buf_free(&s->raw);
	tb_buf_free(&s->text);
}

/* How many of the last bytes may begin a stop string. */
static size_t
begun_stop(const struct stream *s, const char *p, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < s->nstops; i++) {
		size_t len = strlen(s->stops[i]);

		for (size_t k = len && len - 1 < n ? len - 1 : n; k > most; k--)
			if (k < len && !memcmp(p + n - k, s->stops[i], k))
				most = k;
	}
	return most;
}

/* How many of the last bytes are a UTF-8 character that is not whole. */
static size_t
cut_char(const char *p, size_t n)
{
	for (size_t k = 1; k <= 3 && k <= n; k++) {
		unsigned char c = (unsigned char)p[n - k];

		if (c >= 0xc0)
			return k < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? k : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

size_t
stream_pass(struct stream *s, bool last, bool *stopped)
{
	size_t from = s->text.len, n = s->raw.len - s->done;
	const char *p = n ? s->raw.p + s->done : "", *stop = NULL;

	*stopped = false;
	for (size_t i = 0; i < s->nstops; i++) {
		size_t len = strlen(s->stops[i]);
		const char *at = len && len <= n ? memmem(p, n, s->stops[i], len) : NULL;

		stop = at && (!stop || at < stop) ? at : stop;
	}
	if (stop) {
		*stopped = true;
		n = (size_t)(stop - p);
	} else if (!last) {
		n -= begun_stop(s, p, n);
		n -= cut_char(p, n);
	}
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		char out[4];

		i += tb_utf8_next(p + i, n - i, &cp);
		tb_buf_add(&s->text, out, tb_utf8_put(cp, out));
	}
	s->done += n;
	return from;
}
