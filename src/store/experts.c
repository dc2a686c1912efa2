#include "config.h"

#include "src/store/experts.h"

#include <string.h>

#include "src/base/text.h"

static const char *const markers[] = {
	".mlp.experts.", ".mlp.shared_experts.", ".mlp.switch_mlp.",
	".moe.experts.", ".mixer.experts.", ".mixer.shared_experts.",
};

/* What may stand before "layers.<number>". */
static const char *const stems[] = {
	"", "model.", "model.language_model.", "model.language_model.backbone.",
	"language_model.", "language_model.model.", "language_model.backbone.",
	"backbone.", "mtp.",
};

static size_t
digits(const char *s, uint64_t *out)
{
	size_t n = strspn(s, "0123456789");

	*out = 0;
	if (n > 18)
		return 0;
	for (size_t i = 0; i < n; i++)
		*out = *out * 10 + (uint64_t)(s[i] - '0');
	return n;
}

bool
expert_layer(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
		size_t stem = strlen(stems[i]), number;
		uint64_t layer;

		if (!tb_starts(name, stems[i]) || !tb_starts(name + stem, "layers."))
			continue;
		number = digits(name + stem + 7, &layer);
		if (number && stem + 7 + number == n)
			return true;
	}
	return false;
}

bool
expert_split(const char *name, struct expert_name *out)
{
	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
		const char *marker = strstr(name, markers[i]), *rest;
		size_t n, len;

		if (!marker || !expert_layer(name, (size_t)(marker - name)))
			continue;
		rest = marker + strlen(markers[i]);
		n = digits(rest, &out->index);
		len = strlen(rest);
		if (!n || rest[n] != '.' || !tb_ends(rest, ".weight") || len <= n + 1 + 7)
			continue;
		out->prefix = (size_t)(rest - 1 - name);
		out->proj = rest + n + 1;
		out->proj_len = len - n - 1 - 7;
		return true;
	}
	return false;
}
