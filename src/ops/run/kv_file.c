/* kv_file.c - what a session holds, in a file: the ids, and the memory of their keys and values
 * as it lies.
 *
 * "tbtuikv1", the length of a JSON object (8 bytes, little-endian), the object, the ids
 * (4 bytes each), the memory, a sum of all of it (8 bytes).  The object says which weights
 * made it and how it lies: in a file that another model, or another program, wrote nothing is
 * believed but that. */
#include "config.h"

#include "src/ops/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/sha256.h"
#include "src/base/sums.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/model/values.h"
#include "src/store/model.h"

#define MAGIC "tbtuikv1"
#define HEAD_BYTES 16		/* magic and length */
#define HEADER_MAX (1u << 20)
#define CONFIG_MAX (16u << 20)
#define SAMPLE 256		/* bytes of a tensor that tell its weights from others */
#define BEGINNING (64u << 10)	/* of a file: what it says of itself */

/* ---- which weights ---- */

static enum tb_status
mark_file(struct tb_sha256 *sha, const struct model_file *f, struct tb_err *err)
{
	uint64_t size = f->id.size;
	size_t len = size < BEGINNING ? (size_t)size : BEGINNING;
	struct tb_file in;
	char *head;
	enum tb_status status;

	if (*f->digest) {
		tb_sha256_add(sha, f->digest, strlen(f->digest));
		return TB_OK;
	}
	if ((status = tb_file_open(&in, f->path, err)))
		return status;
	head = malloc(len + 1);
	status = head ? tb_file_read(&in, 0, head, len, err) : tb_nomem(err);
	if (!status) {
		tb_sha256_add(sha, &size, sizeof(size));
		tb_sha256_add(sha, head, len);
	}
	free(head);
	tb_file_close(&in);
	return status;
}

/* Blobs have digests; of other files a look at each tensor has to do. */
static enum tb_status
mark_tensor(struct tb_sha256 *sha, const struct model *m, const struct tensor *t,
	    struct values_files *files, struct tb_err *err)
{
	const struct tensor_part *p = &t->weight;
	size_t len = p->len < SAMPLE ? (size_t)p->len : SAMPLE;
	unsigned char bytes[SAMPLE];
	enum tb_status status;

	tb_sha256_add(sha, t->name, strlen(t->name) + 1);
	if (*m->files[p->file].digest || !len)
		return TB_OK;
	status = values_files_read(files, p, (p->len - len) / 2, bytes, len, err);
	if (!status)
		tb_sha256_add(sha, bytes, len);
	return status;
}

static enum tb_status
mark_tensors(struct tb_sha256 *sha, const struct model *m, struct tb_err *err)
{
	struct values_files *files;
	bool *seen = tb_calloc(m->nfiles + 1, sizeof(*seen));
	enum tb_status status = seen ? values_files_open(&files, m, err) : tb_nomem(err);

	if (status) {
		free(seen);
		return status;
	}
	for (size_t i = 0; i < m->ntensors && !status; i++) {
		const struct tensor *t = &m->tensors[i];

		if (t->draft)
			continue;
		if (!seen[t->weight.file])
			status = mark_file(sha, &m->files[t->weight.file], err);
		seen[t->weight.file] = true;
		if (!status)
			status = mark_tensor(sha, m, t, files, err);
	}
	values_files_close(files);
	free(seen);
	return status;
}

static enum tb_status
mark_weights(struct tb_sha256 *sha, const struct model *m, const char *config, struct tb_err *err)
{
	char *text = NULL;
	size_t len;
	enum tb_status status = model_read(m, config, CONFIG_MAX, &text, &len, err);

	if (!status)
		tb_sha256_add(sha, text, len);
	free(text);
	return !status || status == TB_ENOENT ? mark_tensors(sha, m, err) : status;
}

enum tb_status
chat_model_mark(const struct chat_model *m, char mark[TB_DIGEST_MAX], struct tb_err *err)
{
	struct tb_sha256 sha;
	enum tb_status status = tb_sha256_init(&sha, err);

	if (status)
		return status;
	status = mark_weights(&sha, m->model, "config.json", err);
	for (size_t i = 0; i < m->nadapters && !status; i++)
		status = mark_weights(&sha, m->adapters[i], "adapter_config.json", err);
	if (!status)
		tb_sha256_done(&sha, mark);
	tb_sha256_free(&sha);
	return status;
}

/* ---- the header ---- */

static enum tb_status
write_header(struct tb_buf *out, const struct chat_model *m, const struct session *s,
	     const struct token_ids *held, struct tb_err *err)
{
	char mark[TB_DIGEST_MAX], *text;
	struct tb_buf layout = TB_BUF(HEADER_MAX);
	uint64_t len;
	cJSON *o;
	enum tb_status status = chat_model_mark(m, mark, err);

	if (status)
		return status;
	session_layout(s, &layout);
	o = json_object();
	json_set_str(o, "name", m->model->loc.name);
	json_set_str(o, "model", mark);
	json_set_buf(o, "layout", &layout);
	json_set_u64(o, "tokens", held->n);
	text = json_print(o);
	json_free(o);
	tb_buf_free(&layout);
	if (!text)
		return tb_nomem(err);
	len = strlen(text);
	tb_buf_add(out, MAGIC, 8);
	tb_buf_add(out, &len, sizeof(len));
	tb_buf_add(out, text, len);
	free(text);
	return tb_buf_status(out, "the session's header", err);
}

/* Does the header fit the model and the session?  Else what differs. */
static enum tb_status
check_header(const cJSON *o, const struct chat_model *m, const struct session *s, size_t *tokens,
	     struct tb_err *err)
{
	const char *model = json_str(json_get(o, "model")), *layout = json_str(json_get(o, "layout"));
	const char *name = json_str(json_get(o, "name"));
	struct tb_buf want = TB_BUF(HEADER_MAX);
	char mark[TB_DIGEST_MAX], clean[200];
	uint64_t n;
	enum tb_status status;

	if (!model || !layout || !name || !json_u64(json_get(o, "tokens"), &n))
		return tb_fail(err, TB_EFORMAT, "it does not say what it is of");
	if ((status = chat_model_mark(m, mark, err)))
		return status;
	if (strcmp(model, mark))
		return tb_fail(err, TB_EUSAGE, "it was kept of other weights (%s); take another file",
			       tb_text_clean(name, clean, sizeof(clean)));
	session_layout(s, &want);
	if (strcmp(layout, tb_buf_cstr(&want)))
		status = tb_fail(err, TB_EUSAGE, "its keys and values are kept otherwise (%.60s) than "
				 "here (%.60s); take the same --kv, or another file",
				 tb_text_clean(layout, clean, sizeof(clean)), tb_buf_cstr(&want));
	tb_buf_free(&want);
	if (!status && n > session_context(s))
		status = tb_fail(err, TB_ELIMIT, "it holds %" PRIu64 " tokens, the context %u; give "
				 "it more with --ctx, or take another file", n, session_context(s));
	*tokens = (size_t)n;
	return status;
}

/* ---- the file ---- */

struct saving {
	struct tb_out out;
	struct tb_job *job;
	uint64_t sum;
};

static enum tb_status
save_piece(void *arg, void *data, size_t len, struct tb_err *err)
{
	struct saving *s = arg;
	uint64_t sum = tb_sum_quick(data, len);
	enum tb_status status = tb_job_check(s->job, err);

	s->sum = tb_fnv(s->sum, &sum, sizeof(sum));
	return status ? status : tb_out_write(&s->out, data, len, err);
}

enum tb_status
kv_file_save(const struct chat_model *m, struct session *s, const struct token_ids *held,
	     const char *path, struct tb_job *job, struct tb_err *err)
{
	struct saving save = { .job = job, .sum = TB_FNV };
	struct tb_buf head = TB_BUF(HEADER_MAX);
	char *dir = tb_path_parent(path);
	enum tb_status status = dir ? write_header(&head, m, s, held, err) : tb_nomem(err);

	tb_job_what(job, "keeping the session");
	if (!status && !(status = tb_out_open(&save.out, dir, err))) {
		if (fchmod(save.out.fd, 0600))
			status = tb_fail_errno(err, "%s", path);
		if (!status)
			status = save_piece(&save, head.p, head.len, err);
		if (!status && held->n)
			status = save_piece(&save, held->v, held->n * sizeof(*held->v), err);
		if (!status)
			status = session_pieces(s, save_piece, &save, err);
		if (!status)
			status = tb_out_write(&save.out, &save.sum, sizeof(save.sum), err);
		if (!status)
			status = tb_out_commit(&save.out, path, true, err);
		else
			tb_out_abort(&save.out);
	}
	tb_buf_free(&head);
	free(dir);
	return status;
}

struct loading {
	struct tb_file in;
	struct tb_job *job;
	uint64_t at, sum;
};

static enum tb_status
load_piece(void *arg, void *data, size_t len, struct tb_err *err)
{
	struct loading *l = arg;
	uint64_t sum;
	enum tb_status status = tb_job_check(l->job, err);

	if (!status && !(status = tb_file_read(&l->in, l->at, data, len, err))) {
		sum = tb_sum_quick(data, len);
		l->sum = tb_fnv(l->sum, &sum, sizeof(sum));
		l->at += len;
	}
	return status;
}

static enum tb_status
load_header(struct loading *l, const struct chat_model *m, const struct session *s, size_t *tokens,
	    struct tb_err *err)
{
	unsigned char head[HEAD_BYTES] = { 0 };
	uint64_t len = 0;
	char *text;
	cJSON *o = NULL;
	enum tb_status status = TB_OK;

	if (l->in.id.size >= sizeof(head))
		status = tb_file_read(&l->in, 0, head, sizeof(head), err);
	memcpy(&len, head + 8, sizeof(len));
	if (l->in.id.size < sizeof(head) || (!status && memcmp(head, MAGIC, 8)))
		return tb_fail(err, TB_EFORMAT, "no session was kept in it; take another file");
	if (!status && (len > HEADER_MAX || len > l->in.id.size - sizeof(head)))
		status = tb_fail(err, TB_EFORMAT, "a header of %" PRIu64 " bytes", len);
	if (status)
		return status;
	text = malloc(sizeof(head) + len + 1);
	if (!text)
		return tb_nomem(err);
	if (!(status = load_piece(l, text, sizeof(head) + len, err)) &&
	    !(status = json_parse(&o, text + sizeof(head), len, "its header", err)))
		status = check_header(o, m, s, tokens, err);
	json_free(o);
	free(text);
	return status;
}

static enum tb_status
load_ids(struct loading *l, const struct chat_model *m, struct token_ids *held, size_t n,
	 struct tb_err *err)
{
	struct engine_info info;
	enum tb_status status = TB_OK;

	engine_info(m->engine, &info);
	if (!tb_grow(&held->v, &held->cap, n + 1, sizeof(*held->v)))
		return tb_nomem(err);
	if (n && (status = load_piece(l, held->v, n * sizeof(*held->v), err)))
		return status;
	for (size_t i = 0; i < n; i++)
		if (held->v[i] >= info.vocab)
			return tb_fail(err, TB_EFORMAT, "it has a token %u, the model knows %u",
				       held->v[i], info.vocab);
	return TB_OK;
}

static enum tb_status
load_kept(struct loading *l, const struct chat_model *m, struct session *s, struct token_ids *held,
     struct tb_err *err)
{
	uint64_t sum, rest;
	size_t n = 0;
	enum tb_status status = load_header(l, m, s, &n, err);

	if (status)
		return status;
	/* before there is any memory for it */
	rest = l->in.id.size - l->at;
	if (rest != n * sizeof(*held->v) + session_bytes(s, (uint32_t)n) + sizeof(sum))
		return tb_fail(err, TB_EFORMAT, "%" PRIu64 " bytes are not what %zu tokens take: it "
			       "is cut, or more than one", rest, n);
	if ((status = load_ids(l, m, held, n, err)) ||
	    (status = session_place(s, (uint32_t)n, err)) ||
	    (status = session_pieces(s, load_piece, l, err)) ||
	    (status = tb_file_read(&l->in, l->at, &sum, sizeof(sum), err)))
		return status;
	if (sum != l->sum)
		return tb_fail(err, TB_EFORMAT, "its bytes are not those that were kept");
	held->n = n;
	return TB_OK;
}

enum tb_status
kv_file_load(const struct chat_model *m, struct session *s, struct token_ids *held,
	     const char *path, struct tb_job *job, struct tb_err *err)
{
	struct loading l = { .job = job, .sum = TB_FNV };
	enum tb_status status = tb_file_open(&l.in, path, err);

	held->n = 0;
	if (status)
		return status;
	tb_job_what(job, "reading the kept session");
	(void)session_rewind(s, 0);
	if ((status = load_kept(&l, m, s, held, err))) {
		(void)session_rewind(s, 0);
		status = tb_wrap(err, status, "%s", path);
	}
	tb_file_close(&l.in);
	return status;
}
