/* cmd_bundle.c - tbtui bundle: what is in an archive of models, and whether it is whole. */
#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/cli/bundle_file.h"
#include "src/format/json.h"

static cJSON *
bundle_json(const struct bundle *b)
{
	cJSON *doc = json_object();

	json_set_str(doc, "made_by", b->made_by);
	json_set_str(doc, "made", b->made);
	json_set_u64(doc, "members", b->nmembers);
	json_set_u64(doc, "bytes", b->bytes);
	json_set(doc, "models", bundle_models_json(b));
	return doc;
}

static enum cli_exit
bundle_list(struct cli *cli, struct bundle_source *src)
{
	char bytes[16];
	struct bundle b;
	struct tb_err err;

	if (op_bundle_list(src, &b, &err))
		return cli_fail(&err);
	if (cli->json) {
		cli_print_json(bundle_json(&b));
	} else {
		for (size_t i = 0; i < b.nmodels; i++)
			cli_line("%s  %s  %s", b.models[i].name, b.models[i].kind,
				 tb_human_bytes(b.models[i].bytes, bytes));
		if (!cli->quiet)
			cli_line("%zu model%s in %zu file%s, %s, made %s by %s", b.nmodels,
				 tb_plural(b.nmodels), b.nmembers, tb_plural(b.nmembers),
				 tb_human_bytes(b.bytes, bytes), b.made, b.made_by);
	}
	bundle_free(&b);
	return CLI_OK;
}

struct verify_task {
	struct bundle_source *src;
	struct bundle b;
	struct bundle_damage damage;
};

static enum tb_status
verify_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct verify_task *t = arg;

	return op_bundle_verify(t->src, job, &t->b, &t->damage, err);
}

static void
verify_json(const struct verify_task *t)
{
	cJSON *doc = bundle_json(&t->b), *list = json_array(), *o;

	for (size_t i = 0; i < t->damage.n; i++) {
		o = json_object();
		json_set_str(o, "member", t->damage.v[i].member);
		json_set_str(o, "why", t->damage.v[i].why);
		json_push(list, o);
	}
	json_set_bool(doc, "ok", !t->damage.n);
	json_set_u64(doc, "good", t->damage.good);
	json_set(doc, "damage", list);
	cli_print_json(doc);
}

static enum cli_exit
bundle_verify(struct cli *cli, struct bundle_source *src)
{
	struct verify_task t = { .src = src };
	const struct bundle_damage *d = &t.damage;
	enum cli_exit result;
	char bytes[16];
	struct tb_err err;

	if (cli_run(cli, "verify", verify_run, &t, &err))
		return cli_fail(&err);
	result = d->n ? CLI_WRONG : CLI_OK;
	if (cli->json) {
		verify_json(&t);
	} else {
		for (size_t i = 0; i < d->n; i++)
			cli_line("%s: %s", d->v[i].member, d->v[i].why);
		if (d->n)
			cli_line("%s: damaged; %ju of %zu files are as they should be", src->what,
				 (uintmax_t)d->good, t.b.nmembers);
		else if (!cli->quiet)
			cli_line("%s: all %zu file%s with %s %s as the list says", src->what,
				 t.b.nmembers, tb_plural(t.b.nmembers),
				 tb_human_bytes(t.b.bytes, bytes), t.b.nmembers == 1 ? "is" : "are");
	}
	bundle_damage_free(&t.damage);
	bundle_free(&t.b);
	return result;
}

COMMAND(cli_bundle, "bundle", "list|verify FILE", "list or verify an archive of models")
{
	const struct tb_opt opts[] = { { .name = NULL } };
	struct bundle_source src;
	enum cli_exit status;
	struct tb_err err;
	bool verify;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	verify = !strcmp(argv[1], "verify");
	if (!verify && strcmp(argv[1], "list") != 0)
		return cli_usage("bundle: list or verify, not \"%.40s\"", argv[1]);
	if (bundle_file_open(&src, argv[2], &err))
		return cli_fail(&err);
	status = verify ? bundle_verify(cli, &src) : bundle_list(cli, &src);
	bundle_file_close(&src);
	return status;
}
