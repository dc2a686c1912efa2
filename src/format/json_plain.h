/* json_plain.h - reading JSON of a known form in one pass, for documents that come by the
 * ten thousand (headers of blobs, manifests).
 *
 * It knows less than JSON: no escapes, no bytes beyond ASCII, no fractions.  Whoever reads
 * with it takes what is plain and leaves everything else, also everything wrong, to
 * json_parse(), which has the last word and the message.
 * Private to src/format. */
#ifndef TBTUI_FORMAT_JSON_PLAIN_H
#define TBTUI_FORMAT_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The text at p ends with a NUL, which nothing here steps over. */
struct plain { char *p; bool nomem; };	/* nomem: why it was given up */
struct plain_str { char *s; size_t n; };	/* between the quotes; not terminated */

static inline void
plain_blanks(struct plain *in)
{
	while (*in->p == ' ' || *in->p == '\n' || *in->p == '\r' || *in->p == '\t')
		in->p++;
}

/* The character, and the blanks around it; false: something else is there. */
static inline bool
plain_char(struct plain *in, char c)
{
	plain_blanks(in);
	if (*in->p != c)
		return false;
	in->p++;
	plain_blanks(in);
	return true;
}

bool plain_string(struct plain *in, struct plain_str *out);
bool plain_u64(struct plain *in, uint64_t *out);	/* an exact integer, as json_u64() has it */

static inline bool
plain_is(const struct plain_str *s, const char *text)
{
	return s->n == strlen(text) && !memcmp(s->s, text, s->n);
}
#endif
