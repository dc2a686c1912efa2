/* hparams.h - what config.json says about a model, checked before it is believed. */
#ifndef TBTUI_ENGINE_HPARAMS_H
#define TBTUI_ENGINE_HPARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/arch.h"

enum rope_kind { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3 };

struct hparams {
	const struct arch *arch;
	uint32_t vocab, dim, layers, heads, kv_heads, head_dim, ffn, context;
	uint32_t experts, experts_used;		/* 0 = dense */
	bool norm_topk;				/* see struct arch */
	bool tied, tied_known;			/* head = embedding; does config.json say */
	float rms_eps;
	double rope_theta, rope_factor, rope_low, rope_high, rope_original;
	enum rope_kind rope;
	bool rope_pairs;		/* neighbours turn together, not i and i + half a head */
	const float *rope_factors;	/* divide the frequencies, [head_dim / 2]; borrowed;
					 * NULL: none */
};

/* Errors name the key, what it is and what it may be. */
enum tb_status hparams_parse(struct hparams *hp, const char *json, size_t len, struct tb_err *err)
	TB_MUST_USE;
/* Relations between the numbers; for parameters that came from elsewhere. */
enum tb_status hparams_check(const struct hparams *hp, struct tb_err *err) TB_MUST_USE;
uint32_t hparams_dim(const struct hparams *hp, enum dim d);
/* The angle a position turns pair i < head_dim / 2 by, scaling included. */
double hparams_inv_freq(const struct hparams *hp, uint32_t i);
#endif
