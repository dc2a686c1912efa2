#!/bin/bash
# --exact: what is multiplied is F32, also with blocks of ggml's, whose x is rounded else:
# they think what the same numbers in F32 do.
. "${srcdir:-.}/tests/cli/lib.sh"

expect 0 "$TBTUI" demo --random "$T/demo"
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/blocks.gguf" -q q8_0
expect 0 "$TBTUI" quantize "$T/blocks.gguf" "$T/floats.gguf" -q f32
seq 400 | sed 's/.*/& bottles/' >"$T/text"

perplexity() {
	expect 0 "$TBTUI" --json perplexity "$@" "$T/text"
	sed 's/.*"perplexity":\([0-9.]*\).*/\1/' "$T/out"
}
apart() {	# by how many millionths
	awk -v a="$1" -v b="$2" 'BEGIN { d = a / b - 1; printf "%d\n", (d < 0 ? -d : d) * 1e6 }'
}
floats=$(perplexity --exact "$T/floats.gguf")
exactly=$(perplexity --exact "$T/blocks.gguf")
rounded=$(perplexity "$T/blocks.gguf")
[ "$(apart "$floats" "$exactly")" -le 20 ] || fail "$exactly, in F32 $floats"
[ "$(apart "$floats" "$rounded")" -gt 20 ] || fail "without --exact nothing is rounded: $rounded"

# whatever runs a model knows it
for cmd in "generate $T/blocks.gguf -p a -n 2" "chat $T/blocks.gguf -p a -n 2" \
	   "logits $T/blocks.gguf -p a" "bench --help"; do
	expect 0 "$TBTUI" ${cmd%% *} --exact ${cmd#* }
done
