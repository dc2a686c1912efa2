/* fixture.h - models made by tests: tensors with recognisable bytes, in blobs and
 * files. */
#ifndef TBTUI_TESTS_FIXTURE_H
#define TBTUI_TESTS_FIXTURE_H

#include "src/format/safetensors.h"
#include "src/store/ollama.h"

#define FIXTURE_MAX 80

/* The tensors of one file. Names are borrowed or owned by the fixture. */
struct fixture {
	struct st_tensor t[FIXTURE_MAX];
	char names[FIXTURE_MAX][128];
	size_t n;
	struct st_meta meta[FIXTURE_MAX];
	size_t nmeta;
};

/* dims: at most 3, ended by the first 0 (0 alone: a scalar). */
void fixture_add(struct fixture *f, const char *name, enum dtype d, const uint64_t dims[4]);
/* Packed weight and companions of `scheme` ("int4", "affine:4:32", "nvfp4", …) with the
 * endings given ("" ".scale" ".bias" for Ollama; ".weight" ".scales" ".biases"). dims
 * are the logical ones. */
void fixture_quant(struct fixture *f, const char *base, const char *scheme,
		   const uint64_t dims[4], const char *w, const char *s, const char *b);
void fixture_meta(struct fixture *f, const char *key, const char *value);
/* Header and data; data bytes count up from `seed`. */
void fixture_bytes(struct fixture *f, unsigned seed, struct tb_buf *out);
/* As a file below unit_tmp() (folders must exist); as a tensor layer of a store. */
void fixture_file(struct fixture *f, const char *rel);
void fixture_blob(struct fixture *f, struct ollama_writer *w, const char *layer);
/* mkdir -p below unit_tmp(); gives the path. */
const char *fixture_dir(const char *rel);
void fixture_text(const char *rel, const char *text);
#endif
