#include "config.h"

#include "src/store/kind.h"

static const struct kind_row {
	const char *name;
	const struct store_kind *store;
	enum kind_layout layout;
	const struct format *format;
} kinds[] = {
#define X(id, name, store, layout, format) [id] = { name, store, layout, format },
	MODEL_KIND_LIST(X)
#undef X
};

enum model_kind
kind_of_number(int64_t number)
{
	return number >= 0 && number < MODEL_KIND_COUNT ? (enum model_kind)number
							 : MODEL_SAFETENSORS_FILE;
}

const char *
kind_name(enum model_kind k)
{
	return kinds[k].name;
}

bool
kind_is_model(enum model_kind k)
{
	return kinds[k].format;
}

bool
kind_has_manifest(enum model_kind k)
{
	return kinds[k].layout == LAYOUT_MANIFEST;
}

bool
kind_is_folder(enum model_kind k)
{
	return kinds[k].layout == LAYOUT_FOLDER;
}

bool
kind_is_bare(enum model_kind k)
{
	return kinds[k].layout == LAYOUT_FILE && !kinds[k].format->keys;
}

bool
kind_has_keys(enum model_kind k)
{
	return kinds[k].format && kinds[k].format->keys;
}

bool
kind_shares_blobs(enum model_kind k)
{
	return kinds[k].store && kinds[k].store->writable;
}

bool
kind_lists_itself(enum model_kind k)
{
	return !kinds[k].store || !kinds[k].store->manifests_are_blobs;
}

bool
kind_types_layers(enum model_kind k)
{
	return kinds[k].store && kinds[k].store->typed;
}

const struct format *
kind_format(enum model_kind k)
{
	return kinds[k].format;
}

const struct store_kind *
kind_store(enum model_kind k)
{
	return kinds[k].store;
}

enum model_kind
kind_for(const struct store_kind *store, enum kind_layout layout, const struct format *format)
{
	enum model_kind like = MODEL_KIND_COUNT;

	for (enum model_kind k = 0; k < MODEL_KIND_COUNT; k++) {
		if (kinds[k].store != store || kinds[k].layout != layout)
			continue;
		if (kinds[k].format == format)
			return k;
		if (like == MODEL_KIND_COUNT)
			like = k;
	}
	return like;
}
