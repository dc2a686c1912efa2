/* figures.h - how large a model is and what it takes to run it, and how that is said. */
#ifndef TBTUI_FACE_FIGURES_H
#define TBTUI_FACE_FIGURES_H

#include "src/ops/about/about.h"

struct model;
struct model_file;
struct tb_buf;

struct figures {
	struct params params;
	struct memory memory;
};
/* threads: those that a run would take; 0: all.  Fails only when memory runs out. */
enum tb_status figures_of(const struct model *m, unsigned threads, struct figures *out,
			  struct tb_err *err) TB_MUST_USE;

/* "789K parameters, of which 459K work on a token: 2 of 4 experts do"; appended. */
void figures_params(const struct params *p, struct tb_buf *out);
/* Would so much fit into what this machine has, and has free?  "": not known. */
const char *figures_fit(const struct memory *m, uint64_t total);
/* Said where m->runs is not so. */
#define FIGURES_NO_RUN \
	"tbtui does not run this architecture: these follow from the numbers it states."
/* "manifest", "template", …, or its media type. */
const char *figures_file_kind(const struct model_file *f);
#endif
