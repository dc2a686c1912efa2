/* safetensors.h - headers of safetensors files, read strictly and written sorted; those of
 * other formats (format.h) are brought into the same form.
 *
 * Every number is checked against the file before it is believed: whoever holds
 * a struct st_tensor may read [off, off + len) without checking again.  Data may
 * start at any byte: never assume alignment. */
#ifndef TBTUI_FORMAT_SAFETENSORS_H
#define TBTUI_FORMAT_SAFETENSORS_H

#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/format/dtype.h"

#define ST_HEADER_MAX 100000000u	/* bytes, as the reference reader has it */
#define TB_MAX_DIMS 8

struct tb_file;

struct st_tensor {
	const char *name;		/* borrowed: lives as long as the header */
	enum dtype dtype;
	uint16_t ndim;			/* 0 = scalar */
	uint16_t blocks;		/* 1 + type of ggml: dim counts elements, dtype is that of bytes */
	uint64_t dim[TB_MAX_DIMS];
	uint64_t off, len;		/* bytes, counted from the start of the file */
};

struct st_meta { const char *key, *value; };	/* borrowed from the header */

struct st_header {
	struct st_tensor *tensors;	/* sorted by name (bytewise) */
	size_t ntensors;
	struct st_meta *meta;		/* __metadata__, sorted by key */
	size_t nmeta;
	uint64_t data_off;		/* where the data region starts */
	void *doc;			/* private, as is text */
	char *text;
};

/* Reads and checks the header of a file.  Refused: lengths over ST_HEADER_MAX or
 * the file, numbers that are no exact integers, duplicate keys, shape x dtype !=
 * bytes, overlap, holes, bytes past the end of the file or after the last tensor. */
enum tb_status st_read(struct st_header *h, const struct tb_file *f, struct tb_err *err) TB_MUST_USE;
/* The same on memory, for tests and fuzzing: `json` is the header alone,
 * data_len the bytes behind it. */
enum tb_status st_parse(struct st_header *h, const char *json, size_t len, uint64_t data_len,
			const char *what, struct tb_err *err) TB_MUST_USE;
void st_free(struct st_header *h);
const struct st_tensor *st_find(const struct st_header *h, const char *name);
const char *st_meta_find(const struct st_header *h, const char *key);
/* The same of the key that is both one behind the other: "<tensor>.quant_type". */
const char *st_meta_of(const struct st_header *h, const char *tensor, const char *key);

/* Writing: fill name, dtype, ndim, dim; st_layout() sets off and len (data in the
 * order given, no gaps) and appends length + JSON header to `out`: keys sorted,
 * padded with blanks so that the data starts on a multiple of 8.  This is what
 * Ollama's byte writer makes, byte for byte. */
enum tb_status st_layout(struct st_tensor *tensors, size_t n, const struct st_meta *meta,
			 size_t nmeta, struct tb_buf *out, struct tb_err *err) TB_MUST_USE;
#endif
