#include "config.h"

#include "src/store/store_kind.h"

#include <string.h>

#include "src/base/text.h"
#include "src/store/model.h"

const struct store_kind *const store_kinds[] = {
#define X(row) &row,
	STORE_KIND_LIST(X)
#undef X
	NULL
};

const struct store_kind *
store_kind_of(const char *dir, bool beside)
{
	const struct store_kind *const *k = store_kinds;

	while (*k && ((*k)->beside != beside || !(*k)->is(dir)))
		k++;
	return *k;
}

const struct store_kind *
store_of_model(const struct model_loc *loc, const char **path, size_t *n)
{
	const struct store_kind *known = kind_store(loc->kind);
	const struct store_kind *const *k = store_kinds;

	*path = loc->path;
	*n = known ? known->root_of(loc->path) : strlen(loc->path);
	if (known && !*n) {	/* a manifest that is being written lies elsewhere */
		*path = loc->root;
		*n = strlen(loc->root);
	}
	if (known)
		return known;
	while (*k && ((*k)->is_model || !(*n = (*k)->root_of(loc->path))))
		k++;
	return *k;
}

bool
store_is_partial(const char *name)
{
	/* Hugging Face, llama.cpp, others. */
	static const char *const endings[] = {
		".incomplete", ".downloadInProgress", ".part", ".partial", ".crdownload", ".aria2",
	};

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (tb_ends(name, endings[i]))
			return true;
	return false;
}
