#include "config.h"

#include "src/store/headers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define SHARDS 16u
#define BUCKETS 2048u
/* Models of a family come one after the other, so what was not used lately will not be
 * used again: of two generations the older one goes when the younger is full. */
#define GENERATION_MAX ((20u << 20) / SHARDS)	/* bytes */

struct generation { struct header *bucket[BUCKETS]; size_t bytes; };

struct model_cache {
	struct shard {
		pthread_mutex_t lock;
		struct generation young, old;
	} shard[SHARDS];
};

struct model_cache *
model_cache_new(void)
{
	struct model_cache *c = tb_calloc(1, sizeof(*c));

	for (unsigned i = 0; c && i < SHARDS; i++)
		pthread_mutex_init(&c->shard[i].lock, NULL);
	return c;
}

static void
header_free(struct header *h)
{
	st_free(&h->h);
	tb_arena_free(&h->arena);
	free(h->ready);
	free(h);
}

void
headers_unref(struct header *h)
{
	if (__atomic_sub_fetch(&h->refs, 1, __ATOMIC_ACQ_REL) == 0)
		header_free(h);
}

static void
generation_free(struct generation *g)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct header *h = g->bucket[i], *next; h; h = next) {
			next = h->next;
			headers_unref(h);
		}
	*g = (struct generation){ .bytes = 0 };
}

void
model_cache_free(struct model_cache *c)
{
	for (unsigned i = 0; c && i < SHARDS; i++) {
		generation_free(&c->shard[i].young);
		generation_free(&c->shard[i].old);
		pthread_mutex_destroy(&c->shard[i].lock);
	}
	free(c);
}

/* Digests differ at their ends. */
static uint64_t
path_hash(const char *path)
{
	size_t n = strlen(path), skip = n > 24 ? n - 24 : 0;

	return tb_hash(path + skip, n - skip);
}

static struct header **
headers_place(struct generation *g, uint64_t hash, const char *path)
{
	struct header **p = &g->bucket[hash / SHARDS % BUCKETS];

	while (*p && ((*p)->hash != hash || strcmp((*p)->path, path)))
		p = &(*p)->next;
	return p;
}

static size_t
weight(const struct header *h)
{
	return sizeof(*h) + h->nready * sizeof(*h->ready) + 2 * (size_t)h->h.data_off +
	       h->h.ntensors * (sizeof(*h->h.tensors) + 128);
}

static void
insert(struct shard *s, uint64_t hash, struct header *h)
{
	struct header **p;

	if (s->young.bytes > GENERATION_MAX) {
		generation_free(&s->old);
		s->old = s->young;
		s->young = (struct generation){ .bytes = 0 };
	}
	p = &s->young.bucket[hash / SHARDS % BUCKETS];
	h->next = *p;
	*p = h;
	s->young.bytes += weight(h);
}

struct header *
headers_find(struct model_cache *c, const char *path)
{
	uint64_t key = path_hash(path);
	struct shard *s = &c->shard[key % SHARDS];
	struct header *found, **p;

	pthread_mutex_lock(&s->lock);
	found = *headers_place(&s->young, key, path);
	if (!found && *(p = headers_place(&s->old, key, path))) {
		found = *p;
		*p = found->next;
		insert(s, key, found);
	}
	if (found)
		__atomic_add_fetch(&found->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* ---- making them ready ---- */

/* Nothing that other files or config.json say could make it anything else. */
static bool
explains_itself(const struct tensor *t)
{
	if (t->origin == ORIGIN_NONE)
		return (t->weight.dtype == DT_BF16 || t->weight.dtype == DT_F16 ||
			t->weight.dtype == DT_F32) && tb_ends(t->name, ".weight");
	return (t->origin == ORIGIN_TENSOR_META || t->origin == ORIGIN_BLOB_META) &&
	       t->has_scale && tb_ends(t->name, ".weight");
}

static enum tb_status
take_ready(struct header *h, const struct model *m, struct tb_err *err)
{
	for (size_t i = 0; i < m->ntensors; i++)
		if (!explains_itself(&m->tensors[i]))
			return TB_OK;
	h->ready = tb_calloc(m->ntensors, sizeof(*h->ready));
	if (!h->ready)
		return tb_nomem(err);
	for (size_t i = 0; i < m->ntensors; i++) {
		h->ready[i].t = m->tensors[i];
		h->ready[i].key = build_key(&h->arena, m->tensors[i].name);
		if (!h->ready[i].key)
			return tb_nomem(err);
	}
	h->nready = m->nproblems ? 0 : m->ntensors;
	return TB_OK;
}

/* As if it were a model of its own. */
static enum tb_status
make_ready(struct header *h, struct tb_err *err)
{
	struct model_file file = { .path = h->path };
	struct model m = { .files = &file, .nfiles = 1 };
	struct build b = { .m = &m, .arena = &h->arena };
	enum tb_status status = build_raws(&b, 0, &h->h, true, err);

	if (!status)
		status = build_sort(&b, err);
	if (!status)
		status = build_tensors(&b, err);
	if (!status)
		status = take_ready(h, &m, err);
	while (m.nproblems)
		free(m.problems[--m.nproblems].message);
	free(m.problems);
	free(m.tensors);
	free(b.raws);
	return status;
}

enum tb_status
headers_put(struct model_cache *c, const char *path, const struct tb_ident *id,
	    struct st_header *h, struct header **out, struct tb_err *err)
{
	uint64_t key = path_hash(path);
	struct shard *s = &c->shard[key % SHARDS];
	size_t len = strlen(path) + 1;
	struct header *fresh = malloc(sizeof(*fresh) + len);
	enum tb_status status = fresh ? TB_OK : tb_nomem(err);

	if (fresh) {
		*fresh = (struct header){ .refs = 2, .hash = key, .id = *id, .h = *h };
		memcpy(fresh->path, path, len);
		*h = (struct st_header){ 0 };
		status = make_ready(fresh, err);
	}
	if (status) {
		if (fresh)
			header_free(fresh);
		st_free(h);
		return status;
	}
	pthread_mutex_lock(&s->lock);
	insert(s, key, fresh);	/* a second one from another thread does no harm */
	pthread_mutex_unlock(&s->lock);
	*out = fresh;
	return TB_OK;
}
