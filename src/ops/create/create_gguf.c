/* create_gguf.c - a GGUF file: a model, or what goes with one. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/gguf.h"
#include "src/ops/create/create_parts.h"

#define WORD_MAX 4096u

/* "" where it has none. */
static enum tb_status
word(const struct gguf *g, const struct tb_file *f, const char *key, char **out, struct tb_err *err)
{
	const struct gguf_kv *kv = gguf_find(g, key);

	if (kv)
		return gguf_string(kv, f, WORD_MAX, out, err);
	*out = tb_strdup("");
	return *out ? TB_OK : tb_nomem(err);
}

static uint64_t
count(const struct gguf *g, const char *arch, const char *key)
{
	char *full = tb_asprintf("%s.%s", arch, key);
	uint64_t n = 0;

	if (full && !gguf_u64(gguf_find(g, full), &n))
		n = 0;
	free(full);
	return n;
}

static bool
is_projector(const struct gguf *g, const char *type, const char *arch)
{
	bool sees = false, hears = false;

	if (!strcmp(type, "projector") || !strcmp(type, "mmproj"))
		return true;
	if (count(g, arch, "block_count"))
		return false;
	if (count(g, arch, "vision.block_count"))
		return true;
	(void)gguf_bool(gguf_find(g, "clip.has_vision_encoder"), &sees);
	(void)gguf_bool(gguf_find(g, "clip.has_audio_encoder"), &hears);
	return !strcmp(arch, "clip") && (sees || hears);
}

enum tb_status
create_gguf_kind(const char *path, enum media *kind, char **arch, struct tb_err *err)
{
	char *type = NULL, *name = NULL;
	struct gguf g = { 0 };
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, path, err);

	if (status)
		return status;
	status = gguf_read(&g, &f, err);
	if (!status)
		status = word(&g, &f, "general.type", &type, err);
	if (!status)
		status = word(&g, &f, "general.architecture", &name, err);
	if (!status)
		*kind = !strcmp(type, "adapter") ? MEDIA_ADAPTER
			: is_projector(&g, type, name) ? MEDIA_PROJECTOR : MEDIA_MODEL;
	if (arch && !status) {
		*arch = name;
		name = NULL;
	}
	free(name);
	free(type);
	gguf_free(&g);
	tb_file_close(&f);
	return status;
}
