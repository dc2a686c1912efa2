#include "config.h"

#include "src/ops/doctor/doctor.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/engine/arch.h"
#include "src/engine/blas.h"
#include "src/engine/matrix.h"
#include "src/net/credentials.h"
#include "src/net/key.h"
#include "src/net/ssh_key.h"
#include "src/net/url.h"
#include "src/ops/about/about.h"
#include "src/ops/fetch/fetch.h"

#define OLLAMAS_HOST "registry.ollama.ai"
#define MEMORY_LOW ((uint64_t)2 << 30)

/* Words of /proc/cpuinfo that say what products can be made of. */
static const char *const features[] = {
	"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vbmi", "avx512_vnni",
	"avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "sha_ni",
	"asimd", "asimddp", "i8mm", "bf16", "sve", "sve2", NULL
};

static enum tb_status
problem(struct doctor *d, struct tb_err *err, const char *fmt, ...) TB_PRINTF(3, 4);

static enum tb_status
problem(struct doctor *d, struct tb_err *err, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return tb_names_add(&d->problems, line, err);
}

/* ---- the CPU ---- */

static void
take_model(struct doctor *d, const char *line)
{
	const char *value = strchr(line, ':');
	size_t n;

	if (!value || *d->cpu)
		return;
	value += 1 + strspn(value + 1, " \t");
	n = strcspn(value, "\n");
	n = n < sizeof(d->cpu) ? n : sizeof(d->cpu) - 1;
	memcpy(d->cpu, value, n);
	d->cpu[n] = 0;
}

static enum tb_status
take_features(struct doctor *d, char *line, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *save = NULL, *words = strchr(line, ':');

	for (char *w = words ? strtok_r(words + 1, " \t\n", &save) : NULL; w && !status;
	     w = strtok_r(NULL, " \t\n", &save))
		for (const char *const *f = features; *f && !status; f++)
			if (!strcmp(w, *f))
				status = tb_names_add(&d->features, w, err);
	return status;
}

/* Of the first core: all are taken to be alike. */
static enum tb_status
look_at_cpu(struct doctor *d, struct tb_err *err)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	enum tb_status status = TB_OK;
	char *line = NULL;
	size_t cap = 0;

	while (f && !status && getline(&line, &cap, f) > 0 && *line != '\n') {
		if (!strncmp(line, "model name", 10))
			take_model(d, line);
		else if (!strncmp(line, "flags", 5) || !strncmp(line, "Features", 8))
			status = take_features(d, line, err);
	}
	free(line);
	if (f)
		fclose(f);
	return status;
}

static const char *const schemes[] = {
	"int4", "int8", "affine:6:64", "affine:5:64", "affine:3:64", "affine:2:64", "mxfp4", "nvfp4",
	"mxfp8", "bf16", "f16", "f32", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k",
	"q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", NULL
};

static enum tb_status
look_at_kernels(struct doctor *d, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	d->level = matmul_kernels();
	for (const char *const *name = schemes; *name && !status; name++) {
		struct doctor_kernel *k;
		struct scheme s;

		if ((status = scheme_parse(*name, &s, err)))
			return status;
		if (!tb_grow(&d->kernels, &d->kernels_cap, d->nkernels + 1, sizeof(*d->kernels)))
			return tb_nomem(err);
		k = &d->kernels[d->nkernels++];
		scheme_name(&s, k->scheme);
		matmul_names(&s, &k->decode, &k->prefill);
	}
	return status;
}

/* ---- memory, threads, terminal ---- */

static enum tb_status
look_at_memory(struct doctor *d, const struct op_ctx *ctx, struct tb_err *err)
{
	double speed;
	enum tb_status status = memory_speed(ctx->threads, &speed, err);

	memory_machine(&d->memory, &d->available);
	d->bandwidth = status ? 0 : 1e-9 * speed;
	return status;
}

static void
look_at_terminal(struct doctor *d)
{
	const char *term = getenv("TERM");
	struct winsize w;

	d->terminal = term ? term : "";
	d->charset = nl_langinfo(CODESET);
	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w)) {
		d->columns = w.ws_col;
		d->lines = w.ws_row;
	}
}

/* ---- what holds it down ---- */

static enum tb_status
held_down(struct doctor *d, struct tb_err *err)
{
	const char *blas = blas_held_down(), *cpu = getenv("TBTUI_CPU");
	const char *omp = getenv("OMP_NUM_THREADS"), *own = getenv("OPENBLAS_NUM_THREADS");
	enum tb_status status = TB_OK;

	if (blas)
		status = problem(d, err, "%s; unset it", blas);
	if (!status && cpu)
		status = problem(d, err, "TBTUI_CPU is \"%.40s\": kernels run at most at %s; unset it "
				 "for all this CPU can do", cpu, d->level);
	if (!status && (omp || own))
		status = problem(d, err, "%s is set: OpenBLAS may use fewer threads than tbtui asks "
				 "for; unset it", omp ? "OMP_NUM_THREADS" : "OPENBLAS_NUM_THREADS");
	if (!status && d->threads > d->cores)
		status = problem(d, err, "%u threads share %u cores, which is slower than one each; "
				 "leave --threads out", d->threads, d->cores);
	if (!status && !strcmp(d->level, "scalar"))
		status = problem(d, err, "no kernel is made for this CPU: products run at a small part "
				 "of its speed; AVX2 or AVX-512 is wanted");
	return status;
}

/* Downloads that did not end. */
static enum tb_status
halves_in(struct doctor *d, const char *dir, struct tb_err *err)
{
	struct fetch_lefts lefts;
	enum tb_status status = TB_OK;

	if (fetch_left_read(&lefts, dir, NULL))
		return TB_OK;
	for (size_t i = 0; i < lefts.n && !status; i++) {
		char *text = lefts.v[i].in_use ? NULL : fetch_left_text(&lefts.v[i]);

		if (text && lefts.v[i].there)
			status = problem(d, err, "%s: %s; \"tbtui prune\" takes it away", dir, text);
		free(text);
	}
	fetch_left_free(&lefts);
	return status;
}

static enum tb_status
halves_of(struct doctor *d, const char *store, struct tb_err *err)
{
	struct tb_names dirs;
	enum tb_status status = fetch_left_dirs(&dirs, store, err);

	for (size_t i = 0; i < dirs.n && !status; i++)
		status = halves_in(d, dirs.v[i], err);
	tb_names_free(&dirs);
	return status;
}

static enum tb_status
wrong_places(struct doctor *d, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < d->places.n && !status; i++) {
		const struct place *p = &d->places.rows[i];

		if (p->state == PLACE_UNREADABLE)
			status = problem(d, err, "%s cannot be read: check its permissions", p->path);
		else if (p->state == PLACE_NEW)
			status = problem(d, err, "%s has not been scanned: \"tbtui scan\" does", p->path);
		else if (p->state == PLACE_ABSENT && p->from != PLACE_USUAL)
			status = problem(d, err, "%s is not there: \"tbtui stores remove\" forgets it",
					 p->path);
		if (!status)
			status = halves_of(d, p->path, err);
	}
	if (!status && !d->places.n)
		status = problem(d, err, "no store was found: \"tbtui stores add DIR\" names one, \"tbtui "
				 "demo\" makes one to look around in");
	return status;
}

/* Is there a key for each?  What is wrong with where they are kept is a problem. */
static enum tb_status
look_at_remotes(struct doctor *d, const struct op_ctx *ctx, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < ctx->config.n && !status; i++) {
		const struct config_line *l = &ctx->config.lines[i];
		struct doctor_remote *r;
		struct tb_err why;
		struct url u;
		char *key;

		if (!config_is_remote(l))
			continue;
		if (!tb_grow(&d->remotes, &d->remotes_cap, d->nremotes + 1, sizeof(*d->remotes)))
			return tb_nomem(err);
		r = &d->remotes[d->nremotes++];
		*r = (struct doctor_remote){ l->word[1], l->word[2], false };
		if ((status = url_parse(&u, r->url, err)))
			break;
		if (api_key_find(&u, &key, &why))
			status = problem(d, err, "%s: %s", r->name, why.msg);
		r->key = key != NULL;
		api_key_free(key);
		url_free(&u);
	}
	return status;
}

/* Ollama's own takes the key that its program makes. */
static enum tb_status
ollamas_key(char **from, struct doctor *d, struct tb_err *err)
{
	char *path = ssh_key_ollama();
	enum tb_status status = TB_OK;
	struct tb_err why;
	struct ssh_key k;

	if (!path)
		return tb_nomem(err);
	if (*path && !tb_absent(path)) {
		if (ssh_key_read(&k, path, &why))
			status = problem(d, err, "%s", why.msg);
		else
			*from = path;
		ssh_key_wipe(&k);
	}
	if (*from != path)
		free(path);
	return status;
}

/* named: it has a line, and is listed also with nothing to show. */
static enum tb_status
add_registry(struct doctor *d, const struct op_ctx *ctx, const char *host, bool named,
	     struct tb_err *err)
{
	struct config_registry said;
	enum tb_status status;
	char *url, *from = NULL;
	struct url u = { 0 };
	struct tb_err why;

	for (size_t i = 0; i < d->nregistries; i++)
		if (!strcasecmp(d->registries[i].host, host))
			return TB_OK;
	config_registry(&ctx->config, host, &said);
	url = tb_asprintf("%s://%s", said.plain ? "http" : "https", host);
	status = url ? TB_OK : tb_nomem(err);
	if (!status)
		status = url_parse(&u, url, err);
	if (!status && credentials_where(&u, &from, &why) && !tb_names_have(&d->problems, why.msg))
		status = problem(d, err, "%s", why.msg);
	if (!status && !from && !strcmp(host, OLLAMAS_HOST))
		status = ollamas_key(&from, d, err);
	if (!status && (from || named)) {
		if (tb_grow(&d->registries, &d->registries_cap, d->nregistries + 1,
			    sizeof(*d->registries))) {
			struct doctor_registry *r = &d->registries[d->nregistries++];

			snprintf(r->host, sizeof(r->host), "%s", host);
			r->from = from;
			from = NULL;
		} else {
			status = tb_nomem(err);
		}
	}
	free(from);
	url_free(&u);
	free(url);
	return status;
}

static enum tb_status
look_at_registries(struct doctor *d, const struct op_ctx *ctx, struct tb_err *err)
{
	static const char *const usual[] = { OLLAMAS_HOST, "docker.io", "ghcr.io", "quay.io" };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < ctx->config.n && !status; i++)
		if (config_is_registry(&ctx->config.lines[i]))
			status = add_registry(d, ctx, ctx->config.lines[i].word[1], true, err);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual) && !status; i++)
		status = add_registry(d, ctx, usual[i], false, err);
	return status;
}

static enum tb_status
find_problems(struct doctor *d, const struct op_ctx *ctx, struct tb_err *err)
{
	enum tb_status status = held_down(d, err);

	if (!status && d->available && d->available < MEMORY_LOW)
		status = problem(d, err, "less than 2 GB of memory are free: large models will be read "
				 "from the disk again for every token");
	if (!status && strcmp(d->charset, "UTF-8"))
		status = problem(d, err, "the locale's characters are %s: screens are drawn in ASCII; "
				 "LC_ALL=C.UTF-8 gives lines and bars", d->charset);
	if (!status && (!*d->terminal || !strcmp(d->terminal, "dumb")))
		status = problem(d, err, "TERM is %s: the screens need a terminal; --plain does without",
				 *d->terminal ? "\"dumb\"" : "not set");
	if (!status && d->columns && (d->columns < 80 || d->lines < 24))
		status = problem(d, err, "the terminal has %u columns and %u lines; screens are made for "
				 "80 and 24", d->columns, d->lines);
	if (!status && ctx->config.nwrong)
		status = problem(d, err, "%s: %zu line%s not understood; --print-config shows them",
				 ctx->config.path, ctx->config.nwrong,
				 ctx->config.nwrong == 1 ? " was" : "s were");
	return status ? status : wrong_places(d, err);
}

void
doctor_free(struct doctor *d)
{
	tb_names_free(&d->features);
	tb_names_free(&d->models);
	tb_names_free(&d->problems);
	places_free(&d->places);
	free(d->kernels);
	free(d->remotes);
	for (size_t i = 0; i < d->nregistries; i++)
		free(d->registries[i].from);
	free(d->registries);
	*d = (struct doctor){ 0 };
}

static enum tb_status
list_architectures(struct doctor *d, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (const struct arch *a = NULL; !status && (a = arch_next(a));) {
		if (tb_names_have(&d->models, a->name))		/* dense, and with experts */
			continue;
		status = tb_names_add(&d->models, a->name, err);
		tb_names_sort(&d->models);
	}
	return status;
}

enum tb_status
op_doctor(const struct op_ctx *ctx, struct doctor *out, struct tb_err *err)
{
	enum tb_status status;

	*out = (struct doctor){ .cores = tb_cpus(), .threads = ctx->threads, .blas = blas_core() };
	look_at_terminal(out);
	if ((status = list_architectures(out, err)) || (status = look_at_cpu(out, err)) ||
	    (status = look_at_kernels(out, err)) ||
	    (status = look_at_memory(out, ctx, err)) ||
	    (status = op_places(ctx, false, &out->places, err)) ||
	    (status = look_at_remotes(out, ctx, err)) ||
	    (status = look_at_registries(out, ctx, err)) ||
	    (status = find_problems(out, ctx, err)))
		doctor_free(out);
	return status;
}
