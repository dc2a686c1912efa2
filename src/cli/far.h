/* far.h - --remote of show, tensors, tensor and plan: a model where it lies, of which no more is
 * read than is shown. */
#ifndef TBTUI_CLI_FAR_H
#define TBTUI_CLI_FAR_H

#include "src/cli/cli.h"
#include "src/ops/home/home.h"
#include "src/ops/look/look.h"

struct tensor;

struct cli_far {
	bool on, insecure, skip_verify;	/* as the options say */
	struct look *look;		/* NULL: the model is here; owned */
};
#define FAR_OPTS(f) \
	{ 0, "remote", TB_OPT_FLAG, &(f).on, NULL, \
	  "REF is at a registry (llama3:8b, docker://…) or a hub (hf:org/name): it is looked at there" }, \
	{ 0, "insecure", TB_OPT_FLAG, &(f).insecure, NULL, "with --remote: HTTP without TLS" }, \
	{ 0, "tls-skip-verify", TB_OPT_FLAG, &(f).skip_verify, NULL, \
	  "with --remote: believe anybody's certificate" }

/* cli_model(), or with --remote a look at it; cli_far_end() in every case, after model_free(). */
enum tb_status cli_far_model(const struct cli *cli, struct cli_far *far, const char *ref,
			     struct model **out, struct tb_err *err) TB_MUST_USE;
/* All of the tensor will be read: fetched at once, after a question if that is much.  Nothing
 * where the model is here. */
enum tb_status cli_far_tensor(const struct cli *cli, struct cli_far *far, const struct model *m,
			      const struct tensor *t, struct tb_err *err) TB_MUST_USE;
/* "bytes_moved" of what is printed; --verbose says it. */
void cli_far_json(const struct cli_far *far, struct cJSON *doc);
void cli_far_note(const struct cli *cli, const struct cli_far *far);
void cli_far_end(struct cli_far *far);
#endif
