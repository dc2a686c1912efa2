/* partial.h - files of which only stretches are there: a model that is looked at before it is
 * loaded lies in such ones, as long as they will be, with holes.
 *
 * Whoever opens one through file.h and reads or maps bytes of it makes `need` see to it first that
 * they are there: so nobody takes a hole for zeros, whatever reads. */
#ifndef TBTUI_BASE_PARTIAL_H
#define TBTUI_BASE_PARTIAL_H

#include <stdint.h>

#include "src/base/err.h"
#include "src/base/file.h"

struct tb_partial {
	/* Bytes [off, off + len), which are inside the file, are there now, or *err says why not.
	 * Any thread. */
	enum tb_status (*need)(void *arg, uint64_t off, uint64_t len, struct tb_err *err);
	/* How many of the len bytes from `off` on are there by now. */
	uint64_t (*there)(void *arg, uint64_t off, uint64_t len);
	void *arg;
	struct tb_ident id;	/* of the file, by which it is known.  What is filled in
				 * changes no time of it: it has this one */
	struct tb_partial *next;	/* private */
};

/* For whoever opens the file from now on.  Borrowed until it is taken back, when nobody has it
 * open. */
void tb_partial_add(struct tb_partial *p);
void tb_partial_drop(struct tb_partial *p);
/* NULL: a file like any other. */
const struct tb_partial *tb_partial_of(uint64_t dev, uint64_t ino);
#endif
