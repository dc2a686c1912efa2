/* format.h - the formats of files that hold tensors: one row each, with what readers of models
 * ask of it.
 *
 * A new one is a file with its row, and its name in FORMAT_LIST; the models that are made
 * of it are rows of MODEL_KIND_LIST (src/store/kind.h). */
#ifndef TBTUI_FORMAT_FORMAT_H
#define TBTUI_FORMAT_FORMAT_H

#include "src/format/gguf.h"
#include "src/format/manifest.h"
#include "src/format/safetensors.h"

#define FORMAT_HEAD 9	/* bytes that tell what a file is */

struct format {
	const char *title;	/* in sentences: "GGUF" */
	const char *ending;	/* of names: ".gguf" */
	enum media layer;	/* what a layer of it is in a store, and … */
	unsigned layers;	/* … bits of all kinds of layers that are of it */
	/* Begins a file of `size` bytes (FORMAT_HEAD at least) so? */
	bool (*is)(const unsigned char *head, uint64_t size);
	/* The tensors, and texts of the file about them. */
	enum tb_status (*read)(struct st_header *h, const struct tb_file *f, struct tb_err *err);
	/* What a file says of the model, its tokenizer, its texts; NULL: nothing, files beside
	 * it do.  Names of its tensors are ggml's then. */
	enum tb_status (*keys)(struct gguf *g, const struct tb_file *f, struct tb_err *err);
	bool folder;		/* files of it make a folder a model */
	bool converted;		/* its tensors can be written in another scheme … */
	bool written;		/* … and into a file of it */
};

#define FORMAT_LIST(X) X(format_safetensors) X(format_gguf)
#define X(row) extern const struct format row;
FORMAT_LIST(X)
#undef X

/* The formats in a row, ended by NULL. */
extern const struct format *const format_rows[];
/* By the ending of a name, by the kind of a layer; NULL: of none. */
const struct format *format_of_name(const char *name);
const struct format *format_of_media(enum media m);
/* By its first bytes.  TB_EFORMAT: it is of none. */
enum tb_status format_of_file(const char *path, const struct format **out, struct tb_err *err)
	TB_MUST_USE;
#endif
