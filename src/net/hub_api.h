/* hub_api.h - asking a Hugging Face hub: what a revision is, its files, and their bytes.
 *
 * The hub is $HF_ENDPOINT, or https://huggingface.co.  Its token is shown to it alone: files come
 * from other hosts, which it leads to, without one. */
#ifndef TBTUI_NET_HUB_API_H
#define TBTUI_NET_HUB_API_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/net/http.h"
#include "src/net/hub_files.h"

struct tb_job;

/* A repository of a hub.  Threads may share it, each with a struct http of its own. */
struct hub;
/* repo: "ORG/NAME"; trust is borrowed, NULL: the certificates of this machine. */
enum tb_status hub_new(struct hub **out, const char *repo, const struct http_trust *trust,
		       struct tb_err *err) TB_MUST_USE;
void hub_free(struct hub *h);
const char *hub_host(const struct hub *h);	/* "huggingface.co", for sentences */

/* The commit that a branch, a tag or a commit's own name means by now. */
enum tb_status hub_commit(struct hub *h, struct http *http, const char *revision, struct tb_job *job,
			  char commit[41], struct tb_err *err) TB_MUST_USE;
/* Its branches, then its tags, as the hub has them; 5000 at most. */
enum tb_status hub_refs(struct hub *h, struct http *http, struct tb_job *job, struct tb_names *out,
			struct tb_err *err) TB_MUST_USE;
/* All its files, sorted. */
enum tb_status hub_list(struct hub *h, struct http *http, const char *commit, struct tb_job *job,
			struct hub_files *out, struct tb_err *err) TB_MUST_USE;

struct hub_range {
	const struct hub_file *file;
	uint64_t off, len;		/* wanted of it; len > 0 */
};
/* Gives fn the bytes as stretch.h has it; that fewer came is an error, after those. */
enum tb_status hub_get(struct hub *h, struct http *http, const char *commit,
		       const struct hub_range *want, http_body_fn *fn, void *arg, struct tb_job *job,
		       struct http_fate *fate, struct tb_err *err) TB_MUST_USE;

/* What a hub's refusal means, and what to do: of `what` ("org/name at huggingface.co"); fails
 * always. */
enum tb_status hub_refusal(const struct http_answer *a, const char *what, const char *revision,
			   bool token, struct tb_err *err);
/* The address behind rel="next" of a Link header, in fresh memory; NULL: there is none. */
char *hub_next_page(const char *link);
#endif
