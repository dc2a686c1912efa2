/* demo.h - a small store to look around in: a trained model or random weights, in several
 * schemes, with one damaged blob and one that nobody uses. */
#ifndef TBTUI_OPS_DEMO_H
#define TBTUI_OPS_DEMO_H

#include "src/ops/home/home.h"

struct tb_job;

struct demo_result {
	size_t models;
	char *damaged;		/* name of the model with the damaged blob; owned */
	char *orphan;		/* digest of the blob that nobody uses; owned */
};

/* Makes an Ollama store of `dir`, which must be empty or not there.  random: of models
 * whose weights mean nothing. */
enum tb_status op_demo(const struct op_ctx *ctx, const char *dir, bool random,
		       struct tb_job *job, struct demo_result *out, struct tb_err *err)
	TB_MUST_USE;
void demo_result_free(struct demo_result *r);

/* Private to demo*.c: a Hugging Face directory with a model of random weights, or with the
 * one that data/demo has (layers 0), as it is or with experts made of it. */
struct demo_model {
	const char *name;
	uint64_t seed;
	unsigned layers, experts;	/* experts 0: a dense llama; else a Mixtral */
};
enum tb_status demo_write(const struct demo_model *m, const char *dir, struct tb_err *err)
	TB_MUST_USE;
enum tb_status demo_write_trained(const struct demo_model *m, const char *dir,
				  struct tb_err *err) TB_MUST_USE;
/* Nearly normal, of variance 1. */
float demo_normal(uint64_t *state);
/* A byte-level tokenizer of a few merges; its number of tokens. */
enum tb_status demo_write_text(const char *dir, struct tb_err *err) TB_MUST_USE;
unsigned demo_vocab(void);
/* Is token `id` a character that people can read? */
bool demo_readable(unsigned id);

/* The files of data/demo as they are in the program; name NULL ends the list. */
struct demo_file { const char *name, *data, *end; };
extern const struct demo_file demo_files[];
#endif
