/* pull_manifest.c - what is to come, as the registry's manifest says, and whether that can be. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/pull/pull_parts.h"

static enum tb_status
check_kinds(const struct pull *p, struct tb_err *err)
{
	const struct manifest *m = &p->manifest;

	for (size_t i = 0; i < m->nlayers; i++)
		if (media_parse(m->layers[i].media_type) != MEDIA_UNKNOWN)
			return TB_OK;
	if (!m->nlayers)
		return tb_fail(err, TB_EUNSUP, "%s: has no layers: there is no model in it",
			       p->from);
	return tb_fail(err, TB_EUNSUP, "%.200s: is no model: its layers are %.100s", p->from,
		       m->layers[0].media_type);
}

/* Layers may name one blob twice, but then it has one size. */
static enum tb_status
add_blob(struct pull *p, uint32_t *slots, size_t nslots, const struct manifest_layer *l,
	 struct tb_err *err)
{
	uint64_t hash = tb_hash(l->digest, strlen(l->digest));
	uint32_t *slot = TB_SLOT(slots, nslots, hash >> 32, i,
				 !strcmp(p->blobs[i].layer->digest, l->digest));

	if (*slot && p->blobs[*slot - 1].layer->size != l->size)
		return tb_fail(err, TB_EFORMAT, "%s: %s has two sizes in its manifest, %ju and %ju",
			       p->from, l->digest, (uintmax_t)p->blobs[*slot - 1].layer->size,
			       (uintmax_t)l->size);
	if (*slot)
		return TB_OK;
	p->blobs[p->n].layer = l;
	*slot = (uint32_t)++p->n;
	return TB_OK;
}

static enum tb_status
list_blobs(struct pull *p, struct tb_err *err)
{
	const struct manifest *m = &p->manifest;
	enum tb_status status = TB_OK;
	size_t nslots = 16;
	uint32_t *slots;
	uint64_t sum = 0;

	while (nslots < 2 * (m->nlayers + 1))
		nslots *= 2;
	slots = tb_calloc(nslots, sizeof(*slots));
	p->blobs = tb_calloc(m->nlayers + 1, sizeof(*p->blobs));
	if (!slots || !p->blobs)
		status = tb_nomem(err);
	for (size_t i = 0; !status && i < m->nlayers; i++)
		status = add_blob(p, slots, nslots, &m->layers[i], err);
	if (!status && m->config.media_type)
		status = add_blob(p, slots, nslots, &m->config, err);
	for (size_t i = 0; !status && i < p->n; i++)
		if (__builtin_add_overflow(sum, p->blobs[i].layer->size, &sum) || sum > INT64_MAX)
			status = tb_fail(err, TB_EFORMAT, "%s: more bytes than there can be",
					 p->from);
	free(slots);
	return status;
}

enum tb_status
pull_ask(struct pull *p, struct http *h, struct tb_job *job, struct tb_err *err)
{
	const struct tb_buf *text = &p->text.text;
	enum tb_status status;

	tb_job_what(job, "%s", p->from);
	status = registry_image(p->registry, h, image_reference(&p->image), job, &p->text, err);
	if (!status)
		status = manifest_parse(&p->manifest, tb_buf_cstr(text), text->len, p->from, err);
	if (!status)
		status = check_kinds(p, err);
	return status ? status : list_blobs(p, err);
}
