#include "config.h"

#include "tests/unit/fixture.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/quant/scheme.h"
#include "tests/unit/unit.h"

void
fixture_add(struct fixture *f, const char *name, enum dtype d, const uint64_t dims[4])
{
	struct st_tensor *t = &f->t[f->n];

	assert_true(f->n < FIXTURE_MAX);
	snprintf(f->names[f->n], sizeof(f->names[0]), "%s", name);
	*t = (struct st_tensor){ .name = f->names[f->n], .dtype = d };
	while (t->ndim < 3 && dims[t->ndim]) {
		t->dim[t->ndim] = dims[t->ndim];
		t->ndim++;
	}
	f->n++;
}

void
fixture_quant(struct fixture *f, const char *base, const char *scheme, const uint64_t dims[4],
	      const char *w, const char *s, const char *b)
{
	uint64_t packed[4] = { dims[0], dims[1], dims[2], 0 }, scales[4], k;
	unsigned last = dims[2] ? 2 : 1;
	struct tb_err err = { 0 };
	struct scheme sch;
	char name[160];

	assert_ok(scheme_parse(scheme, &sch, &err), err);
	k = dims[last];
	assert_int_equal(k % sch.group, 0);
	memcpy(scales, packed, sizeof(scales));
	packed[last] = k * sch.bits / 32;
	scales[last] = k / sch.group;
	snprintf(name, sizeof(name), "%s%s", base, w);
	fixture_add(f, name, DT_U32, packed);
	snprintf(name, sizeof(name), "%s%s", base, s);
	fixture_add(f, name, scheme_scale_dtype(&sch, DT_BF16), scales);
	snprintf(name, sizeof(name), "%s%s", base, b);
	if (scheme_has_bias(&sch))
		fixture_add(f, name, DT_BF16, scales);
}

void
fixture_meta(struct fixture *f, const char *key, const char *value)
{
	assert_true(f->nmeta < FIXTURE_MAX);
	f->meta[f->nmeta++] = (struct st_meta){ key, value };
}

void
fixture_bytes(struct fixture *f, unsigned seed, struct tb_buf *out)
{
	struct tb_err err = { 0 };
	uint64_t end = 0;

	assert_ok(st_layout(f->t, f->n, f->meta, f->nmeta, out, &err), err);
	for (size_t i = 0; i < f->n; i++)
		end = f->t[i].off + f->t[i].len;
	while (out->len < end)
		tb_buf_chr(out, (char)seed++);
	assert_false(tb_buf_failed(out));
}

void
fixture_file(struct fixture *f, const char *rel)
{
	struct tb_buf b = TB_BUF(64 << 20);

	fixture_bytes(f, 1, &b);
	unit_write(rel, b.p, b.len);
	tb_buf_free(&b);
}

void
fixture_blob(struct fixture *f, struct ollama_writer *w, const char *layer)
{
	struct tb_buf b = TB_BUF(64 << 20);
	struct tb_err err = { 0 };

	fixture_bytes(f, 1, &b);
	assert_ok(ollama_add_bytes(w, MEDIA_TENSOR, layer, b.p, b.len, &err), err);
	tb_buf_free(&b);
}

const char *
fixture_dir(const char *rel)
{
	const char *path = unit_path(rel);
	struct tb_err err = { 0 };

	assert_ok(tb_mkdirs(path, &err), err);
	return path;
}

void
fixture_text(const char *rel, const char *text)
{
	unit_write(rel, text, strlen(text));
}
