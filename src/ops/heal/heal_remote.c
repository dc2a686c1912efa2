/* heal_remote.c - bytes from the registries that models come from: of the blob that is damaged, where
 * the sums of its pieces are known, only what differs. */
#include "config.h"

#include "src/ops/heal/heal_run.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "db/sums.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/sums.h"
#include "src/base/text.h"
#include "src/net/patience.h"
#include "src/net/registry.h"
#include "src/net/url.h"

#define PIECE (1u << 20)

/* A repository of a registry. */
struct heal_remote {
	struct heal_remote *next;
	char *name;		/* owned, as are the others: as image_name_parse() understands it */
	struct registry *registry;
	struct http *http;
};

bool
heal_is_address(const char *from)
{
	return url_is(from) || tb_starts(from, "docker://");
}

static void
remote_free(struct heal_remote *m)
{
	registry_free(m->registry);
	http_free(m->http);
	free(m->name);
	free(m);
}

void
heal_remotes_free(struct heal_plan *plan)
{
	for (struct heal_remote *m = plan->remotes, *next; m; m = next) {
		next = m->next;
		remote_free(m);
	}
	plan->remotes = NULL;
}

const char *
heal_remote_name(const struct heal_plan *plan, size_t i)
{
	const struct heal_remote *m = plan->remotes;

	while (m && i--)
		m = m->next;
	return m ? m->name : NULL;
}

/* ---- who is asked ---- */

static enum tb_status
remote_fill(struct heal_remote *m, const struct heal_run *r, struct tb_err *err)
{
	struct config_registry said;
	struct registry_opts opts;
	struct image_name n;
	enum tb_status status = image_name_parse(&n, m->name, err);

	if (status)
		return status;
	config_registry_opts(&r->ctx->config, &n, r->req->insecure, r->req->skip_verify, &said, &opts);
	status = registry_new(&m->registry, &n, &opts, err);
	image_name_free(&n);
	return status ? status : http_new(&m->http, err);
}

/* The repository of that name, asked before or not. */
static enum tb_status
remote_of(struct heal_run *r, const char *name, struct heal_remote **out, struct tb_err *err)
{
	struct heal_remote *m = r->plan->remotes;
	enum tb_status status;

	while (m && strcmp(m->name, name) != 0)
		m = m->next;
	*out = m;
	if (m)
		return TB_OK;
	if (!(m = tb_calloc(1, sizeof(*m))))
		return tb_nomem(err);
	m->name = tb_strdup(name);
	status = m->name ? remote_fill(m, r, err) : tb_nomem(err);
	if (status) {
		remote_free(m);
		return status;
	}
	m->next = r->plan->remotes;
	*out = r->plan->remotes = m;
	return TB_OK;
}

/* Where the place of a manifest says that the model comes from: STORE/manifests/HOST/NS/MODEL/TAG.
 * In fresh memory; *out NULL: it has no such place. */
static enum tb_status
manifest_origin(const struct model_loc *loc, char **out, struct tb_err *err)
{
	size_t n = strlen(loc->root);
	const char *rest, *tag;

	*out = NULL;
	if (!n || strncmp(loc->path, loc->root, n) || strncmp(loc->path + n, "/manifests/", 11))
		return TB_OK;
	rest = loc->path + n + 11;
	if (!(tag = strrchr(rest, '/')))
		return TB_OK;
	*out = tb_asprintf("%.*s:%s", (int)(tag - rest), rest, tag + 1);
	return *out ? TB_OK : tb_nomem(err);
}

/* ---- has it the blob, and what of it is wanted ---- */

static enum tb_status
no_more(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	(void)p;
	(void)n;
	(void)err;
	*enough = *(bool *)arg = true;
	return TB_OK;
}

/* Its first byte is asked for: who leads to another server with a signed address signs no HEAD. */
static enum tb_status
has_blob(struct heal_run *r, struct heal_remote *m, const struct heal_item *item, bool *there,
	 struct tb_err *why)
{
	const struct registry_range first = { .digest = item->digest, .size = item->size, .len = 1 };
	struct http_fate fate;
	enum tb_status status = registry_blob(m->registry, m->http, &first, no_more, there, r->job,
					      &fate, why);

	*there |= fate.whole;
	return status == TB_ECANCEL || status == TB_ENOMEM ? status : TB_OK;
}

static enum tb_status
recall_sums(const struct heal_run *r, const struct heal_item *item, struct tb_sums *out,
	    struct tb_err *err)
{
	struct db *db = NULL;
	enum tb_status status;

	*out = (struct tb_sums){ 0 };
	if (tb_absent(r->ctx->db_path))
		return TB_OK;
	status = db_open_read(&db, r->ctx->db_path, err);
	if (!status)
		status = db_sums_get(db, item->digest, out, err);
	db_close(db);
	return status == TB_ENOMEM ? status : TB_OK;	/* without them all of it comes */
}

/* The first byte of the first piece that the file is too short for; its size: of none. */
static uint64_t
cut_at(const struct tb_sums *sums, const struct tb_file *f)
{
	struct tb_piece p = { 0 };

	while (tb_sums_next(sums, &p))
		if (p.off + p.len > f->id.size)
			return p.off;
	return sums->size;
}

static enum tb_status
keep_ranges(struct heal_run *r, struct heal_item *item, const struct tb_places *bad, uint64_t cut,
	    struct tb_err *err)
{
	struct heal_range *v = tb_arena_get(&r->plan->mem, (bad->n + 1) * sizeof(*v));
	uint64_t bytes = item->size - cut;
	size_t n = 0;

	if (!v)
		return tb_nomem(err);
	for (size_t i = 0; i < bad->n; i++) {
		v[n++] = (struct heal_range){ bad->v[i].off, bad->v[i].len };
		bytes += bad->v[i].len;
	}
	if (cut < item->size)
		v[n++] = (struct heal_range){ cut, item->size - cut };
	if (!n || bytes > item->size / 2)
		return TB_OK;
	item->ranges = v;
	item->nranges = n;
	item->come = bytes;
	return TB_OK;
}

/* Which stretches differ from what they were; none: all of it has to come. */
static enum tb_status
find_ranges(struct heal_run *r, struct heal_item *item, struct tb_err *err)
{
	struct tb_places bad = { 0 };
	struct tb_sums sums;
	struct tb_file f = { .fd = -1 };
	enum tb_status status = TB_OK;
	struct tb_err why;

	item->come = item->size;
	if (item->wrong == HEAL_MISSING || item->wrong == HEAL_UNREADABLE)
		return TB_OK;
	if ((status = recall_sums(r, item, &sums, err)))
		return status;
	if (sums.n && sums.size == item->size && !tb_file_open(&f, item->path, NULL)) {
		status = tb_sums_compare(&sums, &f, r->job, &bad, &why);
		if (!status)
			status = keep_ranges(r, item, &bad, cut_at(&sums, &f), &why);
		tb_file_close(&f);
	}
	tb_places_free(&bad);
	tb_sums_free(&sums);
	return status == TB_ENOMEM || status == TB_ECANCEL ? tb_pass(err, &why) : TB_OK;
}

/* Asks one; what it says is the item's `why` if it has not what is wanted. */
static enum tb_status
ask_remote(struct heal_run *r, struct heal_item *item, const char *name, struct tb_err *why)
{
	struct heal_remote *m;
	bool there = false;
	enum tb_status status = remote_of(r, name, &m, why);

	if (!status)
		status = has_blob(r, m, item, &there, why);
	if (status || !there)
		return status;
	item->source = tb_arena_str(&r->plan->mem, name);
	item->from = "registry";
	item->remote = m;
	return item->source ? find_ranges(r, item, why) : tb_nomem(why);
}

/* Where the model comes from, then where others do that have the blob in common: those that
 * were named first, for a registry that does not answer keeps people waiting. */
static enum tb_status
ask_origins(struct heal_run *r, struct heal_item *item, uint32_t first, struct tb_err *why)
{
	enum tb_status status = TB_OK;

	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0; i < r->content.nmodels && !item->remote; i++) {
			const struct content_model *m = &r->content.models[i];
			char *name = NULL;

			if (m->wanted != !round)
				continue;
			status = manifest_origin(&m->loc, &name, why);
			if (!status && name && (i == first || heal_names(&m->loc, item->digest)))
				status = ask_remote(r, item, name, why);
			free(name);
			if (status == TB_ECANCEL || status == TB_ENOMEM)
				return status;
		}
	}
	return status;
}

static enum tb_status
ask_for(struct heal_run *r, struct heal_item *item, uint32_t model, struct tb_err *err)
{
	struct tb_err why = { 0 };
	enum tb_status status = TB_OK;

	tb_job_what(r->job, "%s", item->model);
	for (size_t i = 0; i < r->req->nfrom && !item->remote && status != TB_ECANCEL &&
	     status != TB_ENOMEM; i++)
		if (heal_is_address(r->req->from[i]))
			status = ask_remote(r, item, r->req->from[i], &why);
	if (status != TB_ECANCEL && status != TB_ENOMEM && !item->remote && r->req->remote)
		status = ask_origins(r, item, model, &why);
	if (status == TB_ECANCEL || status == TB_ENOMEM)
		return tb_pass(err, &why);
	if (!item->remote && *why.msg && !(item->why = tb_arena_str(&r->plan->mem, why.msg)))
		return tb_nomem(err);
	return TB_OK;
}

/* Somebody may still want to ask there. */
static enum tb_status
tell_origin(struct heal_run *r, struct heal_item *item, uint32_t model, struct tb_err *err)
{
	char *name = NULL;
	enum tb_status status = manifest_origin(&r->content.models[model].loc, &name, err);

	if (!status && name && !(item->origin = tb_arena_str(&r->plan->mem, name)))
		status = tb_nomem(err);
	free(name);
	return status;
}

enum tb_status
heal_find_remote(struct heal_run *r, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < r->plan->n && !status; i++) {
		struct heal_item *item = &r->plan->items[i];

		if (!item->source && !item->npatches && !item->why && item->size && !item->manifest &&
		    tb_starts(item->digest, "sha256:")) {
			status = ask_for(r, item, r->of[i]->model, err);
			if (!status && !item->remote && !r->req->remote)
				status = tell_origin(r, item, r->of[i]->model, err);
		}
	}
	return status;
}

/* ---- the bytes ---- */

struct bringing {
	const struct heal_item *item;
	struct tb_out *o;
	struct tb_job *job;
	bool whole;			/* the registry knows no ranges */
	uint64_t skip;			/* bytes that come before those wanted */
};

static enum tb_status
write_piece(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct bringing *b = arg;
	size_t gone = b->skip < n ? (size_t)b->skip : n;

	(void)enough;
	b->skip -= gone;
	tb_job_step(b->job, n - gone, 0);
	return tb_out_write(b->o, p + gone, n - gone, err);
}

/* The next bytes, to `end`; what breaks off goes on where it was.  Of a registry without ranges
 * the blob comes from its start, once: then also what is behind `end`. */
static enum tb_status
bring(struct bringing *b, uint64_t end, struct tb_err *err)
{
	const struct heal_item *item = b->item;
	struct patience patience = { .kind = PATIENCE_BYTES };
	struct http_fate fate;
	enum tb_status status = TB_OK;

	while (b->o->pos < end) {
		uint64_t at = b->o->pos, off = b->whole ? 0 : at;
		const struct registry_range want = { .digest = item->digest, .size = item->size, .off = off,
						     .len = (b->whole ? item->size : end) - off };
		double seconds;

		b->skip = at - off;
		status = registry_blob(item->remote->registry, item->remote->http, &want, write_piece, b,
				       b->job, &fate, err);
		if (status && fate.whole && !b->whole) {
			b->whole = true;
			continue;
		}
		if (b->o->pos > at)
			patience.tries = 0;
		if (!status || !patience_left(&patience, &fate, &seconds))
			return status;
		if ((status = patience_wait(seconds, b->job, err)))
			return status;
	}
	return status;
}

/* What is right in the old file. */
static enum tb_status
copy_to(struct bringing *b, const struct tb_file *old, uint64_t end, struct tb_err *err)
{
	char *buf = malloc(PIECE);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	while (!status && b->o->pos < end) {
		uint64_t left = end - b->o->pos;
		size_t n = left < PIECE ? (size_t)left : PIECE;

		status = tb_job_check(b->job, err);
		if (!status)
			status = tb_file_read(old, b->o->pos, buf, n, err);
		if (!status)
			status = tb_out_write(b->o, buf, n, err);
		tb_job_step(b->job, n, 0);
	}
	free(buf);
	return status;
}

enum tb_status
heal_bring(const struct heal_item *item, struct tb_out *o, struct tb_job *job, struct tb_err *err)
{
	struct bringing b = { .item = item, .o = o, .job = job };
	struct tb_file old;
	enum tb_status status;

	if (!item->nranges)
		return bring(&b, item->size, err);
	if ((status = tb_file_open(&old, item->path, err)))
		return status;
	for (size_t i = 0; i < item->nranges && !status; i++) {
		const struct heal_range *p = &item->ranges[i];

		status = copy_to(&b, &old, p->off, err);
		if (!status)
			status = bring(&b, p->off + p->len, err);
	}
	if (!status)
		status = copy_to(&b, &old, item->size, err);
	tb_file_close(&old);
	return status;
}
