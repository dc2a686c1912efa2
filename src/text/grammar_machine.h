/* grammar_machine.h - private to src/text: rules as a machine over bytes.
 *
 * A rule is a little automaton; a state that calls a rule comes back to the state behind it.
 * Rules are first trees of `struct rule_part`, which a reader of a notation makes; then
 * grammar_make() lays out the states. */
#ifndef TBTUI_TEXT_GRAMMAR_MACHINE_H
#define TBTUI_TEXT_GRAMMAR_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/text/grammar.h"

#define GRAMMAR_STATES_MAX (1u << 20)
#define GRAMMAR_RULES_MAX (1u << 16)
#define GRAMMAR_NEST_MAX 200		/* parentheses in one another */
#define GRAMMAR_FAR UINT32_MAX		/* no text leads to the end */

enum part_kind { PART_TEXT, PART_CLASS, PART_SEQ, PART_ALT, PART_MANY, PART_RULE, PART_TOKEN };

struct part_range { uint32_t lo, hi; };		/* code points */

struct rule_part {
	enum part_kind kind;
	bool not;			/* PART_CLASS, PART_TOKEN: any other */
	uint32_t min, max;		/* PART_MANY; max UINT32_MAX: no end */
	uint32_t rule;			/* PART_RULE; PART_TOKEN: index of grammar.tokens */
	const char *text;		/* PART_TEXT: len bytes */
	size_t len;
	struct part_range *ranges;	/* PART_CLASS */
	struct rule_part **parts;	/* PART_SEQ, PART_ALT; PART_MANY: one */
	size_t n;			/* of ranges, of parts */
};

enum state_kind {
	STATE_END,		/* of a rule: back to who called it */
	STATE_DONE,		/* of the text */
	STATE_BYTES,		/* one of the bytes of set `arg`, then next */
	STATE_TOKEN,		/* the token `arg`, then next */
	STATE_OTHER,		/* any token but that */
	STATE_SPLIT,		/* next or arg */
	STATE_CALL,		/* the rule `arg`, then next */
};
#define AT_END 0		/* these states every machine has */
#define AT_DONE 1

struct grammar_state {
	uint32_t kind, next, arg;
	uint32_t far;		/* bytes to the rule's end at least */
};

struct grammar_rule {
	const char *name;	/* in the arena */
	struct rule_part *is;	/* while it is made; NULL: nobody said what it is */
	uint32_t entry;
	uint32_t far;		/* bytes of its shortest text */
	uint32_t rank;		/* it calls only higher ones before it read anything */
};

struct grammar_token {
	const char *name;	/* NULL: it is said by number */
	uint32_t id;
};

struct grammar {
	atomic_uint refs;		/* beside the first */
	struct grammar_state *states;	/* owned, as all are */
	size_t n, cap;
	struct grammar_rule *rules;	/* the first is the root */
	size_t nrules, rules_cap;
	uint8_t (*sets)[32];		/* of bytes, a bit each */
	size_t nsets, sets_cap;
	uint32_t *set_slots;		/* index + 1 by hash; 0: free */
	size_t nset_slots;
	struct grammar_token *tokens;
	size_t ntokens, tokens_cap;
	/* Bytes that no set tells apart are a class. */
	uint8_t class_of[256], byte_of[256];
	unsigned nclasses, class_size[256];
	size_t work;			/* parts that were laid out so far */
	struct tb_arena arena;
	enum grammar_form form;
	char *source;			/* owned; see grammar_source() */
};
/* Notes what it was made from. */
enum tb_status grammar_say(struct grammar *g, enum grammar_form form, const char *text, size_t len,
			   struct tb_err *err) TB_MUST_USE;

static inline bool
grammar_has(const struct grammar *g, uint32_t set, uint8_t byte)
{
	return g->sets[set][byte / 8] >> byte % 8 & 1;
}

/* The states of all rules, and what is to be known of them; the parts may go then. */
enum tb_status grammar_make(struct grammar *g, const char *what, struct tb_err *err) TB_MUST_USE;

/* In grammar_class.c: a character of the ranges, then next; false: no memory, or too many. */
bool grammar_put_class(struct grammar *g, const struct rule_part *class, uint32_t next, uint32_t *at);
/* A state, and a set that may be there already. */
bool grammar_put(struct grammar *g, enum state_kind kind, uint32_t next, uint32_t arg, uint32_t *at);
bool grammar_put_set(struct grammar *g, const uint8_t set[32], uint32_t *at);

/* In grammar_check.c: how far each state is from its end; which rule reads nothing before it
 * calls itself; which bytes are alike. */
enum tb_status grammar_measure(struct grammar *g, struct tb_err *err) TB_MUST_USE;
enum tb_status grammar_rank(struct grammar *g, const char *what, struct tb_err *err) TB_MUST_USE;
void grammar_classify(struct grammar *g);
#endif
