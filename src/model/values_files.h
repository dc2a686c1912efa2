/* values_files.h - private to src/model: files that must be what they were. */
#ifndef TBTUI_MODEL_VALUES_FILES_H
#define TBTUI_MODEL_VALUES_FILES_H

#include "src/model/values.h"

/* Maps a part. */
enum tb_status values_map(struct tb_map *map, const struct model *m,
			  const struct tensor_part *p, struct tb_err *err) TB_MUST_USE;
/* Is the file still what it was? */
enum tb_status values_file_check(const struct model_file *mf, struct tb_err *err) TB_MUST_USE;
#endif
