/* gguf.h - GGUF files, version 2 and 3, little endian: metadata and the tensors'
 * places, read strictly.
 *
 * Every number is checked against the file before it is believed: whoever holds
 * a struct gguf_tensor may read [off, off + len) without checking again.  Arrays
 * and strings stay in the file (a vocabulary may have 100 MB); where they lie is
 * known, and they are read when somebody asks. */
#ifndef TBTUI_FORMAT_GGUF_H
#define TBTUI_FORMAT_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/format/ggml_type.h"

#define GGUF_ITEMS_MAX (1u << 30)	/* bytes of a string, elements of an array */
#define GGUF_COUNT_MAX (1u << 20)	/* keys, tensors */
#define GGUF_KEY_MAX 65535u		/* bytes */
#define GGUF_NAME_MAX 64u		/* of a tensor, with NUL */
#define GGUF_DIMS 4

struct st_header;
struct tb_file;

/* id (its number in the file), name, bytes of one (0: of varying length) */
#define GGUF_VALUE_LIST(X) \
	X(GGUF_U8, "u8", 1) \
	X(GGUF_I8, "i8", 1) \
	X(GGUF_U16, "u16", 2) \
	X(GGUF_I16, "i16", 2) \
	X(GGUF_U32, "u32", 4) \
	X(GGUF_I32, "i32", 4) \
	X(GGUF_F32, "f32", 4) \
	X(GGUF_BOOL, "bool", 1) \
	X(GGUF_STRING, "string", 0) \
	X(GGUF_ARRAY, "array", 0) \
	X(GGUF_U64, "u64", 8) \
	X(GGUF_I64, "i64", 8) \
	X(GGUF_F64, "f64", 8)
#define X(id, name, bytes) id,
enum gguf_value { GGUF_VALUE_LIST(X) GGUF_VALUE_COUNT };
#undef X
const char *gguf_value_name(enum gguf_value v);

struct gguf_kv {
	const char *key;		/* borrowed: lives as long as the header */
	enum gguf_value type;
	enum gguf_value elem;		/* of an array */
	uint64_t count;			/* elements of an array, bytes of a string; else 1 */
	uint64_t off, len;		/* the value's bytes in the file, without its counts
					 * (but with those of strings in an array) */
	uint64_t bits;			/* a number's bytes, zero-extended */
};

struct gguf_tensor {
	const char *name;		/* borrowed */
	enum ggml_type type;
	unsigned ndim;
	uint64_t ne[GGUF_DIMS];		/* fastest first: ne[0] is a row's columns; 1 beyond ndim */
	uint64_t off, len;		/* bytes, counted from the start of the file */
};

struct gguf {
	uint32_t version;
	uint64_t alignment, data_off;
	struct gguf_kv *kv;		/* sorted by key (bytewise) */
	size_t nkv;
	struct gguf_tensor *tensors;	/* sorted by name */
	size_t ntensors;
	struct gguf_text *names;	/* private */
};

enum tb_status gguf_read(struct gguf *g, const struct tb_file *f, struct tb_err *err) TB_MUST_USE;
/* The same on memory, for tests and fuzzing; the file has `size` bytes, of which the
 * first n are at p. */
enum tb_status gguf_parse(struct gguf *g, const void *p, size_t n, uint64_t size,
			  const char *what, struct tb_err *err) TB_MUST_USE;
void gguf_free(struct gguf *g);
/* Its tensors as those of any other format, with the slowest dimension first; *h is the
 * caller's to st_free(). */
enum tb_status gguf_list(const struct gguf *g, struct st_header *h, struct tb_err *err) TB_MUST_USE;

/* NULL: there is none. */
const struct gguf_kv *gguf_find(const struct gguf *g, const char *key);
/* An integer of any width that is not negative; false for everything else. */
bool gguf_u64(const struct gguf_kv *kv, uint64_t *out);
bool gguf_f64(const struct gguf_kv *kv, double *out);	/* any number, or a bool */
bool gguf_bool(const struct gguf_kv *kv, bool *out);
/* A string value, NUL-terminated; the caller frees *out.  TB_EFORMAT if it is none or
 * holds a NUL, TB_ELIMIT over `max` bytes. */
enum tb_status gguf_string(const struct gguf_kv *kv, const struct tb_file *f, size_t max,
			   char **out, struct tb_err *err) TB_MUST_USE;
#endif
