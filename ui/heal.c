#include "config.h"

#include "ui/heal.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/after.h"
#include "src/face/words.h"
#include "src/net/image_name.h"
#include "src/ops/heal/heal.h"
#include "ui/view.h"

#define NAMED_MAX 3		/* files in the question */
#define DIGEST_SHOWN 15		/* "sha256-0123abcd" */

/* The same from the first look to the end: what was asked is what is done. */
struct healing {
	struct op_ctx *ctx;		/* borrowed */
	struct tb_arena mem;		/* has refs and title */
	struct heal_request req;
	const char *title;
	struct heal_plan plan;
	struct tb_err late;		/* what after_writing() had to tell */
};

static void
heal_forget(void *arg)
{
	struct healing *h = arg;

	if (!h)
		return;
	heal_free(&h->plan);
	tb_arena_free(&h->mem);
	free(h);
}

static enum tb_status
heal_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct healing *h = arg;
	enum tb_status status = op_heal(h->ctx, &h->plan, job, err);

	after_writing(h->ctx, h->plan.healed ? TB_OK : TB_EIO, &h->late);
	return status;
}

/* Why the first of those is bad still that are. */
static const char *
first_failure(const struct heal_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (!p->items[i].done && p->items[i].why)
			return p->items[i].why;
	return NULL;
}

static void
heal_say(void *arg, struct tb_buf *out)
{
	const struct healing *h = arg;
	const char *why = first_failure(&h->plan);
	char text[WORD_MAX];

	tb_buf_printf(out, "%s healed", word_count(h->plan.healed, "file", text));
	if (h->plan.healed)
		tb_buf_str(out, "; what was there is kept: u, then u, puts it back");
	if (why)
		tb_buf_printf(out, ". %s could not be: %s", word_count(h->plan.failed, "file", text), why);
	if (h->late.code)
		tb_buf_printf(out, ". %s", h->late.msg);
}

static const struct job_ops heal_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = heal_run, .result = heal_say, .free = heal_forget,
};

static void
heal_agreed(struct view *v, void *arg)
{
	struct healing *h = arg;

	(void)view_job(v, &heal_job, h, "heal %s", h->title);
}

/* ---- what there is to heal, and with what ---- */

static void start_look(struct view *v, struct healing *h, const char *what);

static enum tb_status
look_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct healing **h = arg;

	return op_heal_plan((*h)->ctx, &(*h)->req, job, &(*h)->plan, err);
}

static int
host_len(const char *repository)
{
	return (int)strcspn(repository, "/");
}

/* A registry that nobody has asked yet for what is bad still; NULL: there is none. */
static const char *
first_origin(const struct heal_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].origin)
			return p->items[i].origin;
	return NULL;
}

static void
look_say(void *arg, struct tb_buf *out)
{
	const struct heal_plan *p = &(*(struct healing **)arg)->plan;
	size_t can = p->n - p->failed;
	const char *origin = first_origin(p);
	char text[WORD_MAX];

	if (!p->n)
		tb_buf_printf(out, "nothing is damaged in %s",
			      word_count(p->files - p->unknown, "file", text));
	else if (!can && origin)
		tb_buf_printf(out, "%s, and no good copy here; H can ask %.*s for one",
			      word_count(p->n, "damaged file", text), host_len(origin), origin);
	else if (!can)
		tb_buf_printf(out, "%s damaged: %s", word_count(p->n, "file", text), first_failure(p));
	else
		tb_buf_printf(out, "%zu of %s can be healed", can,
			      word_count(p->n, "damaged file", text));
	if (!p->n && p->unknown)
		tb_buf_printf(out, "; what %s should be nobody knows, v records them",
			      word_count(p->unknown, "other file", text));
	if (p->nbad)
		tb_buf_printf(out, ". %s", p->bad[0]);
}

/* The head of a digest is enough, and of a source with the same name its folder. */
static void
name_item(const struct heal_item *it, struct tb_buf *q)
{
	const char *name = tb_path_name(it->path), *source = it->source ? it->source : it->patches->path;
	const char *file = tb_path_name(source);
	char bytes[16], *folder = NULL;

	if (strstr(it->path, "/blobs/") && strlen(name) > DIGEST_SHOWN)
		tb_buf_printf(q, "%.*s…", DIGEST_SHOWN, name);
	else
		tb_buf_str(q, name);
	tb_buf_str(q, " (");
	if (it->nranges)
		tb_buf_printf(q, "%s of ", tb_human_bytes(it->come, bytes));
	tb_buf_printf(q, "%s) from ", tb_human_bytes(it->size, bytes));
	if (it->remote) {
		tb_buf_str(q, source);
		return;
	}
	if (!strcmp(file, name) && file > source + 1)
		folder = tb_strndup(source, (size_t)(file - source) - 1);
	word_path(folder ? folder : source, q);
	free(folder);
}

/* What the configuration makes less safe is said each time. */
static void
unsafe_remotes(const struct healing *h, struct tb_buf *q)
{
	const char *name;

	for (size_t i = 0; (name = heal_remote_name(&h->plan, i)); i++) {
		struct config_registry said;
		struct image_name n;

		if (image_name_parse(&n, name, NULL))
			continue;
		config_registry(&h->ctx->config, n.host, &said);
		if (said.skip_verify)
			tb_buf_printf(q, " NOBODY CHECKS WHO ANSWERS at %s: its digests are compared.", n.host);
		image_name_free(&n);
	}
}

static void
question(const struct healing *h, struct tb_buf *q)
{
	const struct heal_plan *p = &h->plan;
	size_t can = p->n - p->failed, told = 0;
	char text[WORD_MAX], bytes[16];

	tb_buf_printf(q, "Heal %s of %s? ", word_count(can, "file", text), h->title);
	for (size_t i = 0; i < p->n && told < NAMED_MAX; i++) {
		const struct heal_item *it = &p->items[i];

		if (it->why)
			continue;
		tb_buf_str(q, told++ ? ", " : "");
		name_item(it, q);
	}
	if (can > told)
		tb_buf_printf(q, " and %zu more", can - told);
	tb_buf_str(q, ". ");
	if (p->come)
		tb_buf_printf(q, "Loads %s, writes ", tb_human_bytes(p->come, bytes));
	else
		tb_buf_str(q, "Writes ");
	tb_buf_printf(q, "%s; what is there now is kept and can be put back.",
		      tb_human_bytes(p->write, bytes));
	if (can < p->n)
		tb_buf_printf(q, " For %s there is no good copy",
			      word_count(p->n - can, "other file", text));
	if (can < p->n && first_origin(p))
		tb_buf_printf(q, " here: H once more asks %.*s", host_len(first_origin(p)),
			      first_origin(p));
	tb_buf_str(q, can < p->n ? "." : "");
	unsafe_remotes(h, q);
}

static void
ask_healing(struct view *v, struct healing *h)
{
	struct tb_buf q = TB_BUF(65536);

	question(h, &q);
	view_ask_about(v, heal_agreed, h, heal_forget, tb_buf_cstr(&q));
	tb_buf_free(&q);
}

/* ---- at a registry: only who was asked goes there ---- */

static void
registry_agreed(struct view *v, void *arg)
{
	struct healing *h = arg;

	heal_free(&h->plan);
	h->req.remote = true;
	start_look(v, h, "ask for good copies for");
}

/* Whom, and for how much. */
static void
ask_registry(struct view *v, struct healing *h)
{
	const struct heal_plan *p = &h->plan;
	const char *first = first_origin(p);
	struct tb_buf q = TB_BUF(65536);
	uint64_t bytes = 0;
	size_t n = 0, others = 0;
	char text[WORD_MAX], size[16];

	for (size_t i = 0; i < p->n; i++) {
		const char *origin = p->items[i].origin;

		n += origin != NULL;
		bytes += origin ? p->items[i].size : 0;
		others += origin && (host_len(origin) != host_len(first) ||
				     strncmp(origin, first, (size_t)host_len(first)) != 0);
	}
	tb_buf_printf(&q, "Ask %.*s%s for %s of ", host_len(first), first,
		      others ? " and others that the models come from" : "",
		      word_count(n, "damaged file", text));
	tb_buf_printf(&q, "%s, %s? Nothing is loaded before you say so.", h->title,
		      tb_human_bytes(bytes, size));
	view_ask_about(v, registry_agreed, h, heal_forget, tb_buf_cstr(&q));
	tb_buf_free(&q);
}

static void
look_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct healing **h = arg;
	bool can = !status && (*h)->plan.n > (*h)->plan.failed;

	(void)err;
	if (status || !(can || first_origin(&(*h)->plan)) || !view_may_ask(v))
		return;
	if (can)
		ask_healing(v, *h);
	else
		ask_registry(v, *h);
	*h = NULL;
}

static void
look_free(void *arg)
{
	struct healing **h = arg;

	heal_forget(*h);
	free(h);
}

static const struct job_ops look_job = {
	.flags = JOB_LISTED, .run = look_run, .done = look_done, .result = look_say,
	.free = look_free,
};

static void
start_look(struct view *v, struct healing *h, const char *what)
{
	struct healing **look = view_alloc(v, sizeof(*look));

	if (!look) {
		heal_forget(h);
		return;
	}
	*look = h;
	(void)view_job(v, &look_job, look, "%s %s", what, h->title);
}

void
task_heal(struct view *v, const char *const *refs, size_t nrefs, const char *title)
{
	struct healing *h = view_alloc(v, sizeof(*h));
	const char **copy = h ? tb_arena_get(&h->mem, (nrefs + 1) * sizeof(*copy)) : NULL;
	bool ok = copy && (h->title = tb_arena_str(&h->mem, title));

	for (size_t i = 0; ok && i < nrefs; i++)
		ok = (copy[i] = tb_arena_str(&h->mem, refs[i])) != NULL;
	if (!ok) {
		heal_forget(h);
		return;
	}
	h->ctx = view_ctx(v);
	h->req.refs = copy;
	h->req.nrefs = nrefs;
	start_look(v, h, "look for copies for");
}
