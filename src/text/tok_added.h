/* tok_added.h - private to src/text: tokens that are found in the text as a whole,
 * before it is cut into words. */
#ifndef TBTUI_TEXT_TOK_ADDED_H
#define TBTUI_TEXT_TOK_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

#define TOK_ADDED_LEN_MAX 1024		/* bytes; bounds the work at each byte of a text */

struct tok_added {
	uint32_t id;
	bool special, single_word, lstrip, rstrip, normalized;
};

struct tok_added_node;

/* The longest of those that match at the leftmost place wins. */
struct tok_added_set {
	struct tok_added *v;		/* owned */
	size_t n, cap;
	struct tok_added_node *node;	/* owned: a trie; node 0 is none */
	size_t nnodes, nodes_cap;
	uint32_t root[256];
};

enum tb_status tok_added_put(struct tok_added_set *set, const char *text, size_t len,
			     const struct tok_added *a, struct tb_err *err) TB_MUST_USE;
void tok_added_free(struct tok_added_set *set);

struct tok_hit {
	size_t start, end;		/* with the blanks that lstrip, rstrip take */
	uint32_t id;
};

/* The first token in s[from..len), false if there is none.  special: those marked
 * so count too; otherwise they are text. */
bool tok_added_next(const struct tok_added_set *set, const char *s, size_t len, size_t from,
		    bool special, struct tok_hit *hit);
#endif
