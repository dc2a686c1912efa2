/* cmd_cp.c - tbtui cp (tag), mv: names of models. */
#include "config.h"

#include "src/cli/tidy.h"

static enum cli_exit
rename_or_copy(struct cli *cli, enum tidy_kind kind, int argc, char **argv)
{
	struct tidy_request req = { .kind = kind };
	bool dry = false;
	const struct tb_opt opts[] = {
		{ 'n', "dry-run", TB_OPT_FLAG, &dry, NULL, "only say what would be done" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	req.names = (const char *const *)argv + 1;
	req.n = 2;
	return cli_tidy(cli, &req, dry);
}

COMMAND(cli_cp, "cp", "REF NAME", "give a model a second name; no data is copied")
{
	return rename_or_copy(cli, TIDY_CP, argc, argv);
}

COMMAND(cli_tag, "tag", "REF NAME", "the same as cp")
{
	return rename_or_copy(cli, TIDY_CP, argc, argv);
}

COMMAND(cli_mv, "mv", "REF NAME", "rename a model, folder or file")
{
	return rename_or_copy(cli, TIDY_MV, argc, argv);
}
