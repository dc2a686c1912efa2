#include "config.h"

#include "src/base/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "src/base/file.h"
#include "src/base/job.h"

#define CHUNK (1u << 20)	/* fits the second-level cache; a cancel waits for one */

enum tb_status
tb_sha256_init(struct tb_sha256 *s, struct tb_err *err)
{
	s->ctx = EVP_MD_CTX_new();
	if (!s->ctx || EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL) != 1) {
		tb_sha256_free(s);
		return tb_fail(err, TB_ENOMEM, "libcrypto gives no SHA-256");
	}
	return TB_OK;
}

void
tb_sha256_add(struct tb_sha256 *s, const void *data, size_t len)
{
	EVP_DigestUpdate(s->ctx, data, len);
}

static void
hex(const unsigned char *md, char digest[TB_DIGEST_MAX])
{
	static const char digits[] = "0123456789abcdef";
	char *p = digest;

	for (const char *c = "sha256:"; *c; c++)
		*p++ = *c;
	for (int i = 0; i < TB_SHA256_LEN; i++) {
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
	hex(md, digest);
	tb_sha256_free(s);
}

void
tb_sha256_free(struct tb_sha256 *s)
{
	EVP_MD_CTX_free(s->ctx);
	s->ctx = NULL;
}

void
tb_sha256_bytes(const void *data, size_t len, char digest[TB_DIGEST_MAX])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_Digest(data, len, md, NULL, EVP_sha256(), NULL);
	hex(md, digest);
}

enum tb_status
tb_sha256_file(const struct tb_file *f, struct tb_job *job, char digest[TB_DIGEST_MAX],
	       struct tb_err *err)
{
	struct tb_sha256 s = { 0 };
	enum tb_status status = tb_sha256_init(&s, err);
	char *buf = malloc(CHUNK);

	if (!status && !buf)
		status = tb_nomem(err);
	(void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (uint64_t off = 0; !status && off < f->id.size; ) {
		size_t n = f->id.size - off < CHUNK ? (size_t)(f->id.size - off) : CHUNK;

		status = tb_job_check(job, err);
		if (!status)
			status = tb_file_read(f, off, buf, n, err);
		if (!status) {
			tb_sha256_add(&s, buf, n);
			tb_job_step(job, n, 0);
			off += n;
		}
	}
	free(buf);
	if (status)
		tb_sha256_free(&s);
	else
		tb_sha256_done(&s, digest);
	return status;
}
