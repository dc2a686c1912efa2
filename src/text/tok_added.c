#include "config.h"

#include "src/text/tok_added.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/tok_uni.h"

struct tok_added_node {
	uint32_t child, sibling;	/* nodes; 0 = none */
	uint32_t token;			/* index into v + 1; 0 = none ends here */
	uint8_t byte;
};

static uint32_t
child_of(const struct tok_added_set *set, uint32_t at, uint8_t byte)
{
	uint32_t i = set->node[at].child;

	while (i && set->node[i].byte != byte)
		i = set->node[i].sibling;
	return i;
}

static uint32_t
new_node(struct tok_added_set *set, uint8_t byte)
{
	if (!set->nnodes)
		set->nnodes = 1;	/* node 0 is none */
	if (set->nnodes >= UINT32_MAX ||
	    !tb_grow(&set->node, &set->nodes_cap, set->nnodes + 1, sizeof(*set->node)))
		return 0;
	set->node[set->nnodes] = (struct tok_added_node){ .byte = byte };
	return (uint32_t)set->nnodes++;
}

static uint32_t
grow_path(struct tok_added_set *set, const char *text, size_t len)
{
	uint32_t at = set->root[(uint8_t)*text], next;

	if (!at)
		at = set->root[(uint8_t)*text] = new_node(set, (uint8_t)*text);
	for (size_t i = 1; i < len && at; i++, at = next) {
		next = child_of(set, at, (uint8_t)text[i]);
		if (next)
			continue;
		next = new_node(set, (uint8_t)text[i]);
		if (!next)
			return 0;
		set->node[next].sibling = set->node[at].child;
		set->node[at].child = next;
	}
	return at;
}

enum tb_status
tok_added_put(struct tok_added_set *set, const char *text, size_t len, const struct tok_added *a,
	      struct tb_err *err)
{
	uint32_t at;

	if (!len)
		return TB_OK;
	if (len > TOK_ADDED_LEN_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: added token %ju has %zu bytes",
			       (uintmax_t)a->id, len);
	at = grow_path(set, text, len);
	if (!at || !tb_grow(&set->v, &set->cap, set->n + 1, sizeof(*set->v)))
		return tb_nomem(err);
	set->v[set->n++] = *a;
	set->node[at].token = (uint32_t)set->n;
	return TB_OK;
}

void
tok_added_free(struct tok_added_set *set)
{
	free(set->v);
	free(set->node);
	*set = (struct tok_added_set){ 0 };
}

/* The longest token that starts at s; its length, 0 if none does. */
static size_t
longest(const struct tok_added_set *set, const char *s, size_t len, const struct tok_added **a)
{
	uint32_t at = set->root[(uint8_t)*s];
	size_t found = 0;

	for (size_t i = 1; at; i++) {
		if (set->node[at].token) {
			found = i;
			*a = &set->v[set->node[at].token - 1];
		}
		if (i == len)
			break;
		at = child_of(set, at, (uint8_t)s[i]);
	}
	return found;
}

static bool
stands_alone(const char *s, size_t len, size_t start, size_t end)
{
	uint32_t before = ' ', after = ' ';

	if (start)
		(void)tok_utf8_last(s, start, &before);
	if (end < len)
		(void)tb_utf8_next(s + end, len - end, &after);
	return !tok_is_word(before) && !tok_is_word(after);
}

static void
take_blanks(const struct tok_added *a, const char *s, size_t len, size_t from, struct tok_hit *hit)
{
	uint32_t cp;
	size_t n;

	while (a->lstrip && hit->start > from) {
		n = tok_utf8_last(s + from, hit->start - from, &cp);
		if (!tok_is_space(cp))
			break;
		hit->start -= n;
	}
	while (a->rstrip && hit->end < len) {
		n = tb_utf8_next(s + hit->end, len - hit->end, &cp);
		if (!tok_is_space(cp))
			break;
		hit->end += n;
	}
}

bool
tok_added_next(const struct tok_added_set *set, const char *s, size_t len, size_t from,
	       bool special, struct tok_hit *hit)
{
	size_t n;

	if (!set->n)
		return false;
	for (size_t i = from; i < len; i += n ? n : 1) {
		const struct tok_added *a = NULL;

		n = set->root[(uint8_t)s[i]] ? longest(set, s + i, len - i, &a) : 0;
		if (!n || (a->special && !special) ||
		    (a->single_word && !stands_alone(s, len, i, i + n)))
			continue;	/* what did match is passed over as a whole */
		*hit = (struct tok_hit){ i, i + n, a->id };
		take_blanks(a, s, len, from, hit);
		return true;
	}
	return false;
}
