# A model leaves a store as others take it, and comes back the same.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
models=$TBTUI_SHARED/data/models
S=$T/store
mkdir "$S"
cd "$T" || exit 99

expect 0 "$TBTUI" -s "$S" import "$models/stories260K/hf-f32" plain
expect 0 "$TBTUI" -s "$S" quantize plain four -q int4

# As it is: a folder of MLX's, all codes kept; a name without a slash is a folder, too.
expect 0 "$TBTUI" -s "$S" export four mlx
expect 0 "$TBTUI" -s "$S" diff four ./mlx
has '47 same'
grep -q '"quantization"' mlx/config.json || fail "no quantization in config.json"
expect 2 "$TBTUI" -s "$S" export four mlx
err_has 'exists already'
# Nothing quantized: what was plain is as it was, the rest has the numbers of the codes.
expect 0 "$TBTUI" -s "$S" export four hf --as hf
! grep -q quantization hf/config.json || fail "quantization in config.json"
expect 0 "$TBTUI" tensors ./hf
has 'model.norm.weight +F32 '
has 'model.layers.0.mlp.up_proj.weight +BF16 '
has_not '[Ii][Nn][Tt]4'
expect 0 "$TBTUI" -s "$S" export four hf32 --dtype f32
expect 0 "$TBTUI" -s "$S" diff four ./hf32
has '47 tensors: 17 same, 30 same values'
expect 0 "$TBTUI" -s "$S" export plain back --as hf
expect 0 "$TBTUI" diff ./back "$models/stories260K/hf-f32"
has '47 same'
expect 0 "$TBTUI" generate -n 8 --temp 0 -p Once ./hf32
# Experts are a tensor each where Transformers reads them, one where MLX does.
expect 0 "$TBTUI" -s "$S" import "$models/stories260K-moe4/hf" moe
expect 0 "$TBTUI" -s "$S" export moe moe-hf --as hf
expect 0 "$TBTUI" tensors ./moe-hf
has 'experts[.]3[.]'
expect 0 "$TBTUI" diff ./moe-hf "$models/stories260K-moe4/hf"
expect 0 "$TBTUI" -s "$S" export moe moe-mlx
expect 0 "$TBTUI" tensors ./moe-mlx
has 'switch_mlp'

# GGUF: kept, or a mix of llama-quantize's; and from there.
expect 0 "$TBTUI" -s "$S" export plain kept.gguf
expect 0 "$TBTUI" -s "$S" export "$models/stories260K-pad192/stories260K-pad192-f32.gguf" q.gguf -q Q8_0
expect 0 "$TBTUI" tensors q.gguf
has 'Q8_0'
expect 0 "$TBTUI" export q.gguf from-gguf --as hf --dtype f16
expect 0 "$TBTUI" tensors ./from-gguf
has_not 'Q8_0|int8'

# What cannot be meant.
expect 2 "$TBTUI" -s "$S" export plain four two
err_has 'takes one model'
expect 2 "$TBTUI" -s "$S" export plain x --as gguf
err_has 'ends in .gguf'
expect 2 "$TBTUI" -s "$S" export plain x --as tar
err_has 'hf, mlx, gguf'
expect 2 "$TBTUI" -s "$S" export plain x -q int4
err_has '-q is for GGUF'
expect 2 "$TBTUI" -s "$S" export plain x --dtype int4
err_has 'bf16, f16 or f32'
