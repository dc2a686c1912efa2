/* cmd_export.c - tbtui export: models as others take them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/bundle_file.h"
#include "src/cli/plan_args.h"
#include "src/face/after.h"
#include "src/format/json.h"

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

struct image_task {
	struct op_ctx ctx;
	struct image_request req;
	struct image_result res;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
image_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct image_task *t = arg;
	enum tb_status status = op_image(&t->ctx, &t->req, job, &t->res, err);

	after_writing(&t->ctx, status, &t->late);
	return status;
}

static enum cli_exit
image_print(const struct cli *cli, const struct image_task *t)
{
	const struct image_result *r = &t->res;
	cJSON *doc, *names;
	char bytes[16];

	if (cli->json) {
		doc = json_object();
		names = json_array();
		for (size_t i = 0; i < r->names.n; i++)
			json_push_str(names, r->names.v[i]);
		json_set_str(doc, "layout", t->req.layout);
		json_set(doc, "images", names);
		json_set_u64(doc, "blobs_written", r->written);
		json_set_u64(doc, "blobs_there", r->there);
		json_set_u64(doc, "bytes_written", r->bytes);
		return cli_print_json(doc);
	}
	if (cli->quiet)
		return CLI_OK;
	for (size_t i = 0; i < r->names.n; i++)
		cli_line("oci:%s:%s", t->req.layout, r->names.v[i]);
	cli_line("%zu blob%s written, %s; %zu there already", r->written, tb_plural(r->written),
		 tb_human_bytes(r->bytes, bytes), r->there);
	return CLI_OK;
}

static enum cli_exit
export_oci(struct cli *cli, const struct export_args *x)
{
	struct image_task t = { .req = { x->refs, x->nrefs, x->dest, x->replace } };
	enum cli_exit shown = CLI_OK;
	struct tb_err err;
	enum tb_status status;

	if (tb_starts(x->dest, "oci:"))
		t.req.layout += strlen("oci:");
	if (!*t.req.layout)
		return cli_usage("export: which folder?");
	if (cli_ctx(cli, &t.ctx, &err))
		return cli_fail(&err);
	status = cli_run(cli, "export", image_run, &t, &err);
	if (tb_written(status))
		shown = image_print(cli, &t);
	shown = cli_made_end(status, &err, &t.late, shown);
	tb_names_free(&t.res.names);
	op_ctx_free(&t.ctx);
	return shown;
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
	{ "oci", true, false, false, export_oci },
	{ "bundle", true, false, false, export_bundle },
};

static bool
is_layout(const char *dest)
{
	struct tb_path path;

	return tb_starts(dest, "oci:") || tb_exists(tb_path_in(&path, dest, "oci-layout"));
}

/* What was said, else what the destination looks like; NULL: it is none. */
static const struct form *
form_of(const struct export_args *x)
{
	const char *name = x->as ? x->as
			   : !strcmp(x->dest, "-") || tb_ends(x->dest, ".tar") ? "bundle"
			   : tb_ends(x->dest, ".gguf") ? "gguf" : is_layout(x->dest) ? "oci" : x->dtype ? "hf" : "mlx";

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

static enum cli_exit
check(const struct export_args *x, const struct form *f)
{
	if (!f)
		return cli_usage("--as: hf, mlx, gguf, oci or bundle, not \"%.40s\"", x->as);
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
	"write models as a folder, a GGUF file, an image or one archive")
{
	struct export_args x = { .as = NULL };
	const struct form *form;
	const struct tb_opt opts[] = {
		{ 0, "as", TB_OPT_STR, &x.as, "WHAT", "hf (a folder, nothing quantized), mlx (a folder, "
		  "codes as they are), gguf, oci (an image added to a layout) or "
		  "bundle (one archive, - for "
		  "standard output); default: by DEST's name: .gguf, .tar, oci:DIR, else mlx" },
		{ 0, "dtype", TB_OPT_STR, &x.dtype, "DTYPE", "with hf: what "
		  "quantized tensors are decoded "
		  "to: bf16 (default), f16 or f32" },
		{ 'q', "quantize", TB_OPT_STR, &x.quant, "SCHEME", "with gguf: a "
		  "scheme as for quantize, such as Q4_K_M (default: keep)" },
		{ 'f', "replace", TB_OPT_FLAG, &x.replace, NULL,
		  "replace DEST if it exists; an old model is kept" },
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
