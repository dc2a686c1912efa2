/* config.json beside weights that are packed in every way: it decides what they are. */
#include "config.h"

#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct folder_tensor tensors[] = {
	{ "model.layers.0.a.weight", DT_U32, 2, { 4, 32 } },
	{ "model.layers.0.a.scales", DT_BF16, 2, { 4, 4 } },
	{ "model.layers.0.a.biases", DT_BF16, 2, { 4, 4 } },
	{ "b.weight", DT_U32, 3, { 2, 4, 32 } },
	{ "b.scales", DT_U8, 3, { 2, 4, 8 } },
	{ "c.qweight", DT_I32, 2, { 64, 4 } },
	{ "c.qzeros", DT_I32, 2, { 2, 4 } },
	{ "c.scales", DT_F16, 2, { 2, 32 } },
	{ "d.qweight", DT_I32, 2, { 8, 16 } },
	{ "d.scales", DT_F16, 2, { 2, 16 } },
	{ "d.g_idx", DT_I32, 1, { 64 } },
	{ "e.weight_packed", DT_I32, 2, { 6, 8 } },
	{ "e.weight_scale", DT_BF16, 2, { 6, 2 } },
	{ "e.weight_shape", DT_I64, 1, { 2 } },
	{ "f.weight", DT_F8_E4M3, 2, { 40, 50 } },
	{ "f.weight_scale_inv", DT_F32, 2, { 3, 4 } },
	{ "g.weight", DT_I8, 2, { 6, 64 } },
	{ "g.weight_scale", DT_F16, 2, { 6, 1 } },
	{ "h.weight", DT_BF16, 2, { 4, 64 } },
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int made;

	if (!made++)
		folder_tensors("model.safetensors", tensors, sizeof(tensors) / sizeof(*tensors));
	folder_put("config.json", data, size);
	folder_open_all();
	return 0;
}
