/* dict.h - inside db/: names and forms by their numbers, and what a model consists of;
 * for whoever reads.
 *
 * Both lists are read when somebody first asks, and later only what is new: numbers are
 * never used twice. */
#ifndef TBTUI_DB_DICT_H
#define TBTUI_DB_DICT_H

#include "db/stmt.h"

struct form {
	const char *scheme, *shape;
	enum dtype dtype;		/* DT_COUNT: not known to this program */
	uint64_t elems, bytes;
};

struct dict {
	const char **name;		/* by id, NULL: none has it; owned, as are the texts */
	size_t nnames, names_cap;
	struct form *form;		/* by id, scheme NULL: none */
	size_t nforms, forms_cap;
	uint32_t *rank;			/* of the first ranked names; owned, NULL: not needed yet */
	size_t ranked, nranks;
	struct tb_arena mem;
};

/* Brings the dictionary up to what is in the index now. */
enum tb_status db_dict(struct db *db, struct dict **out, struct tb_err *err) TB_MUST_USE;
void db_dict_forget(struct db *db);
const char *dict_name(const struct dict *d, uint32_t id);	/* "?" for none */
const struct form *dict_form(const struct dict *d, uint32_t id);	/* never NULL */

/* The lists of a model; release with contents_free(), also after a failure. */
struct contents {
	size_t n, nfiles;
	uint32_t *name, *form, *place;	/* of a tensor */
	uint64_t *off;
	uint64_t *file;			/* files.id */
	void *room;			/* owned: all of them */
};
enum tb_status db_contents(struct db *db, int64_t model, struct contents *out,
			   struct tb_err *err) TB_MUST_USE;
void contents_free(struct contents *c);

/* The rank of each form by a key of lists ("size"), of each name in natural order; those
 * that are equal have the same.  NULL: no memory, or no such key.  Caller frees
 * those of forms; those of names are kept. */
uint32_t *dict_ranks(const struct dict *d, const char *key, size_t *nranks);
const uint32_t *dict_name_ranks(struct dict *d, size_t *nranks);
#endif
