/* Lists of sums beside the files of a folder, as sha256sum, openssl and huggingface_hub write
 * them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/verify/verify_run.h"
#include "src/store/store.h"
#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct folder_tensor tensors[] = { { "a.weight", DT_F32, 2, { 4, 4 } } };
static const char *const places[] = {
	"SHA256SUMS", "checksum.txt", "model.safetensors.sha256", "other.sha256sum",
	".cache/huggingface/download/model.safetensors.metadata",
};

/* The first byte says what the list is called. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_loc loc = { .kind = MODEL_SAFETENSORS_DIR, .name = (char *)"m", .path = (char *)folder(),
				 .root = (char *)"" };
	struct verify_model to = { 0 };
	struct model *m;

	if (!size)
		return 0;
	folder_tensors("model.safetensors", tensors, 1);
	folder_put("config.json", "{}", 2);
	folder_put(places[data[0] % 5], data + 1, size - 1);
	if (!model_open(&m, &loc, NULL)) {
		to.nfiles = m->nfiles;
		to.files = calloc(m->nfiles + 1, sizeof(*to.files));
		for (size_t i = 0; i < m->nfiles; i++)
			to.files[i] = (struct verify_file){ .path = m->files[i].path,
							    .id = m->files[i].id };
		if (to.files)
			(void)!verify_read_sidecars(&to, m, NULL);
		gaps_free(&to.gaps);
		free(to.files);
		tb_arena_free(&to.mem);
		model_free(m);
	}
	folder_clear();
	return 0;
}
