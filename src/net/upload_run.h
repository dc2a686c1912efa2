/* upload_run.h - inside src/net: a blob on its way to a registry. */
#ifndef TBTUI_NET_UPLOAD_RUN_H
#define TBTUI_NET_UPLOAD_RUN_H

#include "src/base/sha256.h"
#include "src/net/http.h"
#include "src/net/registry.h"
#include "src/net/upload.h"

#define UPLOAD_ACTIONS "pull,push"
#define UPLOAD_IDLE 60u		/* seconds that bytes may stand still for */
#define UPLOAD_SETTLE 600u	/* or that the registry may think about all of them */

struct upload_run {
	const struct upload *u;
	struct tb_sha256 sha;
	uint64_t hashed;	/* so much of it, from its start */
	bool right;		/* all of it, and that is what it should be */
	bool wrong;		/* it is not, or cannot be read: it is of no use to try again */
	bool again;		/* what failed may work in a moment */
	unsigned lost;		/* sessions that the registry did not know when they were used */
	unsigned pause;		/* seconds that the registry wants to be left alone */
	char *session;		/* where its next piece goes; owned; NULL: nowhere yet */
	uint64_t there;		/* bytes that have arrived in it */
	uint64_t begin, end;	/* what the request on its way sends */
	uint64_t chunk;
	struct upload_sums *sums;	/* of pieces that go elsewhere; NULL */
};

/* A request, with what its failure means for the next try. */
enum tb_status upload_ask(struct upload_run *run, const char *path, struct http_ask *ask,
			  struct http_answer *out, struct tb_err *err) TB_MUST_USE;
/* Its answer is none of those that are wanted: the registry's words, and whether it may change
 * its mind. */
enum tb_status upload_refused(struct upload_run *run, const struct http_answer *a,
			      struct tb_err *err);
/* The session goes on at the Location of the answer, which lies under `name` or (NULL, or there is none)
 * under its usual one. */
enum tb_status upload_follow(struct upload_run *run, const struct http_answer *a, const char *name,
			     struct tb_err *err) TB_MUST_USE;
void upload_forget(struct upload_run *run);	/* the session */
/* A body of [begin, end) in *ask, hashed as it goes. */
void upload_body(struct upload_run *run, struct http_ask *ask);
/* The session's URL with ?digest=…, and `more` behind it; NULL: no memory. */
char *upload_last(const struct upload_run *run, const char *more);

/* upload_ollama.c: MD5 of the pieces that went elsewhere. */
enum tb_status upload_sum(struct upload_sums *s, uint64_t off, const char *p, size_t n,
			  struct tb_err *err) TB_MUST_USE;
void upload_sums_free(struct upload_sums *s);	/* NULL is fine */
/* The whole blob to the address that came with the session, or in pieces that
 * are led elsewhere each. */
enum tb_status upload_direct(struct upload_run *run, const struct http_answer *begun,
			     struct tb_err *err) TB_MUST_USE;
enum tb_status upload_elsewhere(struct upload_run *run, const struct http_answer *led,
				struct tb_err *err) TB_MUST_USE;
char *upload_etag(const struct upload_run *run);	/* "&etag=…"; "" where no piece went elsewhere */
#endif
