/* dedupe_plan.c - which files are equal, and what can be done about it. */
#include "config.h"

#include "src/ops/dedupe/dedupe.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/blob.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/content/content.h"

#define PIECE (1u << 20)

/* A name of a file. */
struct name {
	const struct content_file *f;
	char digest[TB_DIGEST_MAX];	/* what it is known or found to hold; "": unread */
	bool addressed;			/* it is called by its content */
	bool weights;
	bool young;
};

struct planning {
	struct op_ctx *ctx;
	const struct dedupe_request *req;
	struct tb_job *job;
	struct dedupe_plan *plan;
	struct content content;
	struct name *names;		/* owned: files that may have an equal */
	size_t n;
	size_t cap;			/* of plan->items */
	struct dedupe_item *items;	/* owned, until they are the plan's */
};

const char *
dedupe_how_word(enum dedupe_how how)
{
	return how == DEDUPE_REFLINK ? "reflink" : "hardlink";
}

/* ---- files that may be equal ---- */

static bool
is_file_itself(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode);
}

#define ORDER(a, b) if ((a) != (b)) return (a) < (b) ? -1 : 1

static int
by_size(const void *x, const void *y)
{
	const struct content_file *a = ((const struct name *)x)->f, *b = ((const struct name *)y)->f;

	ORDER(a->id.dev, b->id.dev);
	ORDER(b->id.size, a->id.size);
	ORDER(a->id.ino, b->id.ino);
	return strcmp(a->path, b->path);
}

static int
by_content(const void *x, const void *y)
{
	const struct name *a = x, *b = y;
	int d;

	ORDER(a->f->id.dev, b->f->id.dev);
	ORDER(b->f->id.size, a->f->id.size);
	d = strcmp(a->digest, b->digest);
	if (d)
		return d;
	ORDER(a->f->id.ino, b->f->id.ino);
	return strcmp(a->f->path, b->f->path);
}

/* Those of one file system and size that are more than one file. */
static void
keep_pairs(struct planning *p)
{
	size_t kept = 0;

	for (size_t i = 0, end; i < p->n; i = end) {
		const struct tb_ident *id = &p->names[i].f->id;
		bool several = false;

		for (end = i + 1; end < p->n && p->names[end].f->id.dev == id->dev &&
		     p->names[end].f->id.size == id->size; end++)
			several |= p->names[end].f->id.ino != id->ino;
		for (size_t k = i; several && k < end; k++)
			p->names[kept++] = p->names[k];
	}
	p->n = kept;
}

static enum tb_status
list_names(struct planning *p, struct tb_err *err)
{
	for (size_t i = 0; i < p->content.nmodels; i++)
		p->plan->failed += p->content.models[i].failure != NULL;
	for (size_t i = 0; i < p->content.n; i++)
		p->plan->failed += p->content.files[i].unread;
	p->names = tb_calloc(p->content.n + 1, sizeof(*p->names));
	if (!p->names)
		return tb_nomem(err);
	for (size_t i = 0; i < p->content.n; i++) {
		const struct content_file *f = &p->content.files[i];
		struct name *n = &p->names[p->n];

		/* what no model uses goes by "prune" */
		if (f->missing || f->unread || f->manifest || f->model == CONTENT_NONE ||
		    !is_file_itself(f->path))
			continue;
		p->plan->files++;
		if (!f->id.size || f->id.size < p->req->min)
			continue;
		*n = (struct name){ .f = f, .addressed = *f->digest,
				    .weights = format_of_name(tb_path_name(f->path)) != NULL };
		/* a file that is called by its content is whole once it has that name */
		n->young = !n->addressed && (db_young(f->id.mtime_ns) || db_young(f->ctime_ns));
		memcpy(n->digest, content_known(f), sizeof(n->digest));
		p->n++;
	}
	qsort(p->names, p->n, sizeof(*p->names), by_size);
	keep_pairs(p);
	return TB_OK;
}

/* Of what nobody knows, and of what git's names say, which others do not use. */
static enum tb_status
hash_name(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct planning *p = arg;
	struct name *n = &p->names[i];
	struct tb_err why;
	struct tb_file f;
	enum tb_status status;

	(void)worker;
	if (tb_starts(n->digest, "sha256:"))
		return TB_OK;
	*n->digest = 0;
	tb_job_what(p->job, "%s", n->f->path);
	status = tb_file_open(&f, n->f->path, &why);
	if (!status) {
		status = tb_sha256_file(&f, p->job, NULL, n->digest, &why);
		tb_file_close(&f);
	}
	if (status) {
		*n->digest = 0;
		__atomic_fetch_add(&p->plan->failed, 1, __ATOMIC_RELAXED);
	}
	return status == TB_ENOMEM || status == TB_ECANCEL ? tb_pass(err, &why) : TB_OK;
}

static enum tb_status
hash_unknown(struct planning *p, struct tb_err *err)
{
	enum tb_status status;

	for (size_t i = 0; i < p->n; i++)
		if (!tb_starts(p->names[i].digest, "sha256:"))
			p->plan->hashed += p->names[i].f->id.size;
	tb_job_total(p->job, p->plan->hashed, 0);
	status = tb_pool_try(p->ctx->pool, p->n, hash_name, p, p->job, err);
	qsort(p->names, p->n, sizeof(*p->names), by_content);
	return status;
}

/* ---- one of them stays ---- */

/* The names that are known of one file. */
struct inode { size_t first, end; bool addressed, weights, young, rw; };

static struct inode
inode_at(const struct planning *p, size_t first, size_t end)
{
	struct inode in = { .first = first, .end = first, .addressed = true, .weights = true };

	for (; in.end < end && p->names[in.end].f->id.ino == p->names[first].f->id.ino; in.end++) {
		const struct name *n = &p->names[in.end];

		in.addressed &= n->addressed;
		in.weights &= n->addressed || n->weights;
		in.young |= n->young;
	}
	return in;
}

/* The more names it has that nobody here knows, the less is gained by taking it away; what is
 * called by its content comes before what is not. */
static bool
is_better(const struct planning *p, const struct inode *a, const struct inode *b)
{
	const struct content_file *x = p->names[a->first].f, *y = p->names[b->first].f;
	uint64_t more = x->nlink - (a->end - a->first), less = y->nlink - (b->end - b->first);

	if (more != less)
		return more > less;
	return a->addressed != b->addressed ? a->addressed : strcmp(x->path, y->path) < 0;
}

static enum tb_status
describe(struct planning *p, const struct content_file *f, struct dedupe_file *out,
	 struct tb_err *err)
{
	struct tb_arena *mem = &p->plan->mem;
	char *store = content_store(&p->content, f);

	*out = (struct dedupe_file){
		.path = tb_arena_str(mem, f->path), .store = store ? tb_arena_str(mem, store) : NULL,
		.model = tb_arena_str(mem, p->content.models[f->model].loc.name),
		.dev = f->id.dev, .ino = f->id.ino, .size = f->id.size, .nlink = f->nlink,
		.mtime_ns = f->id.mtime_ns, .ctime_ns = f->ctime_ns,
		.uid = f->uid, .gid = f->gid, .mode = f->mode,
	};
	free(store);
	return out->path && out->store && out->model ? TB_OK : tb_nomem(err);
}

/* A question without bytes: does it know how? */
static bool
can_reflink(int a, int b)
{
	struct { struct file_dedupe_range head; struct file_dedupe_range_info one; } ask = {
		.head = { .dest_count = 1 }, .one = { .dest_fd = b },
	};

	return ioctl(a, FIDEDUPERANGE, &ask) == 0 && ask.one.status == 0;
}

static enum tb_status
are_equal(struct planning *p, const struct tb_file *a, const struct tb_file *b, bool *yes,
	  struct tb_err *err)
{
	char *buf = malloc(2 * PIECE);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	*yes = a->id.size == b->id.size;
	for (uint64_t off = 0; !status && *yes && off < a->id.size; off += PIECE) {
		size_t n = a->id.size - off < PIECE ? (size_t)(a->id.size - off) : PIECE;

		status = tb_job_check(p->job, err);
		if (!status)
			status = tb_file_read(a, off, buf, n, err);
		if (!status)
			status = tb_file_read(b, off, buf + PIECE, n, err);
		if (!status)
			*yes = !memcmp(buf, buf + PIECE, n);
		tb_job_step(p->job, n, 0);
	}
	free(buf);
	p->plan->compared += a->id.size;
	return status;
}

/* Why the file is not to go, or NULL.  names: that it has here. */
static const char *
objection(const struct planning *p, const struct inode *in, const struct inode *keep,
	  const struct dedupe_item *item)
{
	const struct dedupe_file *a = &item->keep, *b = &item->file;

	if (item->how == DEDUPE_REFLINK)
		return in->young ? "it is less than an hour old, and may still be written" : NULL;
	if (p->req->reflink_only)
		return "this file system has no reflinks";
	if (in->young || keep->young)
		return "one of them is less than an hour old, and may still be written";
	if (!in->weights || !keep->weights)
		return "one of them is a file that may be edited, and this file system has no reflinks";
	if (a->uid != b->uid || a->gid != b->gid || a->mode != b->mode)
		return "their owner or permissions differ";
	if (b->nlink != in->end - in->first)
		return "it has other names outside of these stores: nothing would be freed";
	return NULL;
}

static enum tb_status
add_items(struct planning *p, const struct inode *keep, const struct inode *in, uint64_t set,
	  const struct tb_file *a, struct tb_err *err)
{
	struct dedupe_item item = { .set = set, .how = DEDUPE_LINK };
	const struct content_file *f = p->names[in->first].f;
	enum tb_status status = describe(p, p->names[keep->first].f, &item.keep, err);
	bool equal = false;
	struct tb_err why;
	struct tb_file b;

	if (!status)
		status = describe(p, f, &item.file, err);
	item.digest = tb_arena_str(&p->plan->mem, p->names[in->first].digest);
	if (status || !item.digest)
		return status ? status : tb_nomem(err);
	status = tb_file_open(&b, f->path, &why);
	if (!status && dedupe_is_shared(a->fd, b.fd)) {
		tb_file_close(&b);
		return TB_OK;
	}
	if (!status && can_reflink(a->fd, b.fd))
		item.how = DEDUPE_REFLINK;
	item.why = status ? "it cannot be read" : objection(p, in, keep, &item);
	if (!status && !item.why)
		status = are_equal(p, a, &b, &equal, &why);
	tb_file_close(&b);
	p->plan->failed += status != TB_OK;
	if (status == TB_ENOMEM || status == TB_ECANCEL)
		return tb_pass(err, &why);
	if (!item.why && (status || !equal))
		item.why = status ? "it cannot be read" : "their names or hashes are equal, but their "
			   "bytes are not: \"tbtui verify\" says which is damaged";
	/* all names of a file go over to the other, or its bytes stay; reflinks know no names */
	for (size_t k = in->first; !status && k < in->end; k++) {
		if (k > in->first && item.how == DEDUPE_REFLINK)
			break;
		if (!tb_grow(&p->items, &p->cap, p->plan->n + 1, sizeof(*p->items)))
			return tb_nomem(err);
		item.bytes = k == in->first && !item.why ? item.file.size : 0;
		status = describe(p, p->names[k].f, &item.file, err);
		p->items[p->plan->n++] = item;
	}
	return status == TB_ENOMEM ? status : TB_OK;
}

/* names[first .. end) hold the same, as far as one knows. */
static enum tb_status
plan_set(struct planning *p, size_t first, size_t end, struct tb_err *err)
{
	struct inode keep = inode_at(p, first, end), in;
	enum tb_status status;
	size_t before = p->plan->n;
	struct tb_file a;

	for (size_t i = keep.end; i < end; i = in.end) {
		in = inode_at(p, i, end);
		if (is_better(p, &in, &keep))
			keep = in;
	}
	status = tb_file_open(&a, p->names[keep.first].f->path, NULL);
	p->plan->failed += status != TB_OK;
	if (status)
		return status == TB_ENOMEM ? tb_nomem(err) : TB_OK;
	for (size_t i = first; !status && i < end; i = in.end) {
		in = inode_at(p, i, end);
		if (in.first != keep.first)
			status = add_items(p, &keep, &in, p->plan->sets, &a, err);
	}
	p->plan->sets += p->plan->n > before;
	tb_file_close(&a);
	return status;
}

static enum tb_status
plan_sets(struct planning *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0, end; !status && i < p->n; i = end) {
		const struct name *n = &p->names[i];

		for (end = i + 1; end < p->n && p->names[end].f->id.dev == n->f->id.dev &&
		     p->names[end].f->id.size == n->f->id.size &&
		     !strcmp(p->names[end].digest, n->digest); end++)
			;
		if (*n->digest && p->names[end - 1].f->id.ino != n->f->id.ino)
			status = plan_set(p, i, end, err);
	}
	return status;
}

static enum tb_status
finish(struct planning *p, struct tb_err *err)
{
	struct dedupe_plan *plan = p->plan;

	plan->items = tb_arena_get(&plan->mem, (plan->n + 1) * sizeof(*plan->items));
	if (!plan->items)
		return tb_nomem(err);
	for (size_t i = 0; i < plan->n; i++) {
		const struct dedupe_item *item = &p->items[i];

		plan->items[i] = *item;
		plan->todo += !item->why;
		plan->bytes += item->bytes;
		if (!item->why && item->how == DEDUPE_LINK) {
			plan->links++;
			plan->link_bytes += item->bytes;
		}
	}
	return content_unread(&p->content, &plan->mem, &plan->unread, &plan->nunread, err);
}

enum tb_status
op_dedupe_plan(struct op_ctx *ctx, const struct dedupe_request *req, struct tb_job *job,
	       struct dedupe_plan *out, struct tb_err *err)
{
	struct planning p = { .ctx = ctx, .req = req, .job = job, .plan = out };
	double from = tb_monotonic();
	enum tb_status status;

	*out = (struct dedupe_plan){ 0 };
	status = content_collect(ctx, NULL, 0, req->recover, job, &p.content, err);
	if (!status)
		status = list_names(&p, err);
	if (!status)
		status = hash_unknown(&p, err);
	if (!status)
		status = plan_sets(&p, err);
	if (!status)
		status = finish(&p, err);
	out->seconds = tb_monotonic() - from;
	free(p.names);
	free(p.items);
	content_free(&p.content);
	if (status)
		dedupe_free(out);
	return status;
}

void
dedupe_free(struct dedupe_plan *plan)
{
	tb_arena_free(&plan->mem);
	*plan = (struct dedupe_plan){ 0 };
}
