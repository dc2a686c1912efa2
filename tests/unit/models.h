/* models.h - models made by tests, opened, and what must be in them. */
#ifndef TBTUI_TESTS_MODELS_H
#define TBTUI_TESTS_MODELS_H

#include "src/store/model.h"
#include "tests/unit/fixture.h"

#define DIMS(...) ((const uint64_t[4]){ __VA_ARGS__ })
/* Endings for fixture_quant(). */
#define OLLAMA "", ".scale", ".bias"
#define MLX ".weight", ".scales", ".biases"

/* A store in a new folder of unit_tmp(), layers, and the model as the store finds it. */
void models_begin(struct ollama_writer *w, const char *root);
void models_json(struct ollama_writer *w, const char *name, const char *text);
struct model *models_finish(struct ollama_writer *w, const char *name, const char *config);
/* What lies below unit_tmp(). */
struct model *models_open(const char *rel);

void models_clean(const struct model *m);	/* has no problems */
void models_problem(const struct model *m, const char *part);
/* A tensor must be there, as `scheme`, from `origin`, with the logical shape. */
const struct tensor *models_expect(const struct model *m, const char *name, const char *scheme,
				   enum origin origin, const uint64_t dims[4]);
#endif
