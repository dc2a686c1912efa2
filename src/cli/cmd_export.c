/* cmd_export.c - tbtui export: a model as others take it. */
#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/cli/bundle_file.h"

COMMAND(cli_export, "export", "REF... DEST",
	"a model as others take it: one archive for machines without a network")
{
	const char *as = NULL;
	bool replace = false;
	const struct tb_opt opts[] = {
		{ 0, "as", TB_OPT_STR, &as, "WHAT", "bundle: a file, - for standard output; holds "
		  "several models" },
		{ 'f', "replace", TB_OPT_FLAG, &replace, NULL, "the destination may exist" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 2, -1, &status))
		return status;
	if (as && strcmp(as, "bundle") != 0)
		return cli_usage("--as: bundle, not \"%.40s\"", as);
	return bundle_file_write(cli, (const char *const *)argv + 1, (size_t)argc - 2,
				 argv[argc - 1], replace);
}
