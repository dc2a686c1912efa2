#!/bin/sh
# Whatever way a model goes, what comes back is what it was: every architecture there is data
# of, through Ollama's stores, GGUF files, MLX's directories, packed and not.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
M=$TBTUI_SHARED/data/models
py="python3 $(cd "$srcdir" && pwd)/tests/cli/rounds.py"
command -v python3 >/dev/null || skip "no python3"
W=$T/w
tb() {
	"$TBTUI" -s "$W/store" -d "$T/index.db" "$@"
}
# whose GGUF lacks tensors, rounds numbers or does not know the names: gguf_back_arch.sh
no_way_back=" deepseek_v3 gemma4 gemma4_e gemma4_moe gpt_oss granite_hybrid
	ministral3 mistral3 nemotron_h nemotron_h_moe
	qwen3_5 qwen3_5_moe qwen3_5_vl qwen3_next qwen3_vl qwen3_vl_moe "

# unquantized HF: through a store, packed and unpacked, through a GGUF
unquantized() {
	expect 0 tb import "$1" imported
	expect 0 tb quantize imported "$W/imported" -q keep
	expect 0 tb pack "$1" packed
	expect 0 tb unpack packed "$W/unpacked"
	pairs="$1 $W/imported $1 $W/unpacked"
	case "$no_way_back" in *[[:space:]]"$2"[[:space:]]*) return ;; esac
	expect 0 tb quantize "$1" "$W/all.gguf" -q keep
	expect 0 tb quantize "$W/all.gguf" "$W/back" -q keep
	pairs="$pairs $1 $W/back"
}

# codes HF SCHEME: from a directory into a store and back
codes() {
	expect 0 tb quantize "$1" "$W/mlx-$2" -q "$2" --policy uniform
	expect 0 tb quantize "$W/mlx-$2" "$2" -q keep
	expect 0 tb quantize "$2" "$W/mlx2-$2" -q keep
	pairs="$pairs $W/mlx-$2 $W/mlx2-$2"
}

n=0
sanitized && some=yes || some=
for hf in "$M"/*/hf* "$M"/arch/*/hf; do
	name=${hf%/*} name=${name##*/}
	n=$((n + 1))
	[ -z "$some" ] || [ $((n % 3)) -eq 0 ] || continue
	rm -rf "$W"
	mkdir -p "$W/store/blobs" "$W/store/manifests"
	unquantized "$hf" "$name"
	case $((n % 5)) in
	0) codes "$hf" mxfp4 ;;
	1) codes "$hf" mxfp8 ;;
	2) codes "$hf" nvfp4 ;;
	3) codes "$hf" int8 ;;
	*) codes "$hf" int4 ;;
	esac
	# shellcheck disable=SC2086
	$py same $pairs || fail "$name"
done
[ "$n" -gt 50 ] || fail "$n models only"

# Quantized by MLX's names, whatever the source's; not a model of Mixtral's kind, though
expect 0 tb quantize "$M/arch/qwen3_moe/hf" "$W/stack" -q int4
expect 0 tb tensors "$W/stack"
has '^model\.layers\.0\.mlp\.switch_mlp\.gate_proj\.weight .* int4 '
expect 0 tb quantize "$M/stories260K-moe4/hf" "$W/moe4" -q mxfp8
expect 0 tb tensors "$W/moe4"
has '^model\.layers\.0\.block_sparse_moe\.switch_mlp\.gate_proj\.weight .* mxfp8 '
expect 0 tb generate "$W/moe4" -p "Once upon a time" --temp 0 -n 8
has '^, there was a little girl'

# What is no JSON in a config.json of Python's is said again, and not lost.
expect 0 tb quantize "$M/arch/nemotron_h/hf" "$W/infinite" -q int8
grep -q 'Infinity' "$M/arch/nemotron_h/hf/config.json" || fail "that file is another one"
grep -q 'Infinity' "$W/infinite/config.json" || fail "Infinity is lost"
exit 0
