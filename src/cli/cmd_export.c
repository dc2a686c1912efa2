/* cmd_export.c - tbtui export: models as others take them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/bundle_file.h"
#include "src/cli/plan_args.h"

struct export_args {
	const char *as, *quant, *dtype;
	bool replace;
	const char *const *refs;
	size_t nrefs;
	const char *dest;
};

static enum cli_exit
export_bundle(struct cli *cli, const struct export_args *x)
{
	return bundle_file_write(cli, x->refs, x->nrefs, x->dest, x->replace);
}

/* "mine" is a folder here, never a name in a store. */
static enum cli_exit
export_folder(struct cli *cli, const struct export_args *x, const struct plan_args *a)
{
	const char *d = x->dest;
	bool path = *d == '.' || *d == '/' || tb_starts(d, "~/");
	char *dir = tb_asprintf("%s%s%s", path ? "" : "./", d, tb_ends(d, "/") ? "" : "/");
	enum cli_exit status;
	struct tb_err err;

	if (!dir)
		return tb_nomem(&err), cli_fail(&err);
	status = cli_convert(cli, "export", a, x->replace, x->refs[0], dir);
	free(dir);
	return status;
}

/* As Transformers reads it: no codes, an expert a tensor. */
static enum cli_exit
export_hf(struct cli *cli, const struct export_args *x)
{
	const char *dtype = x->dtype ? x->dtype : "bf16";
	const struct plan_args a = { .quant = "keep", .plain = dtype, .decode = dtype,
				     .experts = "per-expert", .requantize = true };

	return export_folder(cli, x, &a);
}

static enum cli_exit
export_mlx(struct cli *cli, const struct export_args *x)
{
	const struct plan_args a = { .quant = "keep", .experts = "switch-mlp" };

	return export_folder(cli, x, &a);
}

static enum cli_exit
export_gguf(struct cli *cli, const struct export_args *x)
{
	const struct plan_args a = { .quant = x->quant ? x->quant : "keep" };

	if (!tb_ends(x->dest, ".gguf"))
		return cli_usage("%s: the name of a GGUF file ends in .gguf", x->dest);
	return cli_convert(cli, "export", &a, x->replace, x->refs[0], x->dest);
}

/* several: takes any number of models; quant, dtype: the option means something. */
static const struct form {
	const char *name;
	bool several, quant, dtype;
	enum cli_exit (*run)(struct cli *cli, const struct export_args *x);
} forms[] = {
	{ "hf", false, false, true, export_hf },
	{ "mlx", false, false, false, export_mlx },
	{ "gguf", false, true, false, export_gguf },
	{ "bundle", true, false, false, export_bundle },
};

/* What was said, else what the destination looks like; NULL: it is none. */
static const struct form *
form_of(const struct export_args *x)
{
	const char *name = x->as ? x->as
			   : !strcmp(x->dest, "-") || tb_ends(x->dest, ".tar") ? "bundle"
			   : tb_ends(x->dest, ".gguf") ? "gguf" : x->dtype ? "hf" : "mlx";

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

static enum cli_exit
check(const struct export_args *x, const struct form *f)
{
	if (!f)
		return cli_usage("--as: hf, mlx, gguf or bundle, not \"%.40s\"", x->as);
	if (x->nrefs > 1 && !f->several)
		return cli_usage("export --as %s takes one model; a bundle (FILE.tar) takes several",
				 f->name);
	if (x->quant && !f->quant)
		return cli_usage("-q is for GGUF files; quantize makes other models");
	if (x->dtype && (!f->dtype || (strcasecmp(x->dtype, "bf16") != 0 &&
				       strcasecmp(x->dtype, "f16") != 0 &&
				       strcasecmp(x->dtype, "f32") != 0)))
		return cli_usage("--dtype: bf16, f16 or f32, with --as hf");
	return CLI_OK;
}

COMMAND(cli_export, "export", "REF... DEST",
	"a model as others take it: a folder, a GGUF file, or one archive for no network")
{
	struct export_args x = { .as = NULL };
	const struct form *form;
	const struct tb_opt opts[] = {
		{ 0, "as", TB_OPT_STR, &x.as, "WHAT", "hf (a folder, nothing quantized), mlx (a folder, "
		  "codes as they are), gguf or bundle (one archive, - for standard output, of any number "
		  "of models); default: by DEST's name: .gguf, .tar, else mlx" },
		{ 0, "dtype", TB_OPT_STR, &x.dtype, "DTYPE", "of hf: what quantized tensors are decoded "
		  "to: bf16 (default), f16 or f32" },
		{ 'q', "quantize", TB_OPT_STR, &x.quant, "SCHEME", "of gguf: as quantize takes it, Q4_K_M "
		  "(default: keep)" },
		{ 'f', "replace", TB_OPT_FLAG, &x.replace, NULL,
		  "the destination may exist; of a model the old one is kept" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 2, -1, &status))
		return status;
	x.refs = (const char *const *)argv + 1;
	x.nrefs = (size_t)argc - 2;
	x.dest = argv[argc - 1];
	form = form_of(&x);
	status = check(&x, form);
	return status ? status : form->run(cli, &x);
}
