/* upload.h - blobs go to a registry, and behind them the manifest that names them.
 *
 * A registry compares a blob with its digest when it has all of it; it does not come to that with a
 * wrong one: what is sent is hashed on the way, the last piece of what is not as its digest says never
 * goes, and the upload is taken back.  What breaks off goes on from where the registry says that it
 * is, also in a later run; if it does not know any more, from the start. */
#ifndef TBTUI_NET_UPLOAD_H
#define TBTUI_NET_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/err.h"

struct http;
struct registry;
struct tb_job;

/* Exactly n bytes from offset `off` on; in order, but for what has to be sent again. */
typedef enum tb_status upload_read_fn(void *arg, uint64_t off, char *p, size_t n,
				      struct tb_err *err);

/* What may be told of one on its way; each NULL: nobody wants it. */
struct upload_told {
	void (*went)(void *arg, uint64_t off);		/* so much of it has been sent */
	void (*again)(void *arg, const char *why);	/* it is tried again, after a pause */
	void (*keep)(void *arg, const char *session);	/* where to go on with it; NULL: nowhere */
	void *arg;
};

struct upload {				/* all borrowed */
	struct registry *registry;
	struct http *http;
	const char *digest;
	uint64_t size;
	const char *what, *advice;	/* where its bytes are, and what to do if they are wrong: for
					 * messages */
	const char *from;		/* a repository of that registry that may have it; NULL */
	const char *session;		/* that an earlier run was told to keep; NULL */
	upload_read_fn *read;
	void *arg;
	struct upload_told told;
	uint64_t chunk;			/* of one request, if it is longer; 0: UPLOAD_CHUNK */
	bool ollama;			/* see upload_is_ollama() */
	struct tb_job *job;
};
#define UPLOAD_CHUNK (UINT64_C(64) << 20)

enum upload_how { UPLOAD_THERE, UPLOAD_MOUNTED, UPLOAD_SENT };
/* TB_EFORMAT: its bytes are not those of the digest. */
enum tb_status upload_blob(const struct upload *u, enum upload_how *how, struct tb_err *err)
	TB_MUST_USE;
/* Has the repository that blob?  Of wrong length is no. */
enum tb_status upload_has(const struct upload *u, bool *has, struct tb_err *err) TB_MUST_USE;

/* Ollama's takes blobs in other ways as well, at other servers; it is known by having no "/v2/". */
enum tb_status upload_is_ollama(struct registry *r, struct http *h, bool *is, struct tb_job *job,
				struct tb_err *err) TB_MUST_USE;

/* The manifest, byte for byte, under a tag or its digest.  Blobs first. */
struct upload_manifest {		/* borrowed */
	const char *reference, *type, *digest, *text;
	size_t len;
	bool *lists;			/* does the registry list by itself what refers to others? NULL */
};
enum tb_status upload_manifest(struct registry *r, struct http *h, const struct upload_manifest *m,
			       struct tb_job *job, struct tb_err *err) TB_MUST_USE;
#endif
