/* mkstore.c - makes a synthetic store of any size, to see how the program does on a
 * store a hundred times larger than anyone's.
 *
 *	mkstore [--models N] [--blobs N] [--tensors N] [--damaged N] DIR
 *
 * DIR/ollama is an Ollama store (tensor layers, plain and with packed experts; GGUF
 * layers; blobs shared between the tags of a family; orphans up to the wanted number of
 * blobs), DIR/files has directories as on Hugging Face and as MLX writes them, and GGUF
 * files.  Headers are real, data is a hole.  Blobs have names that are not their hashes:
 * to a verify everything is damaged.  DIR/headers.list says which bytes of which files a
 * scan must read. */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/opt.h"
#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "tests/scale/files.h"

#define TAGS 16			/* models in a family */
#define SHARDS 3
#define MANIFEST_TEXT_MAX (16u << 20)

enum kind { DENSE, EXPERTS, GGUF_LAYER, HF_DIR, MLX_DIR, GGUF_FILE };

/* Kinds of families in turn, and how many tensors one of their models has beside the
 * others. */
static const enum kind turns[] = { DENSE, DENSE, GGUF_LAYER, DENSE, EXPERTS, DENSE, HF_DIR,
	GGUF_LAYER, DENSE, MLX_DIR, DENSE, GGUF_FILE };
static const unsigned weights[] = { [DENSE] = 6, [EXPERTS] = 40, [GGUF_LAYER] = 6,
	[HF_DIR] = 6, [MLX_DIR] = 6, [GGUF_FILE] = 6 };
#define TURNS (sizeof(turns) / sizeof(*turns))

static const struct arch { const char *name, *type, *prefix; } archs[] = {
	{ "LlamaForCausalLM", "llama", "model." },
	{ "Qwen3ForCausalLM", "qwen3", "model." },
	{ "Gemma3ForConditionalGeneration", "gemma3", "language_model.model." },
	{ "MistralForCausalLM", "mistral", "model." },
	{ "Qwen3MoeForCausalLM", "qwen3moe", "model.language_model." },
	{ "NemotronHForCausalLM", "nemotron_h", "backbone." },
	{ "Phi3ForCausalLM", "phi3", "model." },
};
#define ARCHS (sizeof(archs) / sizeof(*archs))

struct family {
	unsigned no;
	enum kind kind;
	const struct arch *arch;
	uint64_t hidden, experts;
	uint64_t items;			/* logical tensors of each of its models */
	uint64_t own;			/* blobs that a tag does not share with the first */
};

struct store {
	uint64_t models, blobs, tensors, damaged;	/* wanted */
	uint64_t nmodels, nblobs, ntensors, ndamaged;	/* made */
	uint64_t bytes;
	const char *dir;
	struct place place;
};

/* ---- the tensors of a model, by number ---- */

struct part { const char *name; unsigned rows, cols; };	/* in quarters of the hidden size */

static const struct part head[] = {
	{ "embed_tokens.weight", 32, 4 }, { "norm.weight", 0, 4 }, { "lm_head.weight", 32, 4 },
};
#define HEAD 3
static const struct part dense[] = {
	{ "input_layernorm.weight", 0, 4 },
	{ "self_attn.q_proj.weight", 4, 4 }, { "self_attn.k_proj.weight", 1, 4 },
	{ "self_attn.v_proj.weight", 1, 4 }, { "self_attn.o_proj.weight", 4, 4 },
	{ "post_attention_layernorm.weight", 0, 4 },
	{ "mlp.gate_proj.weight", 12, 4 }, { "mlp.up_proj.weight", 12, 4 },
	{ "mlp.down_proj.weight", 4, 12 },
};
#define DENSE_PARTS 9
#define SHARED_PARTS 6			/* of those, without the MLP */
static const struct part expert[] = {
	{ "gate_proj.weight", 1, 4 }, { "up_proj.weight", 1, 4 }, { "down_proj.weight", 4, 1 },
};
#define EXPERT_PARTS 3

static struct item
make_item(const struct family *f, const struct part *p, const char *prefix)
{
	struct item t = { .ndim = p->rows ? 2 : 1, .packed = p->rows > 0 };

	if (f->kind == HF_DIR)
		t.packed = false;
	snprintf(t.name, sizeof(t.name), "%s%s", prefix, p->name);
	t.dim[0] = f->hidden / 4 * (p->rows ? p->rows : p->cols);
	t.dim[1] = f->hidden / 4 * p->cols;
	return t;
}

static uint64_t
layer_items(const struct family *f)
{
	return f->experts ? SHARED_PARTS + EXPERT_PARTS * f->experts : DENSE_PARTS;
}

/* GGUF names have 63 bytes at most, and are others. */
static struct item
item(const struct family *f, uint64_t i)
{
	uint64_t layer = i < HEAD ? 0 : (i - HEAD) / layer_items(f);
	uint64_t k = i < HEAD ? i : (i - HEAD) % layer_items(f);
	bool gguf = f->kind == GGUF_LAYER || f->kind == GGUF_FILE;
	char prefix[96];

	if (i < HEAD)
		return make_item(f, &head[i], i == HEAD - 1 || gguf ? "" : f->arch->prefix);
	snprintf(prefix, sizeof(prefix), "%s%s.%ju.", gguf ? "" : f->arch->prefix,
		 gguf ? "blk" : "layers", (uintmax_t)layer);
	if (!f->experts || k < SHARED_PARTS)
		return make_item(f, &dense[k], prefix);
	k -= SHARED_PARTS;
	snprintf(prefix + strlen(prefix), sizeof(prefix) - strlen(prefix), "mlp.experts.%ju.",
		 (uintmax_t)(k / EXPERT_PARTS));
	return make_item(f, &expert[k % EXPERT_PARTS], prefix);
}

/* How many items from i on lie in one blob: the experts of a layer do. */
static uint64_t
together(const struct family *f, uint64_t i)
{
	uint64_t k = i < HEAD ? 0 : (i - HEAD) % layer_items(f), n;

	if (!f->experts || k < SHARED_PARTS)
		return 1;
	n = layer_items(f) - k;
	return n < f->items - i ? n : f->items - i;
}

/* ---- blobs ---- */

/* Not the hash of the blob, which nobody needs to know here. */
static void
digest_of(const char *what, uint64_t a, uint64_t b, uint64_t c, char out[TB_DIGEST_MAX])
{
	char key[128];
	int n = snprintf(key, sizeof(key), "%s %ju %ju %ju", what, (uintmax_t)a, (uintmax_t)b,
			 (uintmax_t)c);

	if (tb_sha256_bytes(key, (size_t)n, out, NULL))
		abort();
}

static const char *
blob_path(const struct store *s, const char *digest, char out[4096])
{
	snprintf(out, 4096, "%s/ollama/blobs/sha256-%s", s->dir, digest + strlen("sha256:"));
	return out;
}

/* Has it been made?  Its size then, else 0. */
static uint64_t
blob_there(const struct store *s, const char *digest)
{
	struct tb_ident id;
	char path[4096];

	return tb_file_ident(blob_path(s, digest, path), &id, NULL) ? 0 : id.size;
}

static uint64_t
text_blob(struct store *s, const char *digest, bool listed, const char *fmt, ...)
{
	struct tb_buf b = TB_BUF(65536);
	uint64_t size = blob_there(s, digest);
	char path[4096], text[1024];
	va_list ap;

	if (size)
		return size;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tb_buf_str(&b, text);
	size = text_write(&s->place, &b, blob_path(s, digest, path), listed);
	s->nblobs++;
	s->bytes += size;
	return size;
}

static uint64_t
tensor_blob(struct store *s, const struct family *f, uint64_t first, uint64_t n,
	    const char *digest)
{
	struct item t = item(f, first);
	struct st_make m;
	uint64_t size = blob_there(s, digest);
	char path[4096];

	if (size)
		return size;
	m = st_make_start(t.packed);
	for (uint64_t i = 0; i < n; i++) {
		t = item(f, first + i);
		st_make_add(&m, &t, NAMING_OLLAMA);
	}
	size = st_make_write(&s->place, &m, blob_path(s, digest, path));
	s->nblobs++;
	s->bytes += size;
	return size;
}

static void
layer(struct tb_buf *b, enum media media, const char *digest, uint64_t size, const char *name)
{
	tb_buf_printf(b, "%s{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%ju%s%s%s}",
		      media == MEDIA_CONFIG ? "" : ",", media_type(media), digest,
		      (uintmax_t)size, name ? ",\"name\":\"" : "", name ? name : "",
		      name ? "\"" : "");
}

/* ---- what can be wrong with a model ---- */

enum damage { SOUND, BLOB_MISSING, BLOB_TORN, MANIFEST_CUT, DAMAGES };

/* Spread evenly over the models. */
static enum damage
damage_of(struct store *s)
{
	if (s->nmodels * s->damaged / s->models == (s->nmodels + 1) * s->damaged / s->models)
		return SOUND;
	return (enum damage)(1 + s->ndamaged++ % (DAMAGES - 1));
}

static void
hurt_blob(struct store *s, enum damage d, const char *digest)
{
	struct tb_buf noise = TB_BUF(64);
	char path[4096];

	blob_path(s, digest, path);
	if (d == BLOB_MISSING && unlink(path))
		die("cannot remove %s", path);
	if (d == BLOB_TORN) {
		tb_buf_str(&noise, "this is no header at all");
		(void)text_write(&s->place, &noise, path, false);
	}
}

/* ---- models ---- */

static void
family_name(const struct family *f, char out[128])
{
	snprintf(out, 128, "%s-%03u", f->arch->type, f->no);
	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
}

/* Config, template and licence: those of a family are the same. */
static void
small_layers(struct store *s, const struct family *f, unsigned tag, struct tb_buf *b)
{
	char digest[TB_DIGEST_MAX];
	uint64_t size;

	digest_of("config", f->no, tag, 0, digest);
	size = text_blob(s, digest, true, "{\"model_format\":\"safetensors\",\"model_family\":\"%s\","
			 "\"model_type\":\"8B\",\"file_type\":\"int4\"}", f->arch->type);
	tb_buf_str(b, "{\"schemaVersion\":2,\"mediaType\":"
		   "\"application/vnd.docker.distribution.manifest.v2+json\",\"config\":");
	layer(b, MEDIA_CONFIG, digest, size, NULL);
	digest_of("template", f->no % 7, 0, 0, digest);
	size = text_blob(s, digest, false, "{{ .Prompt }} %u", f->no % 7);
	tb_buf_str(b, ",\"layers\":[");
	tb_buf_printf(b, "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%ju}",
		      media_type(MEDIA_TEMPLATE), digest, (uintmax_t)size);
	digest_of("license", f->no % 3, 0, 0, digest);
	size = text_blob(s, digest, false, "Licence %u: all is permitted.", f->no % 3);
	layer(b, MEDIA_LICENSE, digest, size, NULL);
}

static void
config_layer(struct store *s, const struct family *f, struct tb_buf *b)
{
	char digest[TB_DIGEST_MAX];
	uint64_t size;

	digest_of("config.json", f->no, 0, 0, digest);
	size = text_blob(s, digest, true, "{\"architectures\":[\"%s\"],\"model_type\":\"%s\","
			 "\"hidden_size\":%ju}", f->arch->name, f->arch->type,
			 (uintmax_t)f->hidden);
	layer(b, MEDIA_JSON, digest, size, "config.json");
}

/* Tag 0 has a blob of its own for everything, the others for some. */
static bool
is_own(const struct family *f, unsigned tag, uint64_t k)
{
	return tag && (k * 7919 + tag * 104729u) % f->items < f->own;
}

static void
tensor_layers(struct store *s, const struct family *f, unsigned tag, struct tb_buf *b,
	      enum damage d)
{
	char digest[TB_DIGEST_MAX];
	bool hurt = false;

	for (uint64_t i = 0, n; i < f->items; i += n) {
		bool own = is_own(f, tag, i);
		uint64_t size;
		struct item t = item(f, i);

		n = together(f, i);
		digest_of("tensor", f->no, own ? tag : 0, i, digest);
		size = tensor_blob(s, f, i, n, digest);
		if (n > 1)	/* the layer is called as what its names begin with */
			strstr(t.name, ".experts.")[strlen(".experts")] = 0;
		layer(b, MEDIA_TENSOR, digest, size, t.name);
		if (own && !hurt && (d == BLOB_MISSING || d == BLOB_TORN)) {
			hurt_blob(s, d, digest);
			hurt = true;
		}
	}
}

static void
gguf_layer(struct store *s, const struct family *f, unsigned tag, struct tb_buf *b)
{
	struct gguf_make g = gguf_make_start();
	char digest[TB_DIGEST_MAX], path[4096];
	uint64_t size;

	for (uint64_t i = 0; i < f->items; i++) {
		struct item t = item(f, i);

		gguf_make_add(&g, &t);
	}
	digest_of("gguf", f->no, tag, 0, digest);
	size = gguf_make_write(&s->place, &g, f->arch->type, blob_path(s, digest, path));
	s->nblobs++;
	s->bytes += size;
	layer(b, MEDIA_MODEL, digest, size, NULL);
}

static void
ollama_model(struct store *s, const struct family *f, unsigned tag, enum damage d)
{
	struct tb_buf b = TB_BUF(MANIFEST_TEXT_MAX);
	char name[128], path[4096];

	small_layers(s, f, tag, &b);
	if (f->kind == GGUF_LAYER) {
		gguf_layer(s, f, tag, &b);
	} else {
		config_layer(s, f, &b);
		tensor_layers(s, f, tag, &b, d);
	}
	tb_buf_str(&b, "]}\n");
	if (d == MANIFEST_CUT && b.len)
		b.len /= 2;
	family_name(f, name);
	snprintf(path, sizeof(path), "%s/ollama/manifests/registry.ollama.ai/library/%s", s->dir,
		 name);
	folder(path);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%ub-int4-v%02u",
		 (unsigned)(f->hidden / 512), tag);
	(void)text_write(&s->place, &b, path, true);
}

static void
shard(struct store *s, const struct family *f, const char *dir, unsigned no, struct tb_buf *index)
{
	enum naming how = NAMING_MLX;
	struct st_make m = st_make_start(false);
	char path[4096], file[64];

	snprintf(file, sizeof(file), "model-%05u-of-%05u.safetensors", no + 1, SHARDS);
	for (uint64_t i = f->items * no / SHARDS; i < f->items * (no + 1) / SHARDS; i++) {
		struct item t = item(f, i);

		st_make_add(&m, &t, how);
		tb_buf_printf(index, "%s\"%s\":\"%s\"", i ? "," : "", t.name, file);
	}
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	s->bytes += st_make_write(&s->place, &m, path);
}

static void
directory(struct store *s, const struct family *f, unsigned tag, enum damage d)
{
	struct tb_buf config = TB_BUF(4096), index = TB_BUF(MANIFEST_TEXT_MAX);
	char dir[4000], path[4096], name[128];

	family_name(f, name);
	snprintf(dir, sizeof(dir), "%s/files/%s/%s-%02u", s->dir,
		 f->kind == MLX_DIR ? "mlx" : "hf", name, tag);
	folder(dir);
	tb_buf_printf(&config, "{\"architectures\":[\"%s\"],\"model_type\":\"%s\","
		      "\"hidden_size\":%ju%s}", f->arch->name, f->arch->type,
		      (uintmax_t)f->hidden, f->kind == MLX_DIR
		      ? ",\"quantization\":{\"group_size\":64,\"bits\":4}" : "");
	tb_buf_printf(&index, "{\"metadata\":{},\"weight_map\":{");
	for (unsigned i = 0; i < SHARDS; i++)
		if (i || d == SOUND)
			shard(s, f, dir, i, &index);
	tb_buf_str(&index, "}}");
	snprintf(path, sizeof(path), "%s/config.json", dir);
	s->bytes += text_write(&s->place, &config, path, true);
	snprintf(path, sizeof(path), "%s/model.safetensors.index.json", dir);
	s->bytes += text_write(&s->place, &index, path, true);
}

static void
gguf_file(struct store *s, const struct family *f, unsigned tag)
{
	struct gguf_make g = gguf_make_start();
	char path[4096], name[128];

	snprintf(path, sizeof(path), "%s/files/gguf", s->dir);
	folder(path);
	family_name(f, name);
	snprintf(path, sizeof(path), "%s/files/gguf/%s-%02u-Q4_K.gguf", s->dir, name, tag);
	for (uint64_t i = 0; i < f->items; i++) {
		struct item t = item(f, i);

		gguf_make_add(&g, &t);
	}
	s->bytes += gguf_make_write(&s->place, &g, f->arch->type, path);
}

/* ---- the whole ---- */

static enum kind
kind_at(uint64_t model)
{
	return turns[model / TAGS % TURNS];
}

/* What is still to be made: models by weight, and those with a blob a tensor. */
static uint64_t
weight_left(const struct store *s, uint64_t *layered)
{
	uint64_t sum = 0;

	*layered = 0;
	for (uint64_t i = s->nmodels; i < s->models; i++) {
		enum kind k = kind_at(i);

		sum += weights[k];
		*layered += k == DENSE || k == EXPERTS;
	}
	return sum;
}

static uint64_t
blobs_of(const struct family *f)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < f->items; i += together(f, i))
		n++;
	return n;
}

/* How many of its blobs a tag has for itself, so that the store gets its number. */
static uint64_t
own_blobs(const struct store *s, const struct family *f, uint64_t tags, uint64_t layered)
{
	uint64_t small = (s->models - s->nmodels) * 5 / 4, each, n = blobs_of(f);

	if (!layered || s->blobs < s->nblobs + small || tags < 2)
		return 1;
	each = (s->blobs - s->nblobs - small) * tags / layered;
	each = each > n ? (each - n) / (tags - 1) : 1;
	return each < n / 2 ? each : n / 2;
}

static struct family
next_family(const struct store *s)
{
	enum kind kind = kind_at(s->nmodels);
	uint64_t no = s->nmodels / TAGS, left = s->models - s->nmodels, layered;
	uint64_t tags = left < TAGS ? left : TAGS, weight = weight_left(s, &layered);
	struct family f = { .no = (unsigned)no, .kind = kind, .arch = &archs[no % ARCHS],
			    .hidden = 2048 + 1024 * (no % 6) };

	if (tags == left)	/* the last: whatever is missing */
		f.items = (s->tensors - s->ntensors) / left;
	else
		f.items = (s->tensors - s->ntensors) * weights[kind] / weight;
	f.items = f.items < HEAD + 1 ? HEAD + 1 : f.items;
	if (kind == EXPERTS)
		f.experts = UINT64_C(16) << no / TURNS % 4;
	f.own = own_blobs(s, &f, tags, layered) * f.items / blobs_of(&f);
	return f;
}

static void
make_family(struct store *s)
{
	struct family f = next_family(s);

	for (unsigned tag = 0; tag < TAGS && s->nmodels < s->models; tag++) {
		enum damage d = damage_of(s);

		if (f.kind == HF_DIR || f.kind == MLX_DIR)
			directory(s, &f, tag, d);
		else if (f.kind == GGUF_FILE)
			gguf_file(s, &f, tag);
		else
			ollama_model(s, &f, tag, d);
		s->nmodels++;
		s->ntensors += f.items;
	}
}

static void
make_orphans(struct store *s)
{
	const struct family f = { .arch = archs, .hidden = 4096, .items = HEAD + DENSE_PARTS };
	char digest[TB_DIGEST_MAX];
	FILE *list = s->place.list, *none = fopen("/dev/null", "w");

	if (!none)
		die("cannot open /dev/null");
	s->place.list = none;	/* no model names them: nobody reads them */
	for (uint64_t i = 0; s->nblobs < s->blobs; i++) {
		digest_of("orphan", i, 0, 0, digest);
		(void)tensor_blob(s, &f, HEAD + 1, 1, digest);
	}
	s->place.list = list;
	fclose(none);
}

int
main(int argc, char **argv)
{
	struct store s = { .models = 2000, .blobs = 60000, .tensors = 1000000, .damaged = 20 };
	const struct tb_opt opts[] = {
		{ 0, "models", TB_OPT_U64, &s.models, "N", "models" },
		{ 0, "blobs", TB_OPT_U64, &s.blobs, "N", "files in blobs/" },
		{ 0, "tensors", TB_OPT_U64, &s.tensors, "N", "logical tensors of all models" },
		{ 0, "damaged", TB_OPT_U64, &s.damaged, "N", "models with damage" },
		{ 0 }
	};
	char path[4096], bytes[16];
	struct tb_err err;

	if (tb_opt_parse(opts, &argc, argv, false, &err))
		die("%s", err.msg);
	if (argc != 2 || !s.models || s.damaged > s.models)
		die("usage: mkstore [--models N] [--blobs N] [--tensors N] [--damaged N] DIR");
	s.dir = argv[1];
	snprintf(path, sizeof(path), "%s/ollama/blobs", s.dir);
	folder(path);
	snprintf(path, sizeof(path), "%s/headers.list", s.dir);
	s.place.list = fopen(path, "w");
	if (!s.place.list)
		die("cannot write %s", path);
	while (s.nmodels < s.models)
		make_family(&s);
	make_orphans(&s);
	if (fclose(s.place.list))
		die("cannot write %s", path);
	printf("%ju models, %ju blobs, %ju tensors, %s, %ju with damage\n", (uintmax_t)s.nmodels,
	       (uintmax_t)s.nblobs, (uintmax_t)s.ntensors, tb_human_bytes(s.bytes, bytes),
	       (uintmax_t)s.ndamaged);
	return 0;
}
