/* train.c - trains the demo's model: "make demo-model" runs it.
 *
 *	train [-n PASSES] [-b TOKENS] [-r RATE] [-s SEED] DIR TEXTS HELDOUT
 *	train -e DIR HELDOUT		what a model costs that is there already
 *
 * DIR has tokenizer.json and gets model.safetensors and config.json.  TEXTS are conversations
 * and prose, an empty line behind each: lines begin with "S ", "U ", "A " (system, user,
 * assistant) or "P " (prose).  What the assistant says and prose is learned, the rest a little.
 * HELDOUT is a text a line. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data/demo/net.h"
#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/format/safetensors.h"
#include "src/text/tokenizer.h"

#define ASKED .1f		/* what a token of the user counts */
#define LONGEST 1000u		/* tokens of a text that are learned */

static const struct net_shape shape = { 2048, 256, 4, 4, 2, 64, 512, 1e-5f, 10000 };

/* Texts as tokens; text i is [begin[i], begin[i + 1]). */
struct texts {
	struct token_ids ids;
	float *weight;
	size_t weights;
	size_t *begin, n, cap;
};

struct run {
	const char *dir;
	struct tokenizer *t;
	struct net net;
	struct texts learn, held;
	double passes;
	size_t tokens;		/* of a step */
	float rate;
	uint64_t seed;
	bool eval;
};

static _Noreturn void
die(const struct tb_err *err)
{
	fprintf(stderr, "train: %s\n", err->msg);
	exit(2);
}

static char *
slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	long end;
	char *text;

	if (!f || fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		perror(path);
		exit(2);
	}
	text = malloc((size_t)end + 1);
	if (!text || fread(text, 1, (size_t)end, f) != (size_t)end) {
		perror(path);
		exit(2);
	}
	text[end] = 0;
	*len = (size_t)end;
	fclose(f);
	return text;
}

static char *
slurp_in(const char *dir, const char *name, size_t *len)
{
	char *path = tb_path_join(dir, name), *text = path ? slurp(path, len) : NULL;

	free(path);
	return text;
}

static uint32_t
special(const struct tokenizer *t, const char *piece)
{
	uint32_t id;

	if (!tokenizer_find(t, piece, &id)) {
		fprintf(stderr, "train: the tokenizer has no %s\n", piece);
		exit(2);
	}
	return id;
}

static void
push(struct texts *x, uint32_t id, float weight)
{
	if (!tb_grow(&x->ids.v, &x->ids.cap, x->ids.n + 1, sizeof(*x->ids.v)) ||
	    !tb_grow(&x->weight, &x->weights, x->ids.n + 1, sizeof(*x->weight)))
		abort();
	x->weight[x->ids.n] = weight;
	x->ids.v[x->ids.n++] = id;
}

/* weight[i] is what predicting token i counts. */
static void
add_line(struct run *r, struct texts *x, char kind, const char *line, size_t len)
{
	static const char *const roles[] = { "<|system|>", "<|user|>", "<|assistant|>" };
	const char *at = strchr("SUA", kind);
	float counts = kind == 'A' || kind == 'P' ? 1 : ASKED;
	struct token_ids ids = { 0 };
	struct tb_err err;

	if (at)
		push(x, special(r->t, roles[at - "SUA"]), 0);
	if (tokenizer_encode(r->t, line, len, false, false, &ids, &err))
		die(&err);
	for (size_t i = 0; i < ids.n; i++)
		push(x, ids.v[i], counts);
	push(x, special(r->t, "<|end|>"), counts);
	free(ids.v);
}

static void
end_text(struct texts *x)
{
	size_t from = x->begin[x->n];

	if (x->ids.n == from)
		return;
	if (x->ids.n > from + LONGEST)
		x->ids.n = from + LONGEST;
	if (!tb_grow(&x->begin, &x->cap, x->n + 2, sizeof(*x->begin)))
		abort();
	x->begin[++x->n] = x->ids.n;
}

/* plain: a text a line */
static void
read_texts(struct run *r, struct texts *x, const char *path, bool plain)
{
	size_t size;
	char *text = slurp(path, &size), *next;

	if (!tb_grow(&x->begin, &x->cap, 1, sizeof(*x->begin)))
		abort();
	x->begin[0] = 0;
	for (char *line = text; *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		if (!len) {
			end_text(x);
			continue;
		}
		if (plain) {
			push(x, special(r->t, "<|begin|>"), 0);
			add_line(r, x, 'P', line, len);
			end_text(x);
			continue;
		}
		if (len < 3 || line[1] != ' ' || !strchr("SUAP", line[0])) {
			fprintf(stderr, "train: %s: what is \"%.*s\"?\n", path, (int)len, line);
			exit(2);
		}
		if (x->ids.n == x->begin[x->n])
			push(x, special(r->t, "<|begin|>"), 0);
		add_line(r, x, line[0], line + 2, len - 2);
	}
	end_text(x);
	free(text);
	printf("%s: %zu texts, %zu tokens\n", path, x->n, x->ids.n);
}

struct batch { uint32_t *ids, *want; float *weight; size_t *begin; struct net_batch b; };

static void
batch_new(struct batch *b, size_t rows)
{
	b->ids = calloc(rows, sizeof(*b->ids));
	b->want = calloc(rows, sizeof(*b->want));
	b->weight = calloc(rows, sizeof(*b->weight));
	b->begin = calloc(rows + 1, sizeof(*b->begin));
	if (!b->ids || !b->want || !b->weight || !b->begin)
		abort();
	b->b = (struct net_batch){ b->ids, b->want, b->weight, b->begin, 0 };
}

static void
batch_free(struct batch *b)
{
	free(b->ids);
	free(b->want);
	free(b->weight);
	free(b->begin);
}

/* The next texts in order until there are `tokens`; *at moves on, round and round. */
static size_t
fill(struct batch *b, const struct texts *x, const size_t *order, size_t *at, size_t tokens)
{
	size_t rows = 0;

	b->b.ntexts = 0;
	while (rows < tokens) {
		size_t t = order ? order[*at % x->n] : *at % x->n;
		size_t from = x->begin[t], len = x->begin[t + 1] - from - 1;

		for (size_t i = 0; i < len; i++) {
			b->ids[rows + i] = x->ids.v[from + i];
			b->want[rows + i] = x->ids.v[from + i + 1];
			b->weight[rows + i] = x->weight[from + i + 1];
		}
		rows += len;
		b->begin[++b->b.ntexts] = rows;
		++*at;
		if (!order && *at == x->n)
			break;
	}
	return rows;
}

static uint64_t
draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s >> 11;
}

static size_t *
shuffled(size_t n, uint64_t *seed)
{
	size_t *order = calloc(n, sizeof(*order));

	if (!order)
		abort();
	for (size_t i = 0; i < n; i++) {
		size_t j = draw(seed) % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

/* Mean loss in nats a token that counts. */
static double
held_out(struct run *r)
{
	struct batch b;
	size_t at = 0;
	double sum = 0, all = 0;

	batch_new(&b, r->tokens + LONGEST);
	while (at < r->held.n) {
		size_t rows = fill(&b, &r->held, NULL, &at, r->tokens);
		double weight = 0;

		for (size_t i = 0; i < rows; i++)
			weight += (double)b.weight[i];
		sum += net_loss(&r->net, &b.b, false) * weight;
		all += weight;
	}
	batch_free(&b);
	return sum / all;
}

/* A tensor of the file: rows of a matrix in net.w; 0 columns: a vector. */
struct part { char *name; size_t at; unsigned rows, cols; };

#define MOST_PARTS 64u

static unsigned
parts_of(const struct net *n, struct part *p)
{
	const struct net_shape *s = &n->s;
	unsigned q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim, k = 0;

	p[k++] = (struct part){ tb_strdup("model.embed_tokens.weight"), 0, s->vocab, s->dim };
	for (unsigned l = 0; l < s->layers; l++) {
		const struct net_layer *y = &n->layer[l];
		struct { const char *name; size_t at; unsigned rows, cols; } own[] = {
			{ "input_layernorm", y->norm1, s->dim, 0 },
			{ "self_attn.q_proj", y->qkv, q, s->dim },
			{ "self_attn.k_proj", y->qkv + (size_t)q * s->dim, kv, s->dim },
			{ "self_attn.v_proj", y->qkv + (size_t)(q + kv) * s->dim, kv, s->dim },
			{ "self_attn.o_proj", y->out, s->dim, q },
			{ "post_attention_layernorm", y->norm2, s->dim, 0 },
			{ "mlp.gate_proj", y->gate_up, s->ffn, s->dim },
			{ "mlp.up_proj", y->gate_up + (size_t)s->ffn * s->dim, s->ffn, s->dim },
			{ "mlp.down_proj", y->down, s->dim, s->ffn },
		};

		for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
			p[k++] = (struct part){ tb_asprintf("model.layers.%u.%s.weight", l, own[i].name),
						own[i].at, own[i].rows, own[i].cols };
	}
	p[k++] = (struct part){ tb_strdup("model.norm.weight"), n->norm, s->dim, 0 };
	return k;
}

static void
write_weights(struct run *r)
{
	static const struct st_meta format = { "format", "pt" };
	struct part parts[MOST_PARTS];
	struct st_tensor t[MOST_PARTS];
	unsigned n = parts_of(&r->net, parts);
	struct tb_buf out = TB_BUF(1u << 30);
	char *path = tb_path_join(r->dir, "model.safetensors");
	struct tb_err err;

	for (unsigned i = 0; i < n; i++)
		t[i] = (struct st_tensor){ .name = parts[i].name, .dtype = DT_BF16,
					   .ndim = parts[i].cols ? 2 : 1,
					   .dim = { parts[i].rows, parts[i].cols } };
	if (st_layout(t, n, &format, 1, &out, &err))
		die(&err);
	for (unsigned i = 0; i < n; i++) {
		size_t len = (size_t)parts[i].rows * (parts[i].cols ? parts[i].cols : 1);

		for (size_t j = 0; j < len; j++) {
			uint16_t h = tb_f32_bf16(r->net.w[parts[i].at + j]);

			tb_buf_add(&out, &h, 2);
		}
		free(parts[i].name);
	}
	if (!path || tb_buf_failed(&out))
		abort();
	unlink(path);
	if (tb_out_file(path, out.p, out.len, false, &err))
		die(&err);
	tb_buf_free(&out);
	free(path);
}

static void
write_config(const struct run *r)
{
	const struct net_shape *s = &r->net.s;
	char *path = tb_path_join(r->dir, "config.json");
	struct tb_buf b = TB_BUF(1u << 16);
	struct tb_err err;

	tb_buf_str(&b, "{\n  \"architectures\": [\"LlamaForCausalLM\"],\n"
		   "  \"model_type\": \"llama\",\n");
	tb_buf_printf(&b, "  \"hidden_size\": %u,\n  \"intermediate_size\": %u,\n"
		      "  \"num_hidden_layers\": %u,\n  \"num_attention_heads\": %u,\n"
		      "  \"num_key_value_heads\": %u,\n  \"head_dim\": %u,\n  \"vocab_size\": %u,\n",
		      s->dim, s->ffn, s->layers, s->heads, s->kv_heads, s->head_dim, s->vocab);
	tb_buf_printf(&b, "  \"hidden_act\": \"silu\",\n  \"max_position_embeddings\": 1024,\n"
		      "  \"rms_norm_eps\": 1e-05,\n  \"rope_theta\": 10000.0,\n"
		      "  \"tie_word_embeddings\": true,\n  \"torch_dtype\": \"bfloat16\",\n"
		      "  \"bos_token_id\": %u,\n  \"eos_token_id\": %u\n}\n",
		      special(r->t, "<|begin|>"), special(r->t, "<|end|>"));
	if (!path || tb_buf_failed(&b))
		abort();
	unlink(path);
	if (tb_out_file(path, b.p, b.len, false, &err))
		die(&err);
	tb_buf_free(&b);
	free(path);
}

static void
read_weights(struct run *r)
{
	struct part parts[MOST_PARTS];
	unsigned n = parts_of(&r->net, parts);
	size_t size;
	char *file = slurp_in(r->dir, "model.safetensors", &size);
	uint64_t head;
	struct st_header h;
	struct tb_err err;

	memcpy(&head, file, sizeof(head));
	if (st_parse(&h, file + 8, head, size - 8 - head, r->dir, &err))
		die(&err);
	for (unsigned i = 0; i < n; i++) {
		const struct st_tensor *t = st_find(&h, parts[i].name);
		size_t len = (size_t)parts[i].rows * (parts[i].cols ? parts[i].cols : 1);

		if (!t || t->len != 2 * len) {
			fprintf(stderr, "train: %s is not what it was\n", parts[i].name);
			exit(2);
		}
		for (size_t j = 0; j < len; j++) {
			uint16_t b;

			memcpy(&b, file + t->off + 2 * j, 2);
			r->net.w[parts[i].at + j] = tb_bf16_f32(b);
		}
		free(parts[i].name);
	}
	st_free(&h);
	free(file);
}

static void
round_weights(struct net *n)
{
	for (size_t i = 0; i < n->n; i++)
		n->w[i] = tb_bf16_f32(tb_f32_bf16(n->w[i]));
}

/* Up for a while, then down as a cosine does. */
static float
rate_at(const struct run *r, size_t step, size_t steps)
{
	const float least = .02f;
	size_t warm = steps / 30 + 10;

	if (step < warm)
		return r->rate * (float)(step + 1) / (float)warm;
	return r->rate * (least + (1 - least) * .5f *
			  (1 + cosf((float)M_PI * (float)(step - warm) / (float)(steps - warm))));
}

static void
train(struct run *r)
{
	uint64_t seed = r->seed;
	size_t all = (size_t)((double)r->learn.ids.n * r->passes);
	size_t steps = all / r->tokens + 1, at = 0, *order = shuffled(r->learn.n, &seed);
	time_t began = time(NULL);
	double shown = 0;
	struct batch b;

	batch_new(&b, r->tokens + LONGEST);
	printf("%zu weights, %zu steps of %zu tokens\n", r->net.n, steps, r->tokens);
	for (size_t step = 0; step < steps; step++) {
		struct net_rate rate = { rate_at(r, step, steps), .9f, .98f, .1f, 1 };
		double loss, norm;

		fill(&b, &r->learn, order, &at, r->tokens);
		loss = net_loss(&r->net, &b.b, true);
		norm = net_step(&r->net, &rate);
		shown = step ? shown * .95 + loss * .05 : loss;
		if (step % 50 == 0)
			printf("step %zu/%zu  loss %.3f  norm %.2f  rate %.5f  %lds\n", step, steps, shown,
			       norm, (double)rate.lr, (long)(time(NULL) - began));
		if (step && step % 500 == 0) {
			printf("held out %.4f\n", held_out(r));
			write_weights(r);
		}
		fflush(stdout);
	}
	printf("loss %.4f after %ld s\n", shown, (long)(time(NULL) - began));
	batch_free(&b);
	free(order);
}

static void
free_texts(struct texts *x)
{
	free(x->ids.v);
	free(x->weight);
	free(x->begin);
}

static _Noreturn void
usage(void)
{
	fputs("usage: train [-n PASSES] [-b TOKENS] [-r RATE] [-s SEED] DIR TEXTS HELDOUT\n"
	      "       train -e DIR HELDOUT\n", stderr);
	exit(2);
}

static void
read_options(struct run *r, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "en:b:r:s:")) != -1)
		switch (c) {
		case 'e': r->eval = true; break;
		case 'n': r->passes = strtod(optarg, NULL); break;
		case 'b': r->tokens = strtoul(optarg, NULL, 10); break;
		case 'r': r->rate = strtof(optarg, NULL); break;
		case 's': r->seed = strtoul(optarg, NULL, 10); break;
		default: usage();
		}
	if (argc - optind != (r->eval ? 2 : 3) || !r->tokens || !r->seed || r->passes <= 0)
		usage();
	r->dir = argv[optind];
}

int
main(int argc, char **argv)
{
	struct run r = { .passes = 1, .tokens = 2048, .rate = 2.5e-3f, .seed = 20261122 };
	char *json, *config;
	size_t len, config_len;
	struct tb_err err;
	double loss;

	read_options(&r, argc, argv);
	json = slurp_in(r.dir, "tokenizer.json", &len);
	config = slurp_in(r.dir, "tokenizer_config.json", &config_len);
	if (tokenizer_new(&r.t, json, len, config, config_len, &err))
		die(&err);
	if (!net_new(&r.net, &shape, r.seed))
		abort();
	if (tokenizer_size(r.t) > shape.vocab) {
		fputs("train: too many tokens\n", stderr);
		return 2;
	}
	read_texts(&r, &r.held, argv[argc - 1], true);
	if (r.eval) {
		read_weights(&r);
	} else {
		read_texts(&r, &r.learn, argv[optind + 1], false);
		write_config(&r);
		train(&r);
		write_weights(&r);
		round_weights(&r.net);
	}
	loss = held_out(&r);
	printf("held out: loss %.4f, perplexity %.3f\n", loss, exp(loss));
	free_texts(&r.learn);
	free_texts(&r.held);
	net_free(&r.net);
	tokenizer_free(r.t);
	free(json);
	free(config);
	return 0;
}
