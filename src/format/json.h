/* json.h - JSON through cJSON, with the checks that cJSON leaves out.
 *
 * Reading refuses duplicate keys, NUL characters in strings, bytes that are not
 * UTF-8, trailing text and deep nesting.  Writing keeps 64-bit integers exact
 * and replaces bytes that are not UTF-8. */
#ifndef TBTUI_FORMAT_JSON_H
#define TBTUI_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct tb_buf;

typedef struct cJSON cJSON;

/* `what` names the document in errors. *out is released with json_free(). */
enum tb_status json_parse(cJSON **out, const char *text, size_t len, const char *what,
			  struct tb_err *err) TB_MUST_USE;
/* The same of a file of at most `max` bytes; *out is NULL after a failure. */
enum tb_status json_read(cJSON **out, const char *path, size_t max, struct tb_err *err) TB_MUST_USE;
/* The same for files that Python writes: NaN, Infinity and -Infinity are taken as null. */
enum tb_status json_parse_python(cJSON **out, const char *text, size_t len, const char *what,
				 struct tb_err *err) TB_MUST_USE;
/* The same for what is printed again: there they stay what they are, and no number. */
enum tb_status json_parse_again(cJSON **out, const char *text, size_t len, const char *what,
				struct tb_err *err) TB_MUST_USE;
void json_free(cJSON *v);

/* Reading. All accept NULL and answer NULL / false for it. Everything returned
 * is borrowed from the document. */
const cJSON *json_get(const cJSON *object, const char *key);
const cJSON *json_path(const cJSON *object, const char *dotted);	/* "a.b.c" */
const cJSON *json_first(const cJSON *container);	/* first child or NULL */
const cJSON *json_next(const cJSON *v);
const char *json_key(const cJSON *v);			/* of an object's child */
size_t json_count(const cJSON *container);		/* children; O(n) */
bool json_is_object(const cJSON *v);
bool json_is_array(const cJSON *v);
bool json_is_null(const cJSON *v);
bool json_is_number(const cJSON *v);
const char *json_str(const cJSON *v);			/* NULL unless a string */
bool json_u64(const cJSON *v, uint64_t *out);		/* exact integer 0..2^53 */
bool json_f64(const cJSON *v, double *out);
bool json_bool(const cJSON *v, bool *out);

/* Writing. A failed allocation anywhere makes json_print() return NULL; nothing
 * else needs a check.  Children given to json_set/json_push are owned from then. */
cJSON *json_object(void);
cJSON *json_array(void);
cJSON *json_string(const char *s);	/* NULL: null */
cJSON *json_copy(const cJSON *v);	/* with all that is in it */
void json_set(cJSON *object, const char *key, cJSON *child);	/* key NULL: json_push() */
void json_set_buf(cJSON *object, const char *key, const struct tb_buf *b);	/* whole */
void json_set_str(cJSON *object, const char *key, const char *s);	/* NULL: null */
void json_set_u64(cJSON *object, const char *key, uint64_t n);
void json_set_i64(cJSON *object, const char *key, int64_t n);
void json_set_f64(cJSON *object, const char *key, double x);	/* shortest exact; NaN, Inf: null */
void json_set_bool(cJSON *object, const char *key, bool b);
void json_push(cJSON *array, cJSON *child);
void json_push_str(cJSON *array, const char *s);
void json_push_u64(cJSON *array, uint64_t n);
void json_push_f64(cJSON *array, double x);

/* Compact text, no newline; caller frees. NULL when out of memory. */
char *json_print(const cJSON *v);
/* Indented by two blanks. */
char *json_print_pretty(const cJSON *v);
/* A string with its quotes, a number, any value as Go's encoder writes them, for files that have
 * to equal Ollama's byte for byte. */
void json_quote_go(struct tb_buf *out, const char *s);
void json_number_go(struct tb_buf *out, double x);
void json_put_go(struct tb_buf *out, const cJSON *v);
#endif
