/* adapter.h - adapters of models that are opened. */
#ifndef TBTUI_ENGINE_ADAPTER_H
#define TBTUI_ENGINE_ADAPTER_H

#include "src/engine/engine.h"

/* Those among the layers of m, of which e was made; see engine_adapt(). */
enum tb_status adapters_own(struct engine *e, const struct model *m, struct tb_err *err) TB_MUST_USE;
/* TB_EUNSUP, with what to do, if m has nothing but adapters. */
enum tb_status adapter_alone(const struct model *m, struct tb_err *err) TB_MUST_USE;
#endif
