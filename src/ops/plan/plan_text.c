/* plan_text.c - the words of a plan: what people type and read. */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/ops/plan/plan.h"

#define X(id, name) [id] = name,
static const char *const policies[] = { PLAN_POLICY_LIST(X) };
static const char *const layouts[] = { PLAN_EXPERTS_LIST(X) };
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
plan_policy_parse(const char *s, enum plan_policy *out)
{
	*out = find_word(s, policies, PLAN_POLICY_COUNT);
	return *out < PLAN_POLICY_COUNT;
}

bool
plan_experts_stack(enum plan_experts e)
{
	return e == PLAN_EXPERTS_STACKED || e == PLAN_EXPERTS_PROJECTION || e == PLAN_EXPERTS_SWITCH;
}

bool
plan_shared_parse(const char *s, enum plan_shared *out)
{
	static const char *const words[] = {
#define X(id, name) [id] = name,
		PLAN_SHARED_LIST(X)
#undef X
	};

	*out = find_word(s, words, PLAN_SHARED_COUNT);
	return *out < PLAN_SHARED_COUNT;
}

bool
plan_experts_parse(const char *s, enum plan_experts *out)
{
	*out = find_word(s, layouts, PLAN_EXPERTS_COUNT);
	return *out < PLAN_EXPERTS_COUNT;
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
