#include "config.h"

#include "src/cli/unsafe.h"

#include "src/net/image_name.h"
#include "src/ops/home/home.h"

void
cli_unsafe(const struct cli *cli, const struct config *config, const char *name, bool insecure,
	   bool skip_verify)
{
	struct config_registry said = { 0 };
	struct cli loud = *cli;
	struct image_name n;

	loud.quiet = false;
	if (!image_name_parse(&n, name, NULL)) {
		config_registry(config, n.host, &said);
		image_name_free(&n);
	}
	if (insecure)
		cli_note(cli, "--insecure: plain HTTP; all in between can read and change what goes over it,"
			 " and digests are those of a manifest that they can change");
	if (skip_verify || said.skip_verify)
		cli_note(&loud, skip_verify ? "WARNING: --tls-skip-verify: NOBODY CHECKS WHO ANSWERS. Whoever is in"
			 " between can read your credentials and give you another model"
			 : "WARNING: skip-verify in the configuration: NOBODY CHECKS WHO ANSWERS. Whoever is"
			 " in between can read your credentials and give you another model");
}
