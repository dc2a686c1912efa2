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

# An image of a layout, and one more: blobs that are there are not written again, what others
# listed stays, and the names are those that oci: means.
expect 0 "$TBTUI" -s "$S" export four images --as oci
has '^oci:images:four:latest'
grep -q '"imageLayoutVersion":"1.0.0"' images/oci-layout || fail "no oci-layout"
expect 0 "$TBTUI" -s "$S" export plain "$models/stories260K/hf-bf16" images
has '^oci:images:plain:latest'
has '[1-9][0-9]* there already'
expect 0 "$TBTUI" -s "$S" export q.gguf oci:images
expect 2 "$TBTUI" -s "$S" export four images
err_has 'has four:latest already'
cp images/index.json before
expect 0 "$TBTUI" -s "$S" export -f four images
has '0 blobs written'
expect 0 "$TBTUI" -s images verify
expect 0 "$TBTUI" -s images scan
expect 0 "$TBTUI" -s images ls
for name in four:latest plain:latest hf-bf16 q.gguf; do
	has "^oci:images:$name "
done
[ "$(grep -c . "$T/out")" -eq 5 ] || fail "other models"
expect 0 "$TBTUI" -s images -s "$S" diff four oci:images:four:latest
has '47 same'
expect 0 "$TBTUI" -s images generate -n 8 --temp 0 -p Once oci:images:hf-bf16
expect 2 "$TBTUI" -s "$S" export four mlx --as oci
err_has 'is no OCI image layout'
# A blob that is damaged there is mended, one that is damaged here does not leave.
blob=$(ls -S images/blobs/sha256 | head -1)
echo x >"images/blobs/sha256/$blob"
expect 0 "$TBTUI" -s "$S" export -f four plain "$models/stories260K/hf-bf16" q.gguf oci:images
has '^1 blob written'
expect 0 "$TBTUI" -s images verify
if command -v skopeo >/dev/null; then
	for name in four:latest hf-bf16; do
		skopeo --tmpdir "$T" copy -q "oci:images:$name" "oci:copies:$name" || fail "skopeo: $name"
	done
	expect 0 "$TBTUI" -s copies verify
fi

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
