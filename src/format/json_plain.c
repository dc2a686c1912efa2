#include "config.h"

#include "src/format/json_plain.h"

#define EXACT_MAX 9007199254740992u	/* 2^53 */

/* What may stand in a plain string as it is. */
static const bool plain_byte[256] = {
	[' '] = true, ['!'] = true, ['#' ... '['] = true, [']' ... '~'] = true,
};

bool
plain_string(struct plain *in, struct plain_str *out)
{
	char *p = in->p;

	if (*p++ != '"')
		return false;
	out->s = p;
	while (plain_byte[(unsigned char)*p])
		p++;
	out->n = (size_t)(p - out->s);
	in->p = p + 1;
	return *p == '"';
}

bool
plain_u64(struct plain *in, uint64_t *out)
{
	const char *start = in->p;
	char *p = in->p;
	uint64_t v = 0;

	while (*p >= '0' && *p <= '9' && p - start < 17)
		v = v * 10 + (uint64_t)(*p++ - '0');
	in->p = p;
	*out = v;
	return p > start && p - start <= 16 && v <= EXACT_MAX && (*start != '0' || p - start == 1) &&
	       *p != '.' && *p != 'e' && *p != 'E';
}
