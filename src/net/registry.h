/* registry.h - a registry, asked about one repository: the distribution API of Docker and OCI,
 * and what Ollama's does otherwise.
 *
 * Nothing of what it says is believed: manifests and answers have ceilings, digests are
 * compared, ranges must be those that were asked for, its words are cleaned before they are
 * shown.  What shows who asks goes to the origin that was named and nowhere else. */
#ifndef TBTUI_NET_REGISTRY_H
#define TBTUI_NET_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/dir.h"
#include "src/net/http.h"
#include "src/net/image_name.h"

#define REGISTRY_MANIFEST_MAX (4u << 20)	/* bytes: what registries take */
#define REGISTRY_TYPE_MAX 128

struct registry_opts {			/* all borrowed */
	const char *base;		/* its address where the name's host is not it; NULL: it is */
	const char *const *mirrors;	/* addresses, asked first for what is only read; NULL behind
					 * the last; NULL: none */
	bool plain;			/* HTTP without TLS, as the user said */
	bool skip_verify;		/* anybody's certificate, as the user said */
	const char *ca_file;		/* NULL: the machine's certificates alone */
	const char *auth_host;		/* "HOST[:PORT]" that gives its tokens and may have its
					 * password, too; NULL: none but itself */
};

/* Thread-safe; each thread brings a struct http of its own.  o NULL: nothing special. */
struct registry;
enum tb_status registry_new(struct registry **out, const struct image_name *n,
			    const struct registry_opts *o, struct tb_err *err) TB_MUST_USE;
void registry_free(struct registry *r);		/* NULL is fine */
const char *registry_host(const struct registry *r);	/* for sentences; borrowed */
const char *registry_repo(const struct registry *r);

/* One request to the registry itself.  `where`: below /v2/REPO/ ("blobs/sha256:…"), below the server
 * ("/v2/"), or a whole address (what a Location said), which is shown no credentials if it is
 * another server's.  actions: what is wanted of the repository, "pull" or "pull,push".  A 401
 * is answered as auth.h has it; TB_EUSAGE: the user has nothing to answer it with.  Of `ask` all but
 * url, key, auth and trust counts.  TB_OK also for 404 and the like: see registry_error(). */
enum tb_status registry_ask(struct registry *r, struct http *h, const char *where,
			    const char *actions, const struct http_ask *ask, struct tb_job *job,
			    struct http_answer *out, struct tb_err *err) TB_MUST_USE;
/* The same of what is short, again where that may help. */
enum tb_status registry_ask_patiently(struct registry *r, struct http *h, const char *where,
				      const char *actions, const struct http_ask *ask,
				      struct tb_job *job, struct http_answer *out,
				      struct tb_err *err) TB_MUST_USE;
/* What is no 2xx, as a sentence with the server's own words; `what` was asked for ("manifest
 * latest"). */
enum tb_status registry_error(const struct registry *r, const struct http_answer *a,
			      const char *what, struct tb_err *err);

struct registry_manifest {
	struct tb_buf text;		/* its bytes as they came; owned */
	char type[REGISTRY_TYPE_MAX];	/* what it says it is, else what the server says; or "" */
	char digest[TB_DIGEST_MAX];	/* of the bytes */
	bool mirrored;			/* a mirror gave it */
};
/* By a tag or a digest, which is compared; an image manifest or an index of several. */
enum tb_status registry_manifest(struct registry *r, struct http *h, const char *reference,
				 struct tb_job *job, struct registry_manifest *out,
				 struct tb_err *err) TB_MUST_USE;
/* The same, but of an index the image for this machine, or the only one, and no index. */
enum tb_status registry_image(struct registry *r, struct http *h, const char *reference,
			      struct tb_job *job, struct registry_manifest *out,
			      struct tb_err *err) TB_MUST_USE;
void registry_manifest_free(struct registry_manifest *m);

/* The names of its tags, at most some thousand, in order.  TB_ENOENT: it does not list them. */
enum tb_status registry_tags(struct registry *r, struct http *h, struct tb_job *job,
			     struct tb_names *out, struct tb_err *err) TB_MUST_USE;

struct registry_range {
	const char *digest;		/* the blob, and its size as the manifest has it */
	uint64_t size;
	uint64_t off, len;		/* wanted of it; len > 0 */
};
/* Gives fn the bytes as stretch.h has it; fewer are an error, after those. */
enum tb_status registry_blob(struct registry *r, struct http *h, const struct registry_range *want,
			     http_body_fn *fn, void *arg, struct tb_job *job,
			     struct http_fate *fate, struct tb_err *err) TB_MUST_USE;
/* What a mirror gave may have been wrong: none is asked any more. */
void registry_leave_mirrors(struct registry *r);
#endif
