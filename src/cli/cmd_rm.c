/* cmd_rm.c - tbtui rm, prune: what goes to the quarantine. */
#include "config.h"

#include "src/cli/tidy.h"

static enum cli_exit
take_away(struct cli *cli, enum tidy_kind kind, int argc, char **argv, int min, int max)
{
	struct tidy_request req = { .kind = kind };
	bool dry = false;
	const struct tb_opt opts[] = {
		{ 'n', "dry-run", TB_OPT_FLAG, &dry, NULL, "only say what would go" },
		{ 0, "young", TB_OPT_FLAG, &req.young, NULL,
		  "also blobs younger than an hour, which a download in progress may "
		  "need" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, min, max, &status))
		return status;
	req.names = (const char *const *)argv + 1;
	req.n = (size_t)argc - 1;
	return cli_tidy(cli, &req, dry);
}

COMMAND(cli_rm, "rm", "REF...", "remove models; undo brings them back")
{
	return take_away(cli, TIDY_RM, argc, argv, 1, -1);
}

COMMAND(cli_prune, "prune", "", "remove what no model uses; undo brings it back")
{
	return take_away(cli, TIDY_PRUNE, argc, argv, 0, 0);
}
