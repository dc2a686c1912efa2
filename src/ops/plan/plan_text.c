/* plan_text.c - the words of a plan: what people type and read. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/ops/plan/plan_parts.h"

#define X(id, name, arg, help) [id] = name,
static const char *const policies[] = { PLAN_POLICY_LIST(X) };
#undef X
#define X(id, name) [id] = name,
static const char *const layouts[] = { PLAN_EXPERTS_LIST(X) };
static const char *const shares[] = { PLAN_SHARED_LIST(X) };
static const char *const whys[] = { PLAN_WHY_LIST(X) };
#undef X

const char *
plan_policy_name(enum plan_policy p)
{
	return policies[p];
}

const char *
plan_experts_name(enum plan_experts e)
{
	return layouts[e];
}

const char *
plan_why_text(enum plan_why w)
{
	return whys[w];
}

bool
plan_left_out(enum plan_why w)
{
	return w == PLAN_LEFT_OUT || w == PLAN_BESIDE;
}

/* n: it is none of them. */
static unsigned
find_word(const char *s, const char *const *words, unsigned n)
{
	unsigned i = 0;

	while (i < n && strcmp(s, words[i]))
		i++;
	return i;
}

bool
plan_experts_parse(const char *s, enum plan_experts *out)
{
	*out = find_word(s, layouts, PLAN_EXPERTS_COUNT);
	return *out < PLAN_EXPERTS_COUNT;
}

bool
plan_experts_stack(enum plan_experts e)
{
	return e == PLAN_EXPERTS_STACKED || e == PLAN_EXPERTS_PROJECTION || e == PLAN_EXPERTS_SWITCH;
}

const char *
plan_shared_name(enum plan_shared s)
{
	return shares[s];
}

bool
plan_shared_parse(const char *s, enum plan_shared *out)
{
	*out = find_word(s, shares, PLAN_SHARED_COUNT);
	return *out < PLAN_SHARED_COUNT;
}

enum tb_status
plan_target_parse(const char *s, struct plan_target *out, struct tb_err *err)
{
	*out = (struct plan_target){ .keep = !strcasecmp(s, "keep") };
	return out->keep ? TB_OK : scheme_parse(s, &out->scheme, err);
}

enum tb_status
plan_rule_parse(const char *text, struct plan_rule *out, struct tb_err *err)
{
	const char *eq = strrchr(text, '=');
	enum tb_status status;

	out->pattern = NULL;
	if (!eq || eq == text)
		return tb_fail(err, TB_EUSAGE, "\"%s\" is no rule: PATTERN=SCHEME", text);
	status = plan_target_parse(eq + 1, &out->target, err);
	if (!status && !(out->pattern = tb_strndup(text, (size_t)(eq - text))))
		status = tb_nomem(err);
	return status;
}

bool
plan_policy_complete(enum plan_policy p)
{
	return p < PLAN_LLAMA;
}

bool
plan_policy_measures(enum plan_policy p)
{
	return p == PLAN_BUDGET || p == PLAN_LOSS;
}

const char *
plan_policy_text(enum plan_policy p, unsigned mix, const struct plan_limit *limit,
		 char out[PLAN_POLICY_MAX])
{
	const char *name = plan_policy_name(p);

	if (p == PLAN_LLAMA)
		snprintf(out, PLAN_POLICY_MAX, "%s:%s", name, llama_mix_name(mix));
	else if (p == PLAN_MLX && mix)
		snprintf(out, PLAN_POLICY_MAX, "%s:%s", name, mlx_mix_name(mix));
	else if (p == PLAN_LOSS)
		snprintf(out, PLAN_POLICY_MAX, "%s:%.6g%%", name, limit->error * 100);
	else if (p == PLAN_BUDGET && limit->bytes)
		snprintf(out, PLAN_POLICY_MAX, "%s:%ju", name, (uintmax_t)limit->bytes);
	else if (p == PLAN_BUDGET)
		snprintf(out, PLAN_POLICY_MAX, "%s:%.6gbpw", name, limit->bits);
	else
		snprintf(out, PLAN_POLICY_MAX, "%s", name);
	return out;
}

const char *
plan_policy_word(size_t i, char out[PLAN_POLICY_MAX])
{
	static const struct plan_limit limits[] = { { .bits = 4.5 }, { .error = 0.05 } };
	unsigned mix;

	if (i < PLAN_LLAMA)
		return plan_policy_name((enum plan_policy)i);
	i -= PLAN_LLAMA;
	for (mix = 1; mlx_mix_name(mix); mix++)
		if (i-- == 0)
			return plan_policy_text(PLAN_MLX, mix, NULL, out);
	for (mix = 0; llama_mix_name(mix); mix++)
		if (i-- == 0)
			return plan_policy_text(PLAN_LLAMA, mix, NULL, out);
	return i < 2 ? plan_policy_text((enum plan_policy)(PLAN_BUDGET + i), 0, &limits[i], out)
		     : NULL;
}

/* What policies there are, and what is near `s` among all that could be said. */
static enum tb_status
no_policy(const char *s, struct tb_err *err)
{
	struct tb_near near = { .word = s };
	char word[PLAN_POLICY_MAX], text[256];

	for (size_t i = 0; plan_policy_word(i, word); i++)
		tb_near_try(&near, plan_policy_word(i, word));
	tb_near_text(&near, text, sizeof(text));
#define X(id, name, arg, help) " " name arg
	return tb_fail(err, TB_EUSAGE, "--policy %.60s: there is no such policy%s (those that there"
		       " are:" PLAN_POLICY_LIST(X) ")", s, text);
#undef X
}

/* The mixes that are near `s`, else all. */
static enum tb_status
no_mix(const char *policy, const char *s, const char *(*name)(unsigned), struct tb_err *err)
{
	struct tb_near near = { .word = s };
	struct tb_buf all = TB_BUF(1024);
	enum tb_status status;
	char text[256];

	for (unsigned mix = 0; name(mix); mix++) {
		tb_near_try(&near, name(mix));
		tb_buf_printf(&all, " %s", name(mix));
	}
	tb_near_text(&near, text, sizeof(text));
	status = tb_fail(err, TB_EUSAGE, "--policy %s: \"%.40s\" is none of its mixes%s (they are:%s)",
			 policy, s, text, tb_buf_cstr(&all));
	tb_buf_free(&all);
	return status;
}

/* A number with a unit; *unit is what stands behind it. */
static bool
read_number(const char *s, double *out, const char **unit)
{
	char *end;

	*out = strtod(s, &end);
	*unit = end + strspn(end, " ");
	return end != s && *out > 0 && *out < 1e18;
}

/* "4.5bpw", or bytes. */
static enum tb_status
read_budget(const char *s, struct plan_limit *out, struct tb_err *err)
{
	const char *unit;
	double x;

	*out = (struct plan_limit){ 0 };
	if (tb_parse_bytes(s, &out->bytes))
		return TB_OK;
	if (read_number(s, &x, &unit) && !strcasecmp(unit, "bpw")) {
		out->bits = x;
		return TB_OK;
	}
	return tb_fail(err, TB_EUSAGE, "--policy budget%s%.40s: how much? 3.5GB, 900MiB or 4.5bpw (bits"
		       " a weight), for example", *s ? ":" : "", s);
}

static enum tb_status
read_loss(const char *s, struct plan_limit *out, struct tb_err *err)
{
	const char *unit;
	double x;

	if (!read_number(s, &x, &unit) || (*unit && strcmp(unit, "%")))
		return tb_fail(err, TB_EUSAGE, "--policy loss%s%.40s: which error? 3%% or 0.03,"
			       " for example", *s ? ":" : "", s);
	*out = (struct plan_limit){ .error = *unit ? x / 100 : x };
	return TB_OK;
}

/* What stands behind the colon. */
static enum tb_status
read_argument(struct plan_request *req, const char *s, struct tb_err *err)
{
	switch (req->policy) {
	case PLAN_BUDGET:
		return read_budget(s, &req->limit, err);
	case PLAN_LOSS:
		return read_loss(s, &req->limit, err);
	case PLAN_LLAMA:
		return llama_mix_parse(s, &req->mix) ? TB_OK
						     : no_mix("llama", s, llama_mix_name, err);
	case PLAN_MLX:
		return mlx_mix_parse(s, &req->mix) ? TB_OK : no_mix("mlx", s, mlx_mix_name, err);
	default:
		return *s ? no_policy(s, err) : TB_OK;
	}
}

static enum tb_status
read_policy(struct plan_request *req, const char *s, struct tb_err *err)
{
	size_t len = strcspn(s, ":");
	unsigned i = 0;

	while (i < PLAN_POLICY_COUNT &&
	       (strlen(policies[i]) != len || strncmp(s, policies[i], len) != 0))
		i++;
	if (i == PLAN_POLICY_COUNT || (s[len] && i != PLAN_MLX && plan_policy_complete(i)))
		return no_policy(s, err);
	req->policy = i;
	return read_argument(req, s[len] ? s + len + 1 : "", err);
}

/* What a policy means where nobody said what tensors become. */
static enum tb_status
usual_target(struct plan_request *req, struct tb_err *err)
{
	switch (req->policy) {
	case PLAN_LLAMA:
		req->target = (struct plan_target){ .scheme = llama_mix_scheme(req->mix) };
		return TB_OK;
	case PLAN_MLX:
		req->target = (struct plan_target){ .scheme = mlx_mix_scheme(req->mix, 0) };
		return TB_OK;
	case PLAN_OLLAMA:
	case PLAN_UNIFORM:
		return tb_fail(err, TB_EUSAGE, "which scheme? -q int4 or -q Q4_K_M, for example");
	default:
		req->target = (struct plan_target){ .keep = true };
		return TB_OK;
	}
}

/* "-q Q4_K_M" is a mix; a type of ggml's means the mix of its name, unless a policy was
 * named, for which it is a type. */
static bool
names_mix(const char *quant, const char *policy, unsigned *mix)
{
	struct plan_target t;
	bool scheme = !plan_target_parse(quant, &t, NULL);

	if (!llama_mix_parse(quant, mix))
		return false;
	return !scheme || (!policy && !t.keep && scheme_form(&t.scheme) == FORM_BLOCKS);
}

enum tb_status
plan_ask(struct plan_request *req, const char *quant, const char *policy, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	unsigned mix;

	req->policy = PLAN_OLLAMA;
	req->mix = 0;
	req->limit = (struct plan_limit){ 0 };
	if (policy)
		status = read_policy(req, policy, err);
	if (status || !quant)
		return status ? status : usual_target(req, err);
	if (plan_policy_measures(req->policy) || req->policy == PLAN_KEEP)
		return tb_fail(err, TB_EUSAGE, "--policy %s sets what tensors become: leave out -q %s",
			       policy, quant);
	if (names_mix(quant, policy, &mix)) {
		if (policy && req->policy != PLAN_LLAMA)
			return tb_fail(err, TB_EUSAGE, "-q %s is llama-quantize's mix, --policy %s"
				       " another way to choose: leave out one of them", quant, policy);
		if (policy && mix != req->mix)
			return tb_fail(err, TB_EUSAGE, "-q %s and --policy %s are two mixes: leave"
				       " out one of them", quant, policy);
		req->policy = PLAN_LLAMA;
		req->mix = mix;
		return usual_target(req, err);
	}
	status = plan_target_parse(quant, &req->target, err);
	if (status || req->policy != PLAN_MLX || !req->mix)
		return status;
	if (req->target.keep || strcmp(scheme_mode(&req->target.scheme), "affine"))
		return tb_fail(err, TB_EUSAGE, "--policy %s sets the widths itself; -q affine:4:32 would"
			       " set its group", policy);
	req->target.scheme = mlx_mix_scheme(req->mix, req->target.scheme.group);
	return TB_OK;
}
