/* verify.h - what the commands verify and audit share. */
#ifndef TBTUI_CLI_VERIFY_H
#define TBTUI_CLI_VERIFY_H

#include "src/cli/cli.h"
#include "src/ops/report/report.h"
#include "src/ops/verify/verify.h"

/* Runs it with progress; *out is filled in every case: db_close(out->unkept). */
enum tb_status cli_verify_run(const struct cli *cli, struct op_ctx *ctx,
			      const struct verify_request *req, struct verify_result *out,
			      struct tb_err *err) TB_MUST_USE;
/* What that run found, from where it is kept; report_free() it. */
enum tb_status cli_load_run(const struct op_ctx *ctx, const struct verify_result *out,
			    struct report *r, struct tb_err *err) TB_MUST_USE;
/* Where a report goes. */
struct report_dest {
	const char *file;		/* NULL: standard output */
	const char *named;		/* the format as a person named it, or NULL */
	enum report_format format;
	bool whole;			/* all of it on standard output, not what a person wants to read */
	bool replace;			/* the file that is there: somebody said yes */
};
/* Before hours of reading: can it be put there, and as what?  Asks before a file is to be
 * replaced. */
enum tb_status cli_report_dest(const struct cli *cli, struct report_dest *to, struct tb_err *err)
	TB_MUST_USE;
/* Writes it, and says on standard output what there is to say. */
enum cli_exit cli_put_report(const struct cli *cli, const struct report *r,
			     const struct report_dest *to);
/* A bill of materials of run N, of models, or (no operands) of the last run; file NULL:
 * standard output. */
enum cli_exit cli_export_bom(const struct cli *cli, struct op_ctx *ctx, const char *file,
			     int argc, char **argv);
/* Clean, damage, or could not be done (nothing checked, too). */
enum cli_exit cli_run_exit(enum run_state state);
#endif
