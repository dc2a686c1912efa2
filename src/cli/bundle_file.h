/* bundle_file.h - bundles as commands take them: a file, or "-" for a pipe. */
#ifndef TBTUI_CLI_BUNDLE_FILE_H
#define TBTUI_CLI_BUNDLE_FILE_H

#include "src/cli/cli.h"
#include "src/ops/bundle/bundle.h"

/* A name or standard input; bundle_file_close() it. */
enum tb_status bundle_file_open(struct bundle_source *src, const char *name, struct tb_err *err)
	TB_MUST_USE;
void bundle_file_close(struct bundle_source *src);

/* Models into a file or standard output, by export. */
enum cli_exit bundle_file_write(struct cli *cli, const char *const *refs, size_t n,
				const char *dest, bool replace);
/* Models out of one, by import; name NULL: as they are called there. */
enum cli_exit bundle_file_import(struct cli *cli, const char *file, const char *name,
				 bool replace);
#endif
