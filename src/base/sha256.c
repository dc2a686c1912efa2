#include "config.h"

#include "src/base/sha256.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/base/job.h"

#define WINDOW (8u << 20)	/* mapped at a time */
#define CHUNK (1u << 20)	/* a cancel waits for one */

static enum tb_status
digest_start(struct tb_sha256 *s, const EVP_MD *kind, const char *name, struct tb_err *err)
{
	/* libcrypto crashes when it is used although there was no memory to set it up */
	bool ready = OPENSSL_init_crypto(0, NULL) == 1 && OSSL_LIB_CTX_get0_global_default();

	s->ctx = ready ? EVP_MD_CTX_new() : NULL;
	if (s->ctx && EVP_DigestInit_ex(s->ctx, kind, NULL) == 1)
		return TB_OK;
	tb_sha256_free(s);
	return tb_fail(err, TB_ENOMEM, "out of memory: libcrypto gives no %s", name);
}

enum tb_status
tb_sha256_init(struct tb_sha256 *s, struct tb_err *err)
{
	return digest_start(s, EVP_sha256(), "SHA-256", err);
}

void
tb_sha256_add(struct tb_sha256 *s, const void *data, size_t len)
{
	EVP_DigestUpdate(s->ctx, data, len);
}

void
tb_digest_text(const char *prefix, const void *bytes, size_t n, char digest[TB_DIGEST_MAX])
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *md = bytes;
	char *p = digest + strlen(prefix);

	memcpy(digest, prefix, strlen(prefix));
	for (size_t i = 0; i < n; i++) {
		*p++ = digits[md[i] >> 4];
		*p++ = digits[md[i] & 15];
	}
	*p = 0;
}

bool
tb_digest_bytes(const char *digest, uint8_t out[TB_SHA256_LEN])
{
	static const char digits[] = "0123456789abcdef";
	const char *hex = digest + strlen("sha256:");

	if (strlen(digest) != strlen("sha256:") + 2 * TB_SHA256_LEN ||
	    strspn(hex, digits) != 2 * TB_SHA256_LEN)
		return false;
	for (size_t i = 0; i < TB_SHA256_LEN; i++)
		out[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
				   (strchr(digits, hex[2 * i + 1]) - digits));
	return true;
}

void
tb_sha256_done(struct tb_sha256 *s, char digest[TB_DIGEST_MAX])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_DigestFinal_ex(s->ctx, md, NULL);
	tb_digest_text("sha256:", md, TB_SHA256_LEN, digest);
	tb_sha256_free(s);
}

void
tb_sha256_free(struct tb_sha256 *s)
{
	EVP_MD_CTX_free(s->ctx);
	s->ctx = NULL;
}

enum tb_status
tb_md5_init(struct tb_sha256 *s, struct tb_err *err)
{
	return digest_start(s, EVP_md5(), "MD5", err);
}

void
tb_md5_done(struct tb_sha256 *s, uint8_t out[TB_MD5_LEN])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_DigestFinal_ex(s->ctx, md, NULL);
	memcpy(out, md, TB_MD5_LEN);
	tb_sha256_free(s);
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

enum tb_status
tb_sha256_torn(const struct tb_file *f, uint64_t off, size_t len, struct tb_err *err)
{
	char *buf = malloc(len);
	enum tb_status status = buf ? tb_file_read(f, off, buf, len, err) : tb_nomem(err);

	free(buf);
	return status ? status : tb_fail(err, TB_EIO, "%s: changed while it was read", f->path);
}

/* Mapped, because copying costs an eighth of the time that hashing takes. */
static enum tb_status
add_window(struct tb_sha256 *s, const struct tb_file *f, uint64_t off, size_t len,
	   struct tb_job *job, const struct tb_seen *seen, struct tb_err *err)
{
	struct tb_map map;
	enum tb_status status = tb_map_open(&map, f, off, len, err);

	for (size_t at = 0; !status && at < len; at += CHUNK) {
		size_t n = len - at < CHUNK ? len - at : CHUNK;

		status = tb_job_check(job, err);
		if (!status) {
			tb_sha256_add(s, map.p + at, n);
			if (seen)	/* while it is in the cache */
				seen->fn(seen->arg, off + at, map.p + at, n);
			tb_job_step(job, n, 0);
		}
	}
	if (!status && tb_map_torn(&map))
		status = tb_sha256_torn(f, off, len, err);
	tb_map_close(&map);
	return status;
}

static enum tb_status
add_file(struct tb_sha256 *s, const struct tb_file *f, struct tb_job *job,
	 const struct tb_seen *seen, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct stat now;

	(void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (uint64_t off = 0; !status && off < f->id.size; off += WINDOW) {
		uint64_t left = f->id.size - off;

		status = add_window(s, f, off, left < WINDOW ? (size_t)left : WINDOW, job, seen,
				    err);
	}
	/* Cut within its last page it reads as zeros there without a fault. */
	if (!status && f->id.size && !fstat(f->fd, &now) && (uint64_t)now.st_size < f->id.size)
		status = tb_sha256_torn(f, f->id.size - 1, 1, err);
	return status;
}

enum tb_status
tb_sha256_file(const struct tb_file *f, struct tb_job *job, const struct tb_seen *seen,
	       char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct tb_sha256 s = { 0 };
	enum tb_status status = tb_sha256_init(&s, err);

	if (!status)
		status = add_file(&s, f, job, seen, err);
	if (status)
		tb_sha256_free(&s);
	else
		tb_sha256_done(&s, digest);
	return status;
}

enum tb_status
tb_gitsha1_init(struct tb_sha256 *s, uint64_t size, struct tb_err *err)
{
	enum tb_status status = digest_start(s, EVP_sha1(), "SHA-1", err);
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %ju", (uintmax_t)size) + 1;

	if (!status)
		tb_sha256_add(s, head, (size_t)n);
	return status;
}

void
tb_gitsha1_done(struct tb_sha256 *s, char digest[TB_DIGEST_MAX])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_DigestFinal_ex(s->ctx, md, NULL);
	tb_digest_text("gitsha1:", md, 20, digest);
	tb_sha256_free(s);
}

enum tb_status
tb_gitsha1_file(const struct tb_file *f, struct tb_job *job, char digest[TB_DIGEST_MAX],
		struct tb_err *err)
{
	struct tb_sha256 s = { 0 };
	enum tb_status status = tb_gitsha1_init(&s, f->id.size, err);

	if (!status)
		status = add_file(&s, f, job, NULL, err);
	if (status)
		tb_sha256_free(&s);
	else
		tb_gitsha1_done(&s, digest);
	return status;
}
