#include "config.h"

#include "src/base/sha256.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/base/job.h"

#define WINDOW (8u << 20)	/* mapped at a time */
#define CHUNK (1u << 20)	/* a cancel waits for one */

/* libcrypto crashes when it is used although there was no memory to set it up. */
static bool
ready(void)
{
	return OPENSSL_init_crypto(0, NULL) == 1 && OSSL_LIB_CTX_get0_global_default();
}

enum tb_status
tb_sha256_init(struct tb_sha256 *s, struct tb_err *err)
{
	s->ctx = ready() ? EVP_MD_CTX_new() : NULL;
	if (!s->ctx || EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL) != 1) {
		tb_sha256_free(s);
		return tb_fail(err, TB_ENOMEM, "out of memory: libcrypto gives no SHA-256");
	}
	return TB_OK;
}

void
tb_sha256_add(struct tb_sha256 *s, const void *data, size_t len)
{
	EVP_DigestUpdate(s->ctx, data, len);
}

static void
hex(const char *prefix, const unsigned char *md, int n, char digest[TB_DIGEST_MAX])
{
	static const char digits[] = "0123456789abcdef";
	char *p = digest;

	for (const char *c = prefix; *c; c++)
		*p++ = *c;
	for (int i = 0; i < n; i++) {
		*p++ = digits[md[i] >> 4];
		*p++ = digits[md[i] & 15];
	}
	*p = 0;
}

void
tb_sha256_done(struct tb_sha256 *s, char digest[TB_DIGEST_MAX])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_DigestFinal_ex(s->ctx, md, NULL);
	hex("sha256:", md, TB_SHA256_LEN, digest);
	tb_sha256_free(s);
}

void
tb_sha256_free(struct tb_sha256 *s)
{
	EVP_MD_CTX_free(s->ctx);
	s->ctx = NULL;
}

enum tb_status
tb_sha256_bytes(const void *data, size_t len, char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct tb_sha256 s;
	enum tb_status status = tb_sha256_init(&s, err);

	if (status)
		return status;
	tb_sha256_add(&s, data, len);
	tb_sha256_done(&s, digest);
	return TB_OK;
}

/* The pages that are gone read as zeros.  Reading them in the other way says why: the
 * file was cut short, or the disk fails. */
static enum tb_status
torn(const struct tb_file *f, uint64_t off, size_t len, struct tb_err *err)
{
	char *buf = malloc(len);
	enum tb_status status = buf ? tb_file_read(f, off, buf, len, err) : tb_nomem(err);

	free(buf);
	return status ? status : tb_fail(err, TB_EIO, "%s: changed while it was read", f->path);
}

/* Mapped, because copying costs an eighth of the time that hashing takes. */
static enum tb_status
add_window(struct tb_sha256 *s, const struct tb_file *f, uint64_t off, size_t len,
	   struct tb_job *job, struct tb_err *err)
{
	struct tb_map map;
	enum tb_status status = tb_map_open(&map, f, off, len, err);

	for (size_t at = 0; !status && at < len; at += CHUNK) {
		size_t n = len - at < CHUNK ? len - at : CHUNK;

		status = tb_job_check(job, err);
		if (!status) {
			tb_sha256_add(s, map.p + at, n);
			tb_job_step(job, n, 0);
		}
	}
	if (!status && tb_map_torn(&map))
		status = torn(f, off, len, err);
	tb_map_close(&map);
	return status;
}

static enum tb_status
add_file(struct tb_sha256 *s, const struct tb_file *f, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct stat now;

	(void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (uint64_t off = 0; !status && off < f->id.size; off += WINDOW) {
		uint64_t left = f->id.size - off;

		status = add_window(s, f, off, left < WINDOW ? (size_t)left : WINDOW, job, err);
	}
	/* Cut within its last page it reads as zeros there without a fault. */
	if (!status && f->id.size && !fstat(f->fd, &now) && (uint64_t)now.st_size < f->id.size)
		status = torn(f, f->id.size - 1, 1, err);
	return status;
}

enum tb_status
tb_sha256_file(const struct tb_file *f, struct tb_job *job, char digest[TB_DIGEST_MAX],
	       struct tb_err *err)
{
	struct tb_sha256 s = { 0 };
	enum tb_status status = tb_sha256_init(&s, err);

	if (!status)
		status = add_file(&s, f, job, err);
	if (status)
		tb_sha256_free(&s);
	else
		tb_sha256_done(&s, digest);
	return status;
}

enum tb_status
tb_gitsha1_file(const struct tb_file *f, struct tb_job *job, char digest[TB_DIGEST_MAX],
		struct tb_err *err)
{
	struct tb_sha256 s = { ready() ? EVP_MD_CTX_new() : NULL };
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };
	enum tb_status status = TB_OK;
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %ju", (uintmax_t)f->id.size) + 1;

	if (!s.ctx || EVP_DigestInit_ex(s.ctx, EVP_sha1(), NULL) != 1)
		status = tb_fail(err, TB_ENOMEM, "out of memory: libcrypto gives no SHA-1");
	if (!status)
		EVP_DigestUpdate(s.ctx, head, (size_t)n);
	if (!status)
		status = add_file(&s, f, job, err);
	if (!status && EVP_DigestFinal_ex(s.ctx, md, NULL) != 1)
		status = tb_fail(err, TB_ENOMEM, "out of memory: libcrypto gives no SHA-1");
	if (!status)
		hex("gitsha1:", md, 20, digest);
	tb_sha256_free(&s);
	return status;
}
