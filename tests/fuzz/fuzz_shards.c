/* model.safetensors.index.json beside three shards, of which two share a tensor. */
#include "config.h"

#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
make(void)
{
	static const struct folder_tensor a[] = { { "a", DT_F16, 1, { 4 } }, { "b", DT_F16, 1, { 4 } } };
	static const struct folder_tensor b[] = { { "a", DT_F16, 1, { 4 } }, { "c", DT_F16, 1, { 4 } } };
	static const struct folder_tensor d[] = { { "d", DT_F32, 2, { 2, 2 } } };

	folder_tensors("model-1.safetensors", a, 2);
	folder_tensors("model-2.safetensors", b, 2);
	folder_tensors("other.safetensors", d, 1);
	folder_put("config.json", "{}", 2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int made;

	if (!made++)
		make();
	folder_put("model.safetensors.index.json", data, size);
	folder_open_all();
	return 0;
}
