/* look_heads.c - headers are fetched by reading them: whoever reads files of a format is content with
 * what is there, or says what is wrong with it.  So nothing has to be known here of how long a
 * header is. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include "src/base/job.h"
#include "src/base/text.h"
#include "src/format/format.h"
#include "src/format/gguf.h"
#include "src/format/safetensors.h"

#define FIRST_HEADER 1024u	/* bytes of the first that is asked for: tensors in a file of
				 * their own have less */
#define FIRST_KEYS (64u << 10)	/* of GGUF's, behind that */
#define HEADER_MAX (64u << 10)	/* of what is asked for before anything is known of it */

/* What is wrong with a header is for who opens the model. */
static uint64_t
read_head(const struct format *format, const struct tb_file *f)
{
	struct st_header h;
	struct gguf g;
	uint64_t n = 0;

	if (format->keys) {
		if (format->keys(&g, f, NULL))
			return 0;
		n = g.data_off;
		gguf_free(&g);
	} else if (!format->read(&h, f, NULL)) {
		n = h.data_off;
		st_free(&h);
	}
	return n;
}

static void
one_head(struct look_file *f)
{
	struct look *l = f->look;
	const struct format *format;
	struct tb_file file;
	uint64_t n;

	if (format_of_file(f->path, &format, NULL) || tb_file_open(&file, f->path, NULL))
		return;
	if (format->keys)
		f->ahead = FIRST_KEYS;
	n = read_head(format, &file);
	tb_file_close(&file);
	if (!n || format->keys)
		return;
	pthread_mutex_lock(&l->lock);	/* the next ones will be about as long */
	l->header = (l->header + n + n / 4 + 1) / 2;
	if (l->header > HEADER_MAX)
		l->header = HEADER_MAX;
	pthread_mutex_unlock(&l->lock);
}

static enum tb_status
head(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct look *l = arg;
	struct look_file *f = l->files[i];

	(void)worker;
	if (!f->early || f->here)
		return TB_OK;
	if (f->whole)
		(void)!look_file_need(f, 0, f->size, NULL);
	else
		one_head(f);
	tb_job_step(l->job, 0, 1);
	return look_failed(l, err);	/* of the way there: nothing else would be better */
}

enum tb_status
look_heads(struct look *l, const char *name, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->files[i]->early && !l->files[i]->here;
	tb_job_total(job, 0, n);
	tb_job_what(job, "headers of %s", name);
	l->heads = true;
	l->header = FIRST_HEADER;
	look_job(l, job);
	status = tb_pool_try(l->streams, l->n, head, l, job, err);
	look_job(l, NULL);
	l->heads = false;
	return status;
}
