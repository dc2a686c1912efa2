#!/bin/sh
# Conversions: every kind of destination, what is refused, what is left after a
# cancel, how much memory it takes.
. "${srcdir:-.}/tests/cli/lib.sh"

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
expect 0 "$TBTUI" demo --random "$T/demo"
mkdir "$T/store"
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/dense" -q keep
expect 0 "$TBTUI" --store "$T/demo" unpack demo-moe:bf16 "$T/moe"
[ -f "$T/dense/model.safetensors" ] || fail "no model.safetensors"
[ -f "$T/dense/tokenizer.json" ] || fail "no tokenizer.json"

# every scheme into a store, and the store is clean
for q in int4 int8 affine:2:32 affine:3:64 affine:5:128 affine:6:32 affine:8:128 mxfp4 mxfp8 \
	nvfp4 f16 f32; do
	name=$(echo "m-$q" | tr : -)
	expect 0 tb quantize "$T/dense" "$name" -q "$q"
	has "^$name:latest in $T/[a-z]+: [0-9]+ tensors"
	expect 0 tb quantize "$T/moe" "$name:moe" -q "$q" --policy uniform --flavour mlx-cpu
done
expect 0 tb verify
has '^clean: 24 models'
expect 0 tb tensors m-affine-3-64
has 'layers\.0\.mlp\.up_proj\.weight .* affine:3:64 '
expect 0 tb plan "$T/dense" -q int4 --rule '*.up_proj.weight=int8' --rule '*.1.*up*=keep'
has 'layers\.0\.mlp\.up_proj\.weight *BF16 *int8 .* a rule'
has 'layers\.1\.mlp\.up_proj\.weight *BF16 *BF16 .* a rule'
has 'layers\.0\.self_attn\.v_proj\.weight *BF16 *int8 .* sensitive'
has 'lm_head\.weight *BF16 *int8 .* output head'
has 'embed_tokens\.weight *BF16 *BF16 .* kept'

# a directory of mixed schemes reads back as planned, and so does a file
expect 0 tb quantize "$T/moe" "$T/mlx" -q int4
expect 0 tb tensors "$T/mlx"
has 'block_sparse_moe\.switch_mlp\.gate_proj\.weight .* 4 x 256 x 128 .* int4 '
has 'block_sparse_moe\.switch_mlp\.down_proj\.weight .* int8 '
has 'block_sparse_moe\.gate\.weight .* BF16 '
# what cannot be stacked stays for itself, and so does what is asked to
expect 0 tb quantize "$T/moe" "$T/odd" -q int4 -r '*.0.block_sparse_moe.experts.1.w1.weight=int8' \
	--experts keep
expect 0 tb tensors "$T/odd"
has 'block_sparse_moe\.experts\.0\.w1\.weight .* int4 '
has 'block_sparse_moe\.experts\.1\.w1\.weight .* int8 '
expect 0 tb quantize "$T/odd" "$T/odd2" -q keep
expect 0 tb tensors "$T/odd2"
has 'block_sparse_moe\.experts\.0\.w1\.weight .* int4 '
has 'block_sparse_moe\.experts\.1\.w1\.weight .* int8 '
expect 0 tb quantize "$T/moe" "$T/one.safetensors" -q mxfp4 --experts stacked
expect 0 tb tensors "$T/one.safetensors"
has 'layers\.0\.mlp\.experts\.gate_proj\.weight .* 4 x 256 x 128 .* mxfp4 '

# nothing is overwritten unasked
expect 2 tb quantize "$T/dense" m-int4 -q int8
err_has 'm-int4:latest exists already'
expect 2 tb quantize "$T/dense" "$T/mlx" -q int8
expect 2 tb quantize "$T/dense" "$T/one.safetensors" -q int8
expect 0 tb tensors m-int4
has ' int4 '
expect 0 tb quantize "$T/dense" m-int4 -q int8 --yes
expect 0 tb quantize "$T/dense" "$T/mlx" -q int8 --yes
expect 0 tb quantize "$T/dense" "$T/one.safetensors" -q int8 --yes
expect 0 tb tensors m-int4
has_not ' int4 '
echo precious >"$T/mlx/notes"
mkdir "$T/mlx/folder"
expect 2 tb quantize "$T/dense" "$T/mlx" -q int4 --yes
err_has 'will not be replaced'
[ -f "$T/mlx/notes" ] || fail "a folder with more than a model in it was replaced"
expect 0 tb quantize "$T/dense" "$T/linked" -q int8
ln -s linked "$T/link"
expect 2 tb quantize "$T/dense" "$T/link" -q int4 --yes
err_has 'link: is a symbolic link and will not be replaced'
[ -f "$T/linked/config.json" ] || fail "the folder behind a link was emptied"
ls -A "$T" | grep -q tbtui- && fail "a temporary folder was left"

# what is quantized stays so unless asked
expect 0 tb quantize m-int8 again -q int4
err_has 'quantized already'
expect 0 tb quantize m-int8 again -q int4 --requantize --yes
expect 0 tb tensors again
has 'mlp\.up_proj\.weight .* int4 '

# there and back again: the same blobs
expect 0 tb pack "$T/moe" packed
layers() {
	tr '{' '\n' <"$1" | sed -n 's/.*image.tensor.*"digest":"\([^"]*\)".*/\1/p'
}
m=manifests/registry.ollama.ai/library
layers "$T/store/$m/packed/latest" >"$T/a"
layers "$T/demo/$m/demo-moe/bf16" >"$T/b"
[ -s "$T/a" ] || fail "no tensor layers in the manifest"
cmp "$T/a" "$T/b" || fail "unpack and pack changed bytes"

# usage
expect 2 tb quantize "$T/dense" x
expect 2 tb quantize "$T/dense" x -q int7
expect 2 tb quantize "$T/dense" x -q int4 --rule nonsense
expect 2 tb quantize "$T/dense" x -q int4 --policy none
expect 2 tb quantize "$T/dense" ../x:y:z -q int4 --experts sideways
expect 2 tb quantize "$T/nothing" x -q int4

# a value that no scheme can hold, wherever it is: sixteen rows of 64
# odd DTYPE SIZE BYTES ELEMENT
odd() {
	h='{"w.weight":{"dtype":"'$1'","shape":[16,64],"data_offsets":[0,'$(($2 * 1024))']}} '
	while [ $((${#h} % 8)) -ne 0 ]; do
		h="$h "
	done
	{
		printf "\\$(printf %o ${#h})\0\0\0\0\0\0\0%s" "$h"
		head -c $(($2 * $4)) /dev/zero
		printf "$3"
		head -c $(($2 * (1023 - $4))) /dev/zero
	} >"$T/inf.safetensors"
}
for at in 0 7 31 65 500 1000 1023; do
	for kind in 'BF16 2 \200\177' 'BF16 2 \377\377' 'F16 2 \000\174' 'F16 2 \001\374' \
		'F32 4 \0\0\200\177' 'F32 4 \1\0\200\377'; do
		odd $kind $at
		expect 2 tb quantize "$T/inf.safetensors" inf -q int4
		err_has "w\.weight: element $at is infinite or NaN \\(1 of "
	done
done
odd F16 2 '\377\173' 8
expect 0 tb quantize "$T/inf.safetensors" large -q int4
odd BF16 2 '\200\177' 65
expect 0 tb quantize "$T/inf.safetensors" inf -q keep

# a model of 1 GB, most of it not on the disk: memory, and a cancel
mkdir "$T/big"
echo '{"architectures":["LlamaForCausalLM"]}' >"$T/big/config.json"
h=$(i=0
	while [ $i -lt 16 ]; do
		printf '%s"model.layers.%d.mlp.up_proj.weight":{"dtype":"BF16","shape":[8192,4096],' \
			"$([ $i = 0 ] || echo ,)" $i
		printf '"data_offsets":[%d,%d]}' $((i * 67108864)) $((i * 67108864 + 67108864))
		i=$((i + 1))
	done)
h="{$h}"
n=${#h}
printf "\\$(printf %o $((n % 256)))\\$(printf %o $((n / 256)))\0\0\0\0\0\0%s" "$h" \
	>"$T/big/model.safetensors"
truncate -s $((8 + n + 16 * 67108864)) "$T/big/model.safetensors"
expect 0 tb --json quantize "$T/big" big -q int4
rss=$(sed -n 's/.*"peak_rss":\([0-9]*\).*/\1/p' "$T/out")
[ -n "$rss" ] || fail "no peak_rss"
[ "$rss" -lt 536870912 ] || [ -n "${ASAN_OPTIONS:-}" ] || fail "took $rss bytes of memory"

# begun PID: waits until a file that has no name yet is written to.
begun() {
	n=0
	while [ $n -lt 100000 ] && ! ls -l "/proc/$1/fd" 2>/dev/null | grep -q "$T.*(deleted)"; do
		n=$((n + 1))
	done
}

mkdir "$T/empty"
"$TBTUI" --store "$T/empty" --threads 1 quantize "$T/big" big -q int8 >"$T/out" 2>"$T/err" &
pid=$!
begun $pid
kill -INT $pid
wait $pid
[ $? -eq 2 ] || fail "a cancelled conversion does not say 2"
err_has 'cancel'
[ -z "$(find "$T/empty" -type f)" ] || fail "a cancelled conversion leaves files"

# Not even this leaves anything, but in a directory that is being made.
"$TBTUI" --store "$T/empty" --threads 1 quantize "$T/big" big -q int8 >"$T/out" 2>"$T/err" &
pid=$!
begun $pid
kill -KILL $pid
wait $pid 2>/dev/null
[ -z "$(find "$T/empty" -type f)" ] || fail "a killed conversion leaves files"

"$TBTUI" --threads 1 quantize "$T/big" "$T/ended" -q int8 >"$T/out" 2>"$T/err" &
pid=$!
begun $pid
kill -TERM $pid
wait $pid
[ $? -eq 143 ] || fail "a terminated conversion does not end by the signal"
ls -A "$T" | grep -q 'tbtui-\|ended' && fail "a terminated conversion leaves files"

"$TBTUI" --threads 1 quantize "$T/big" "$T/ended" -q int8 >"$T/out" 2>"$T/err" &
pid=$!
begun $pid
kill -KILL $pid
wait $pid 2>/dev/null
ls -A "$T" | grep -q 'tbtui-work' || fail "a killed conversion had not begun"
expect 0 tb quantize "$T/big" "$T/ended" -q int8
[ -z "$(ls -A "$T" | grep tbtui-work)" ] || fail "the next one leaves what was left"
exit 0
