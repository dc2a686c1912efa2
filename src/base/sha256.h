/* sha256.h - SHA-256 through libcrypto, which knows the CPU's instructions. */
#ifndef TBTUI_BASE_SHA256_H
#define TBTUI_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct tb_file;
struct tb_job;

#define TB_SHA256_LEN 32
#define TB_DIGEST_MAX 72	/* "sha256:" + 64 hex digits + NUL */

struct tb_sha256 { void *ctx; };	/* opaque; one thread at a time */

enum tb_status tb_sha256_init(struct tb_sha256 *s, struct tb_err *err) TB_MUST_USE;
void tb_sha256_add(struct tb_sha256 *s, const void *data, size_t len);
/* Writes "sha256:<64 hex>" and frees the state. */
void tb_sha256_done(struct tb_sha256 *s, char digest[TB_DIGEST_MAX]);
void tb_sha256_free(struct tb_sha256 *s);	/* without a result; fine when freed */

/* The same with MD5, which some servers want beside it. */
#define TB_MD5_LEN 16
enum tb_status tb_md5_init(struct tb_sha256 *s, struct tb_err *err) TB_MUST_USE;
void tb_md5_done(struct tb_sha256 *s, uint8_t out[TB_MD5_LEN]);

/* PREFIX and n bytes, at most 32, in hex: "sha256:" */
void tb_digest_text(const char *prefix, const void *bytes, size_t n, char digest[TB_DIGEST_MAX]);
/* The way back; false: it is no SHA-256 in lower-case hex. */
bool tb_digest_bytes(const char *digest, uint8_t out[TB_SHA256_LEN]);

enum tb_status tb_sha256_bytes(const void *data, size_t len, char digest[TB_DIGEST_MAX],
			       struct tb_err *err) TB_MUST_USE;

/* Who wants to see a file's bytes while they are hashed, without reading them again: from
 * the first to the last, in order, one call at a time.  They are not to be believed
 * before the file is hashed to its end. */
struct tb_seen {
	void (*fn)(void *arg, uint64_t off, const uint8_t *p, size_t len);
	void *arg;
};

/* Hashes a whole file; steps `job` (may be NULL) by the bytes read and stops
 * with TB_ECANCEL when it is cancelled.  seen: NULL for nobody. */
enum tb_status tb_sha256_file(const struct tb_file *f, struct tb_job *job,
			      const struct tb_seen *seen, char digest[TB_DIGEST_MAX],
			      struct tb_err *err) TB_MUST_USE;

/* Pages of [off, off + len) are gone and were hashed as zeros: reading them in the other way
 * says why.  The file was cut short, or the disk fails. */
enum tb_status tb_sha256_torn(const struct tb_file *f, uint64_t off, size_t len,
			      struct tb_err *err) TB_MUST_USE;

/* What git calls those bytes: "gitsha1:<40 hex>", the SHA-1 of "blob LENGTH", a NUL and
 * them.  For what comes piece by piece tb_sha256_add() is the same. */
enum tb_status tb_gitsha1_init(struct tb_sha256 *s, uint64_t size, struct tb_err *err) TB_MUST_USE;
void tb_gitsha1_done(struct tb_sha256 *s, char digest[TB_DIGEST_MAX]);
enum tb_status tb_gitsha1_file(const struct tb_file *f, struct tb_job *job,
			       char digest[TB_DIGEST_MAX], struct tb_err *err) TB_MUST_USE;
#endif
