/* families.h - small models as Hugging Face has them, and the same computed in doubles
 * from the tensors alone, found by name: this knows nothing of slots, rules and
 * struct hparams. */
#ifndef TBTUI_TESTS_FAMILIES_H
#define TBTUI_TESTS_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAMILY_TOKENS 24
#define FAMILY_MAX 100

struct spec {
	const char *dir, *prefix, *config;
	size_t vocab, dim, ffn, layers, heads, kv, hd;
	bool post_norms, qk_norms, biases, fused, gelu, vision;
	bool behind;				/* norms only behind the parts of a layer */
	bool beside;				/* both parts see the same, behind one norm */
	bool centered, whole, late, pairs;	/* norms of q and k: of all heads; behind the turn */
	unsigned still;				/* bits of layers whose positions do not turn */
	double residual, logits;		/* multiply; 0: 1 */
	double norm_add, embed, scalar;		/* scalar: of q k; 0: hd */
	double attn_cap, final_cap;
	size_t window;
	unsigned windowed;			/* bits of layers */
	double theta, local, factor;		/* local: of layers with a window; factor: others' */
	size_t rot;				/* elements that turn; 0: all */
	double divide[4], longer;		/* of frequencies; length of what turned */
};

/* The tensors of one file. */
struct array { char name[128]; size_t rows, cols; float *v; };
struct arrays { struct array t[FAMILY_MAX]; size_t n; uint64_t seed; };
/* One more with random values; cols 0: a vector of values around `mean`. */
void arrays_add(struct arrays *all, const char *name, size_t rows, size_t cols, double mean);
/* unit_tmp()/dir/model.safetensors, and config.json beside it. */
void arrays_save(const struct arrays *all, const char *dir, const char *config);
struct st_tensor;
struct tb_buf;
void family_file(const char *dir, const char *config, struct st_tensor *t, size_t n,
		 const struct tb_buf *data);

/* Random weights for all tensors that a model like that has. */
void family_make(const struct spec *s, struct arrays *all);
void arrays_free(struct arrays *all);
const struct array *arrays_find(const struct arrays *all, const char *name);
/* prefix + "layers.N." + name; static */
const char *family_name(const struct spec *s, size_t layer, const char *name);
/* Logits of the token at pos < FAMILY_TOKENS; those before were computed already. */
void family_token(const struct spec *s, const struct arrays *all, uint32_t id, size_t pos,
		  double *logits);
#endif
