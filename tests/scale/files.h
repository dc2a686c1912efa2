/* files.h - what mkstore writes: headers that say much over files that hold nothing.
 *
 * A file is as large as its header says, but sparse: a store of some TB takes the
 * space of its headers. */
#ifndef TBTUI_TESTS_SCALE_FILES_H
#define TBTUI_TESTS_SCALE_FILES_H

#include <stdint.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/format/dtype.h"

struct item {			/* one logical tensor */
	char name[160];
	unsigned ndim;
	uint64_t dim[2];
	bool packed;		/* int4 in groups of 64, else BF16 */
};

/* A safetensors header while it is made. */
struct st_make {
	struct tb_buf text;
	uint64_t data;		/* bytes described so far */
};
struct st_make st_make_start(bool packed);
/* Endings of the codes, scales and biases: Ollama's or MLX's. */
enum naming { NAMING_OLLAMA, NAMING_MLX };
void st_make_add(struct st_make *s, const struct item *t, enum naming how);

/* A GGUF file likewise: all tensors are added, then the keys stand before them. */
struct gguf_make {
	struct tb_buf tensors;
	uint64_t data;
	uint64_t n;
};
struct gguf_make gguf_make_start(void);
void gguf_make_add(struct gguf_make *g, const struct item *t);

/* Where files go, and a line "BYTES PATH" for each whose first bytes a scan reads. */
struct place { FILE *list; };

/* These end the program when a file cannot be written; they free what they write.
 * The size of the file is the result. */
uint64_t st_make_write(struct place *p, struct st_make *s, const char *path);
uint64_t gguf_make_write(struct place *p, struct gguf_make *g, const char *arch,
			 const char *path);
uint64_t text_write(struct place *p, struct tb_buf *text, const char *path, bool listed);

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void folder(const char *path);		/* mkdir -p */
#endif
