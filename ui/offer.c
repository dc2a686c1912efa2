#include "config.h"

#include "ui/offer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/figures.h"
#include "src/face/texts.h"
#include "src/face/words.h"
#include "src/net/credentials.h"
#include "src/net/image_name.h"
#include "src/net/url.h"
#include "src/ops/home/home.h"
#include "src/store/model.h"
#include "ui/away.h"
#include "ui/pull.h"
#include "ui/theme.h"
#include "ui/view.h"

#define OFFER_MAX (1u << 16)
#define LABEL "%-9s "

void
offer_free(struct offer *o)
{
	free(o->text);
	away_free(o->away);
	*o = (struct offer){ 0 };
}

/* ---- in words ---- */

static void
plan_bytes(const struct load_plan *p, struct tb_buf *out)
{
	char text[WORD_MAX], bytes[16];

	tb_buf_printf(out, LABEL "%s in %s\n", "Size", tb_human_bytes(p->bytes, bytes),
		      word_count(p->files, "file", text));
	tb_buf_printf(out, LABEL, "To load");
	if (!p->come)
		tb_buf_str(out, "nothing: all of its files are there");
	else
		tb_buf_printf(out, "%s in %s", tb_human_bytes(p->come - p->begun, bytes),
			      word_count(p->come_files, "file", text));
	if (p->begun)
		tb_buf_printf(out, "; %s are there from a pull that did not end",
			      tb_human_bytes(p->begun, bytes));
	if (p->unsure)
		tb_buf_printf(out, "; %s that are there are checked first",
			      tb_human_bytes(p->unsure, bytes));
	tb_buf_chr(out, '\n');
}

static bool
plan_fits(const struct load_plan *p)
{
	return p->room == UINT64_MAX || p->come - p->begun <= p->room;
}

void
offer_plan_text(const struct load_plan *p, bool steady, struct tb_buf *out)
{
	static const char *const names[] = {
		[PULL_NEW] = "no model is called so there yet",
		[PULL_SAME] = "this very model is there already",
		[PULL_OTHER] = "another model is called so there: it would be replaced, and kept",
	};
	char bytes[16];

	tb_buf_printf(out, "%s\n", p->name);
	if (p->from)
		tb_buf_printf(out, "from %s\n", p->from);
	tb_buf_chr(out, '\n');
	plan_bytes(p, out);
	if (*p->left)
		tb_buf_printf(out, LABEL "%s; --include GLOB loads others\n", "Not", p->left);
	tb_buf_printf(out, LABEL, "Store");
	word_path(p->root, out);
	if (p->room != UINT64_MAX)
		tb_buf_printf(out, ", %s free%s", steady ? "-" : tb_human_bytes(p->room, bytes),
			      plan_fits(p) ? "" : ": that is too little");
	tb_buf_printf(out, "\n" LABEL "%s: %s\n", "Name", p->name, names[p->taken]);
}

static void
memory_line(const struct memory *m, const struct memory_row *r, const char *label, bool steady,
	    struct tb_buf *out)
{
	char bytes[16], text[WORD_MAX];

	tb_buf_printf(out, LABEL "%s with a context of %s%s%s\n", label,
		      tb_human_bytes(r->total, bytes), word_count(r->context, "token", text),
		      steady || !m->machine ? "" : ": ", steady ? "" : figures_fit(m, r->total));
}

/* What a usual context takes, and all that the model has. */
static void
model_memory(const struct memory *m, bool steady, struct tb_buf *out)
{
	size_t usual = 0;

	if (!m->n)
		return;
	while (usual + 1 < m->n && m->row[usual + 1].context <= 8192)
		usual++;
	memory_line(m, &m->row[usual], "Memory", steady, out);
	if (usual + 1 < m->n)
		memory_line(m, &m->row[m->n - 1], "", steady, out);
}

/* No token comes faster than what it reads does. */
static void
model_speed(const struct memory *m, double speed, bool steady, struct tb_buf *out)
{
	double rate = m->token ? speed / (double)m->token : 0;
	char token[16], all[16];

	if (!m->runs || !m->token || !m->n || (m->machine && m->row[0].total > m->machine))
		return;
	tb_human_bytes(m->token, token);
	if (steady)
		tb_buf_printf(out, LABEL "- tokens a second at most: each reads %s\n", "Speed", token);
	else if (rate > 0)
		tb_buf_printf(out, LABEL "%.*f tokens a second at most: each reads %s, at"
			      " %s/s\n", "Speed", rate < 10 ? 1 : 0, rate, token,
			      tb_human_bytes((uint64_t)speed, all));
}

#define LICENCES_SHOWN 3
struct licences { struct tb_buf *out; unsigned n; };

/* How it begins says which one it is. */
static bool
licence_line(void *arg, enum text_kind kind, const char *name, const char *text)
{
	struct licences *l = arg;
	struct tb_buf line = TB_BUF(4096);
	size_t n;

	(void)kind;
	(void)name;
	text += strspn(text, " \t\r\n");
	n = strcspn(text, "\r\n");
	tb_buf_add(&line, text, n < 200 ? n : 200);
	if (line.len) {
		tb_buf_printf(l->out, LABEL, "Licence");
		tb_text_clip(l->out, tb_buf_cstr(&line), 60, false);
		tb_buf_chr(l->out, '\n');
		l->n++;
	}
	tb_buf_free(&line);
	return l->n < LICENCES_SHOWN;
}

/* Whether a run would find all that it needs, and what not: a line each. */
static void
model_runs(const struct look_facts *facts, bool runs, struct tb_buf *out)
{
	char text[WORD_MAX];

	tb_buf_printf(out, LABEL, "Runs");
	if (!runs)
		tb_buf_str(out, "not here: tbtui does not know how to run this architecture\n");
	else if (!facts->nlacks)
		tb_buf_str(out, "here, by c once it is loaded\n");
	else
		tb_buf_printf(out, "not as it is, it lacks %s:\n%s\n",
			      word_count(facts->nlacks, "thing", text), facts->lacks);
}

static void
model_text(const struct model *m, const struct look_facts *facts, unsigned threads, bool steady,
	   struct tb_buf *out)
{
	const char *dot = theme_sign(SIGN_DOT);
	char number[16], text[WORD_MAX];
	struct figures f;
	struct licences licences = { out, 0 };
	double speed = 0;

	tb_buf_printf(out, "\n" LABEL "%s", "Model", *m->arch ? m->arch : "no architecture");
	if (m->params)
		tb_buf_printf(out, " %s %s parameters", dot, tb_human_count(m->params, number));
	if (*m->scheme)
		tb_buf_printf(out, " %s %s", dot, m->scheme);
	tb_buf_printf(out, " %s %s\n", dot, word_count(m->ntensors, "tensor", text));
	(void)!texts_each(m, 1u << TEXT_LICENCE, licence_line, &licences, NULL);
	if (!m->ntensors || figures_of(m, threads, &f, NULL))
		return;
	if (!steady && f.memory.runs)
		(void)!memory_speed(threads, &speed, NULL);
	model_memory(&f.memory, steady, out);
	model_speed(&f.memory, speed, steady, out);
	model_runs(facts, f.memory.runs, out);
}

/* ---- asking ---- */

struct asking {
	struct op_ctx *ctx;		/* borrowed */
	struct pull_words words;
	offer_fn *heard;
	unsigned no;
	bool steady;
	struct tb_buf text;
	struct offer offer;		/* what done() hands on */
	struct load_plan plan;
};

/* Of messages that are ours: a scan of what is looked at posts its own to the same job. */
enum { OFFER_MSG_PLAN = 1000 };
/* The text follows. */
struct offer_head { enum pull_name taken; bool fits; };

static void
post_plan(const struct asking *q, struct tb_job *job)
{
	const struct offer_head head = { q->offer.taken, q->offer.fits };
	struct tb_buf b = TB_BUF(2 * OFFER_MAX);

	tb_buf_add(&b, &head, sizeof(head));
	tb_buf_add(&b, q->text.p, q->text.len);
	tb_buf_str(&b, "\nWhat is in it is being looked at…\n");
	if (!tb_buf_failed(&b))
		tb_job_post(job, OFFER_MSG_PLAN, b.p, b.len);
	tb_buf_free(&b);
}

/* Who asks: a name that somebody keeps for that server, never what goes with it. */
static void
say_who(struct asking *q, struct tb_job *job)
{
	struct credentials c = { 0 };
	struct image_name n = { 0 };
	struct url u = { 0 };
	char *text = NULL;

	if (q->words.hub || image_name_parse(&n, q->words.req.name, NULL))
		return;
	text = tb_asprintf("%s://%s", *n.scheme ? n.scheme : q->words.req.insecure ? "http" : "https",
			   n.host);
	if (text && !url_parse(&u, text, NULL) && !credentials_find(&u, job, &c, NULL) &&
	    credentials_some(&c)) {
		tb_buf_printf(&q->text, LABEL "%s%s, by what is in ", "Asked as",
			      c.user ? c.user : "who has the token of ", c.user ? "" : n.host);
		word_path(c.from, &q->text);
		tb_buf_chr(&q->text, '\n');
	}
	credentials_free(&c);
	url_free(&u);
	free(text);
	image_name_free(&n);
}

static enum tb_status
ask_plan(struct asking *q, struct tb_job *job, struct tb_err *err)
{
	struct loader *l;
	enum tb_status status = loader_new(&l, q->ctx, &q->words, err);

	if (status)
		return status;
	status = loader_plan(l, job, &q->plan, err);
	loader_free(l);
	if (status)
		return status;
	q->offer.taken = q->plan.taken;
	q->offer.fits = plan_fits(&q->plan);
	offer_plan_text(&q->plan, q->steady, &q->text);
	say_who(q, job);
	if (q->words.req.insecure)
		tb_buf_printf(&q->text, "%s --insecure: plain HTTP, all in between can read and"
			      " change what comes\n", theme_sign(SIGN_WARN));
	if (q->words.req.skip_verify)
		tb_buf_printf(&q->text, "%s --tls-skip-verify: NOBODY CHECKS WHO ANSWERS\n",
			      theme_sign(SIGN_WARN));
	return TB_OK;
}

/* Reads headers, and says what they say. */
static enum tb_status
look_into(struct asking *q, struct tb_job *job, struct tb_err *err)
{
	const struct pull_request *r = &q->words.req;
	const struct look_request look = {
		.name = r->name, .insecure = r->insecure, .skip_verify = r->skip_verify,
		.streams = r->streams,
	};
	struct look_facts facts = { 0 };
	struct model *m = NULL;
	enum tb_status status = away_new(&q->offer.away, q->ctx, &look, job, err);

	if (!status)
		status = look_model(q->offer.away->look, &m, err);
	if (!status)
		status = look_facts(q->offer.away->look, q->ctx, m, &facts, err);
	if (!status) {
		model_text(m, &facts, q->ctx->threads, q->steady, &q->text);
		tb_buf_printf(&q->text, "\nRead at %s, not verified: a pull compares every byte"
			      " with its digest.\n", look_host(q->offer.away->look));
	}
	look_facts_free(&facts);
	model_free(m);
	return status;
}

/* That this cannot be seen does not keep anybody from loading it. */
static enum tb_status
ask_model(struct asking *q, struct tb_job *job, struct tb_err *err)
{
	struct tb_err why;
	enum tb_status status = look_into(q, job, &why);

	if (tb_job_cancelled(job))
		return tb_job_check(job, err);
	if (status)
		tb_buf_printf(&q->text, "\n%s What is in it could not be seen: %s\n",
			      theme_sign(SIGN_WARN), why.msg);
	return TB_OK;
}

static enum tb_status
ask_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct asking *q = arg;
	enum tb_status status;

	tb_job_what(job, "asking for the manifest");
	status = ask_plan(q, job, err);
	if (status)
		return status;
	post_plan(q, job);
	status = ask_model(q, job, err);
	return status ? status : tb_buf_status(&q->text, "what is offered", err);
}

static void
ask_message(struct view *v, void *arg, const struct tb_msg *msg)
{
	const struct asking *q = arg;	/* of which the worker changes nothing that is read here */
	struct offer o = { 0 };
	struct offer_head head;

	if (!v || msg->kind != OFFER_MSG_PLAN || msg->len < sizeof(head))
		return;
	memcpy(&head, msg->data, sizeof(head));
	o.taken = head.taken;
	o.fits = head.fits;
	o.text = tb_strdup(msg->data + sizeof(head));
	q->heard(v, q->no, &o, false, NULL);
	offer_free(&o);
}

static void
ask_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct asking *q = arg;

	if (!status)
		q->offer.text = tb_buf_take(&q->text);
	q->heard(v, q->no, status ? NULL : &q->offer, true, err);
}

static void
ask_free(void *arg)
{
	struct asking *q = arg;

	offer_free(&q->offer);
	load_plan_free(&q->plan);
	pull_words_free(&q->words);
	tb_buf_free(&q->text);
	free(q);
}

static const struct job_ops ask_job = {
	.run = ask_run, .message = ask_message, .done = ask_done, .free = ask_free,
};

uint64_t
offer_ask(struct view *v, const char *line, unsigned no, offer_fn *heard)
{
	struct asking *q = view_alloc(v, sizeof(*q));
	struct ui_job *j;
	struct tb_err err;

	if (!q)
		return 0;
	q->ctx = view_ctx(v);
	q->heard = heard;
	q->no = no;
	q->steady = view_steady(v);
	q->text = TB_BUF(OFFER_MAX);
	if (pull_words_read(&q->words, line, &err)) {
		heard(v, no, NULL, true, &err);
		ask_free(q);
		return 0;
	}
	j = view_job(v, &ask_job, q, "look at %s", q->words.req.name);
	return j ? j->id : 0;
}
