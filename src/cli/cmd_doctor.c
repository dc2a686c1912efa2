/* cmd_doctor.c - "tbtui doctor": what this machine and this build can do. */
#include "config.h"

#include "src/cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/format/json.h"
#include "src/ops/doctor/doctor.h"
#include "src/ops/home/home.h"

static cJSON *
names_json(const struct tb_names *names)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < names->n; i++)
		json_push_str(list, names->v[i]);
	return list;
}

static cJSON *
terminal_json(const struct doctor *d)
{
	cJSON *o = json_object();

	json_set_str(o, "name", d->terminal);
	json_set_str(o, "charset", d->charset);
	json_set_u64(o, "columns", d->columns);
	json_set_u64(o, "lines", d->lines);
	return o;
}

static cJSON *
remotes_json(const struct doctor *d)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < d->nremotes; i++) {
		cJSON *o = json_object();

		json_set_str(o, "name", d->remotes[i].name);
		json_set_str(o, "url", d->remotes[i].url);
		json_set_bool(o, "key", d->remotes[i].key);
		json_push(list, o);
	}
	return list;
}

static cJSON *
registries_json(const struct doctor *d)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < d->nregistries; i++) {
		cJSON *o = json_object();

		json_set_str(o, "host", d->registries[i].host);
		json_set_str(o, "credentials", d->registries[i].from);
		json_push(list, o);
	}
	return list;
}

static enum cli_exit
doctor_json(const struct doctor *d)
{
	cJSON *doc = json_object(), *kernels = json_array(), *stores = json_array();

	for (size_t i = 0; i < d->nkernels; i++) {
		cJSON *o = json_object();

		json_set_str(o, "scheme", d->kernels[i].scheme);
		json_set_str(o, "decode", d->kernels[i].decode);
		json_set_str(o, "prefill", d->kernels[i].prefill);
		json_push(kernels, o);
	}
	for (size_t i = 0; i < d->places.n; i++) {
		cJSON *o = json_object();

		json_set_str(o, "path", d->places.rows[i].path);
		json_set_str(o, "state", place_state_word(d->places.rows[i].state));
		json_set_u64(o, "models", d->places.rows[i].models);
		json_push(stores, o);
	}
	json_set_str(doc, "version", PACKAGE_VERSION);
	json_set_str(doc, "cpu", d->cpu);
	json_set(doc, "features", names_json(&d->features));
	json_set_str(doc, "level", d->level);
	json_set(doc, "kernels", kernels);
	json_set(doc, "models", names_json(&d->models));
	json_set_str(doc, "blas", d->blas);
	json_set_u64(doc, "cores", d->cores);
	json_set_u64(doc, "threads", d->threads);
	json_set_f64(doc, "memory_bandwidth", d->bandwidth > 0 ? 1e9 * d->bandwidth : NAN);
	json_set_u64(doc, "memory", d->memory);
	json_set_u64(doc, "memory_available", d->available);
	json_set(doc, "terminal", terminal_json(d));
	json_set(doc, "stores", stores);
	json_set(doc, "remotes", remotes_json(d));
	json_set(doc, "registries", registries_json(d));
	json_set(doc, "problems", names_json(&d->problems));
	return cli_print_json(doc);
}

/* Schemes that the same kernels multiply, a line. */
static void
print_kernels(const struct doctor *d)
{
	for (size_t i = 0; i < d->nkernels; i++) {
		const struct doctor_kernel *k = &d->kernels[i];
		size_t first = 0;

		while (strcmp(d->kernels[first].decode, k->decode) ||
		       strcmp(d->kernels[first].prefill, k->prefill))
			first++;
		if (first < i)
			continue;
		printf("  decode %s, prefill %s:", k->decode, k->prefill);
		for (size_t j = i; j < d->nkernels; j++)
			if (!strcmp(d->kernels[j].decode, k->decode) &&
			    !strcmp(d->kernels[j].prefill, k->prefill))
				printf(" %s", d->kernels[j].scheme);
		putchar('\n');
	}
}

static void
print_machine(const struct doctor *d)
{
	char all[16], left[16];

	cli_line("CPU       %s, %u core%s, %u thread%s", *d->cpu ? d->cpu : "unknown", d->cores,
		 tb_plural(d->cores), d->threads, tb_plural(d->threads));
	fputs("features ", stdout);
	for (size_t i = 0; i < d->features.n; i++)
		printf(" %s", d->features.v[i]);
	printf("\nkernels   %s\n", d->level);
	print_kernels(d);
	fputs("models   ", stdout);
	for (size_t i = 0; i < d->models.n; i++)
		printf(" %s", d->models.v[i]);
	printf("\nOpenBLAS  %s\n", d->blas);
	printf("memory    %s, %s free", tb_human_bytes(d->memory, all),
	       tb_human_bytes(d->available, left));
	if (d->bandwidth > 0)
		printf(", read at %.1f GB/s", d->bandwidth);
	putchar('\n');
	if (d->columns)
		cli_line("terminal  %s, %s, %u x %u", d->terminal, d->charset, d->columns, d->lines);
	else
		cli_line("terminal  %s, %s, output is not one", *d->terminal ? d->terminal : "none",
			 d->charset);
}

static enum cli_exit
doctor_text(const struct doctor *d)
{
	printf("tbtui %s\n", PACKAGE_VERSION);
	print_machine(d);
	for (size_t i = 0; i < d->places.n; i++)
		cli_line("store     %s: %s, %ju model%s", d->places.rows[i].path,
			 place_state_word(d->places.rows[i].state),
			 (uintmax_t)d->places.rows[i].models, tb_plural(d->places.rows[i].models));
	for (size_t i = 0; i < d->nremotes; i++)
		cli_line("remote    %s: %s, key: %s", d->remotes[i].name, d->remotes[i].url,
			 d->remotes[i].key ? "yes" : "no");
	for (size_t i = 0; i < d->nregistries; i++)
		cli_line("registry  %s: credentials: %s", d->registries[i].host,
			 d->registries[i].from ? d->registries[i].from : "none");
	if (!d->problems.n)
		puts("\nNothing holds it down.");
	else
		puts("\nWhat could be better:");
	for (size_t i = 0; i < d->problems.n; i++)
		cli_line("* %s", d->problems.v[i]);
	return CLI_OK;
}

COMMAND(cli_doctor, "doctor", "", "report what this machine and this build can do")
{
	enum cli_exit status;
	struct doctor d;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 0, &status))
		return status;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	if (op_doctor(&ctx, &d, &err)) {
		status = cli_fail(&err);
	} else {
		status = cli->json ? doctor_json(&d) : doctor_text(&d);
		if (status == CLI_OK && d.problems.n)
			status = CLI_WRONG;
		doctor_free(&d);
	}
	op_ctx_free(&ctx);
	return status;
}
