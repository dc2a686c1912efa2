/* gguf_write.h - GGUF files of version 3 as llama.cpp writes them: keys in the order in
 * which they were put, tensors each at a multiple of 32 bytes.
 *
 * A head is put together in memory; what a file must hold is known before its first byte. */
#ifndef TBTUI_FORMAT_GGUF_WRITE_H
#define TBTUI_FORMAT_GGUF_WRITE_H

#include "src/base/buf.h"
#include "src/format/gguf.h"

#define GGUF_ALIGNMENT 32u
#define GGUF_HEAD_MAX (1u << 30)

/* Keys and values; gguf_keys_free() it.  A lack of memory is kept until gguf_layout(). */
struct gguf_keys {
	struct tb_buf buf;
	uint64_t n;
};
#define GGUF_KEYS() ((struct gguf_keys){ .buf = TB_BUF(GGUF_HEAD_MAX) })
void gguf_keys_free(struct gguf_keys *k);

/* One more key with a value of that type; key and s are copied. */
void gguf_put_u32(struct gguf_keys *k, const char *key, uint32_t v);
void gguf_put_u16(struct gguf_keys *k, const char *key, uint16_t v);
void gguf_put_i32(struct gguf_keys *k, const char *key, int32_t v);
void gguf_put_f32(struct gguf_keys *k, const char *key, float v);
void gguf_put_bool(struct gguf_keys *k, const char *key, bool v);
void gguf_put_str(struct gguf_keys *k, const char *key, const char *s);
/* n elements of that type follow, by gguf_item_…() of it. */
void gguf_put_array(struct gguf_keys *k, const char *key, enum gguf_value elem, uint64_t n);
void gguf_item_str(struct gguf_keys *k, const char *s, size_t len);
void gguf_item_i32(struct gguf_keys *k, int32_t v);
void gguf_item_f32(struct gguf_keys *k, float v);
void gguf_item_bool(struct gguf_keys *k, bool v);

/* All of `from` behind what is there. */
void gguf_put_keys(struct gguf_keys *k, const struct gguf_keys *from);
/* A key of another file as it is there. */
struct tb_file;
enum tb_status gguf_put_copy(struct gguf_keys *k, const struct gguf_kv *kv, const struct tb_file *f,
			     struct tb_err *err) TB_MUST_USE;

/* Appends the whole head to `out`: keys and tensors in their order.  Sets off and len of
 * each tensor from its type and shape; *size is the file's.  TB_EFORMAT: a shape or a name
 * that the format does not hold. */
enum tb_status gguf_layout(const struct gguf_keys *k, struct gguf_tensor *tensors, size_t n,
			   struct tb_buf *out, uint64_t *size, struct tb_err *err) TB_MUST_USE;
#endif
