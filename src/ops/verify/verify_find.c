/* verify_find.c - findings on their way: to the job's owner at once, to the database
 * in portions. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/text.h"

static const struct { const char *word; enum severity severity; const char *meaning; } table[] = {
#define X(id, word, severity, meaning) [id] = { word, severity, meaning },
	FINDING_LIST(X)
#undef X
};

const char *
finding_word(enum finding_code c)
{
	return table[c].word;
}

enum severity
finding_severity(enum finding_code c)
{
	return table[c].severity;
}

const char *
finding_meaning(enum finding_code c)
{
	return table[c].meaning;
}

static char *
copy(const char *s, bool *failed)
{
	char *p = tb_strdup(s ? s : "");

	*failed |= !p;
	return p;
}

static void
note_free(struct verify_note *n)
{
	const char *const owned[] = { n->f.model, n->f.model_path, n->f.blob, n->f.tensor,
				      n->f.expected, n->f.actual, n->f.message };

	for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
		free((char *)owned[i]);
	free(n);
}

static struct verify_note *
new_note(enum finding_code code, const struct verify_where *at, const char *message)
{
	struct verify_note *n = tb_calloc(1, sizeof(*n));
	bool failed = false;

	if (!n)
		return NULL;
	n->f = (struct db_finding){
		.severity = table[code].severity, .code = table[code].word,
		.model = copy(at->model ? at->model->loc.name : NULL, &failed),
		.model_path = copy(at->model ? at->model->loc.path : NULL, &failed),
		.blob = copy(at->blob, &failed), .tensor = copy(at->tensor, &failed),
		.expected = copy(at->expected, &failed), .actual = copy(at->actual, &failed),
		.message = copy(message, &failed),
		.has_offset = at->offset, .offset = at->offset ? *at->offset : 0,
	};
	if (failed) {
		note_free(n);
		return NULL;
	}
	return n;
}

static void
post(struct verify_run *r, enum finding_code code, const struct verify_where *at,
     const char *message)
{
	struct verify_event e = { .severity = table[code].severity, .code = code };

	snprintf(e.model, sizeof(e.model), "%s", at->model ? at->model->loc.name : "");
	snprintf(e.message, sizeof(e.message), "%s", message);
	tb_job_post(r->job, VERIFY_MSG_FINDING, &e, sizeof(e));
}

void
verify_fail(struct verify_run *r, enum tb_status status, const struct tb_err *err)
{
	pthread_mutex_lock(&r->lock);
	if (!r->status) {
		r->status = status;
		r->err = *err;
	}
	pthread_mutex_unlock(&r->lock);
}

/* The lock is held. */
static void
count_error(struct verify_model *m, enum finding_code code)
{
	m->errors++;
	m->incomplete += code == F_INCOMPLETE;
}

void
verify_find(struct verify_run *r, enum finding_code code, const struct verify_where *at,
	    const char *fmt, ...)
{
	uint64_t *const counts[] = { [SEV_NOTE] = &r->out->notes,
		[SEV_WARNING] = &r->out->warnings, [SEV_ERROR] = &r->out->errors };
	struct verify_note *n = NULL;
	struct tb_err err;
	va_list ap;
	char *message;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&message, fmt, ap);
	va_end(ap);
	if (len >= 0)
		n = new_note(code, at, message);
	if (!n) {
		verify_fail(r, tb_nomem(&err), &err);
	} else {
		post(r, code, at, message);
		pthread_mutex_lock(&r->lock);
		++*counts[table[code].severity];
		if (at->model && table[code].severity == SEV_ERROR)
			count_error((struct verify_model *)at->model, code);
		*r->last = n;
		r->last = &n->next;
		pthread_mutex_unlock(&r->lock);
	}
	if (len >= 0)
		free(message);
}

void
verify_find_unread(struct verify_run *r, const struct unread_place *p)
{
	struct verify_where at = { .blob = p->path };

	verify_find(r, F_UNREADABLE, &at, "%s: what is in it is unknown", p->why);
}

void
verify_remember(struct verify_run *r, const char *path, const struct db_hash *h)
{
	struct verify_hash *item = tb_calloc(1, sizeof(*item));
	char *own = tb_strdup(path);
	struct tb_err err;

	if (!item || !own) {
		free(item);
		free(own);
		verify_fail(r, tb_nomem(&err), &err);
		return;
	}
	item->path = own;
	item->h = *h;
	pthread_mutex_lock(&r->lock);
	item->next = r->hashes;
	r->hashes = item;
	pthread_mutex_unlock(&r->lock);
}

static void
take(struct verify_run *r, struct verify_note **notes, struct verify_hash **hashes)
{
	pthread_mutex_lock(&r->lock);
	*notes = r->first;
	*hashes = r->hashes;
	r->first = NULL;
	r->last = &r->first;
	r->hashes = NULL;
	pthread_mutex_unlock(&r->lock);
}

static void
drop(struct verify_note *notes, struct verify_hash *hashes)
{
	while (notes) {
		struct verify_note *n = notes;

		notes = n->next;
		note_free(n);
	}
	while (hashes) {
		struct verify_hash *h = hashes;

		hashes = h->next;
		free(h->path);
		free(h);
	}
}

void
verify_drop(struct verify_run *r)
{
	struct verify_note *notes;
	struct verify_hash *hashes;

	take(r, &notes, &hashes);
	drop(notes, hashes);
}

enum tb_status
verify_flush(struct verify_run *r, struct tb_err *err)
{
	struct verify_note *notes;
	struct verify_hash *hashes;
	enum tb_status status = TB_OK;

	take(r, &notes, &hashes);
	if (notes || hashes)
		status = db_begin(r->db, err);
	for (struct verify_note *n = notes; n && !status; n = n->next) {
		n->f.run = r->out->run;
		status = db_finding_add(r->db, &n->f, err);
	}
	for (struct verify_hash *h = hashes; h && !status; h = h->next)
		status = db_hash_put(r->db, h->path, &h->h, err);
	if (notes || hashes || status)
		status = db_end(r->db, status, err);
	r->flushed = tb_monotonic();
	drop(notes, hashes);
	return status;
}
