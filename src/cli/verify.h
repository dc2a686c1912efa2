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
/* On standard output; --json wins over the format. */
enum cli_exit cli_print_report(const struct cli *cli, const struct report *r,
			       enum report_format format);
/* Clean, damage, or could not be done (nothing checked, too). */
enum cli_exit cli_run_exit(enum run_state state);
#endif
