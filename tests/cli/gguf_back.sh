# GGUF files as sources: Hugging Face's directories, files and stores made of them.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
M=$TBTUI_SHARED/data/models
R=$TBTUI_SHARED/data/reference

# same_ids REFERENCE MODEL [N]: its greedy ids (the first N) are those of the reference's
# first prompt.
same_ids() {
	ids=$(tr -d ' \n' <"$1" | grep -o '"greedy_ids":\[[^]]*\]' | head -1 | tr -dc '0-9,' |
		cut -d, -f"1-${3:-60}")
	expect 0 "$TBTUI" --json generate "$2" -p "Once upon a time" --temp 0 -n "${3:-60}" --ignore-eos \
		--kv f32
	has "\"ids\":\[$ids\]"
}

# What Hugging Face's files became and what that becomes are the same bytes, and run.
for one in gemma:47 gemma2:57 gemma3:67 moe4:98 qwen2:62 qwen3:57 rope3:47 untied:48; do
	name=stories260K-${one%:*}
	expect 0 "$TBTUI" quantize -q keep "$M/$name/$name.gguf" "$T/$name"
	expect 0 "$TBTUI" diff --bytes "$M/$name/hf" "$T/$name"
	has "^${one#*:} tensors: ${one#*:} same\$"
	same_ids "$R/variants/$name.json" "$T/$name"
	expect 0 "$TBTUI" verify --deep "$T/$name"
done
for one in f32:hf-f32 f16:hf-f16-sharded bf16:hf-bf16; do
	name=stories260K-${one%:*}
	expect 0 "$TBTUI" quantize -q keep "$M/stories260K/$name.gguf" "$T/$name"
	expect 0 "$TBTUI" diff --bytes "$M/stories260K/${one#*:}" "$T/$name"
	has '^47 tensors: 47 same$'
	same_ids "$R/$name.json" "$T/$name"
done

# Codes that another scheme has stay what they are; the program that is made can run.
P=$M/stories260K-pad192/stories260K-pad192
for one in Q4_0:4 Q4_1:4 Q5_0:5 Q5_1:5 Q8_0:8; do
	type=${one%:*}
	expect 0 "$TBTUI" quantize -q keep "$P-$type.gguf" "$T/$type"
	expect 0 "$TBTUI" diff "$P-$type.gguf" "$T/$type" --all
	has '^47 tensors: 11 same, 36 same values$'
	has "affine:${one#*:}:32"
	same_ids "$R/stories260K-pad192-$type.json" "$T/$type" 24
done
expect 0 "$TBTUI" --json plan -q keep "$P-Q8_0.gguf"
has '"name":"model.layers.0.self_attn.q_proj.weight",.*"to":"affine:8:32","why":"repacked: the same codes, lossless"'
# A store has no name for five bits.
expect 0 "$TBTUI" --json plan -q keep "$P-Q5_0.gguf"
has '"from":"Q5_0","to":"F16","why":"decoded: no scheme has its groups"'

# All else is decoded, and as F32 nothing is lost.
W=$M/stories260K-wide256/stories260K-wide256
for type in Q2_K Q4_K_M IQ4_XS; do
	expect 0 "$TBTUI" quantize -q f32 "$W-$type.gguf" "$T/f32-$type.safetensors"
	expect 0 "$TBTUI" diff "$W-$type.gguf" "$T/f32-$type.safetensors"
	has '^47 tensors: 11 same, 36 same values$'
	has_not ' differs'
done
expect 0 "$TBTUI" quantize -q keep --decode bf16 "$W-Q4_K_M.gguf" "$T/bf16"
expect 0 "$TBTUI" --json tensors "$T/bf16"
has '"name":"model.layers.0.self_attn.q_proj.weight","dtype":"BF16"'
expect 2 "$TBTUI" quantize -q keep --decode int8 "$W-Q4_K_M.gguf" "$T/none"
err_has '--decode: bf16, f16 or f32'

# Into a store, quantized again; and from a store.
mkdir -p "$T/store/blobs" "$T/store/manifests"
expect 0 "$TBTUI" --store "$T/store" quantize -q int4 "$W-Q8_0.gguf" wide:int4
expect 0 "$TBTUI" --store "$T/store" generate wide:int4 -p "Once upon a time" --temp 0 -n 8
has '[a-z]'
expect 0 "$TBTUI" --store "$T/store" import "$W-Q8_0.gguf" wide:q8
expect 0 "$TBTUI" --store "$T/store" quantize -q keep wide:q8 "$T/wide-q8"
expect 0 "$TBTUI" diff "$W-Q8_0.gguf" "$T/wide-q8"
has_not ' differs'
same_ids "$R/variants/stories260K-wide256-Q8_0.json" "$T/wide-q8" 24

expect 0 "$TBTUI" --store "$T/store" import --as tensors "$W-Q8_0.gguf" wide:tensors
has '^wide:tensors: 47 tensors in 47 blobs, '
expect 0 "$TBTUI" --store "$T/store" diff "$T/wide-q8" wide:tensors
has '^47 tensors: 47 same$'
expect 0 "$TBTUI" --store "$T/store" generate wide:tensors -p "Once upon a time" --temp 0 -n 8
has '^, there was a little girl'
expect 2 "$TBTUI" --store "$T/store" import --as tensors "$W-Q8_0.gguf" wide:tensors
err_has 'exists already'
expect 2 "$TBTUI" --store "$T/store" import --as layers "$W-Q8_0.gguf" wide:other
err_has '--as: file or tensors'

# What has no counterpart is named.
vocab=$TBTUI_SHARED/data/tokenizers/llama.cpp-vocab/ggml-vocab-falcon.gguf
expect 2 "$TBTUI" quantize -q keep "$vocab" "$T/falcon"
err_has 'falcon'
[ ! -e "$T/falcon" ] || fail "something was written"
exit 0
