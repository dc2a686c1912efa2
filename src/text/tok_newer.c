#include "config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include "src/text/tok_newer.h"

#include <pcre2.h>
#include <pthread.h>
#include <string.h>
#include <utf8proc.h>

#include "src/base/mem.h"
#include "src/base/text.h"

/* Neighbours of one category. */
struct range { uint32_t first, last; const char *category; };

static struct range *ranges;		/* for as long as the process lives */
static size_t nranges, cap;

/* What of the known text the code matches. */
static void
find_ranges(const pcre2_code *code, const struct tb_buf *known)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	uint32_t cp;

	for (size_t at = 0; data && pcre2_match(code, (PCRE2_SPTR)known->p, known->len, at,
						PCRE2_NO_UTF_CHECK, data, NULL) >= 0;) {
		const PCRE2_SIZE *hit = pcre2_get_ovector_pointer(data);

		for (at = hit[0]; at < hit[1];) {
			struct range *last = nranges ? &ranges[nranges - 1] : NULL;
			const char *category;

			at += tb_utf8_next(known->p + at, known->len - at, &cp);
			category = utf8proc_category_string((int32_t)cp);
			if (last && last->last + 1 == cp && !strcmp(last->category, category))
				last->last = cp;
			else if (tb_grow(&ranges, &cap, nranges + 1, sizeof(*ranges)))
				ranges[nranges++] = (struct range){ cp, cp, category };
		}
	}
	pcre2_match_data_free(data);
}

static void
find_newer(void)
{
	struct tb_buf known = TB_BUF(8u << 20);		/* what utf8proc knows, as one text */
	char theirs[64] = "", s[4];
	PCRE2_SIZE at;
	pcre2_code *code;
	int error;

	if (pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, NULL) <= (int)sizeof(theirs))
		(void)pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, theirs);
	if (!strcmp(theirs, utf8proc_unicode_version()))
		return;
	code = pcre2_compile((PCRE2_SPTR)"\\p{Cn}+", PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &at,
			     NULL);
	for (uint32_t cp = 0x80; cp <= 0x10ffff; cp++) {
		utf8proc_category_t k = utf8proc_category((int32_t)cp);

		if (k != UTF8PROC_CATEGORY_CN && k != UTF8PROC_CATEGORY_CS && k != UTF8PROC_CATEGORY_CO)
			tb_buf_add(&known, s, tb_utf8_put(cp, s));
	}
	if (code && known.len && !tb_buf_failed(&known)) {
		(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
		find_ranges(code, &known);
	}
	pcre2_code_free(code);
	tb_buf_free(&known);
}

/* New ideographs come on planes of their own. */
static bool
has_property(const struct range *r, const char *property, size_t len)
{
	bool letter = r->category[0] == 'L';

	if (len == 1)
		return r->category[0] == *property;
	if (len == 2 && (!memcmp(property, "L&", 2) || !memcmp(property, "LC", 2)))
		return letter && strchr("ult", r->category[1]);
	if (len == 2)
		return !memcmp(r->category, property, 2);
	if (len == 10 && !memcmp(property, "Alphabetic", 10))
		return letter || !strcmp(r->category, "Nl");
	if (len == 3 && !memcmp(property, "Han", 3))
		return letter && r->first >= 0x20000;
	return false;
}

void
tok_newer_put(const char *property, size_t len, struct tb_buf *out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_newer);
	for (size_t i = 0; i < nranges; i++)
		if (has_property(&ranges[i], property, len))
			tb_buf_printf(out, "\\x{%x}-\\x{%x}", ranges[i].first, ranges[i].last);
}
