# calibrate: what matters in a model, in a file as llama.cpp has it.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
S=$TBTUI_SHARED/data/models
head -c 12000 "$TBTUI_SHARED/data/text/war-and-peace.txt" >"$T/text"
cd "$T" || exit 99

expect 0 "$TBTUI" calibrate "$S/stories260K/hf-f32" text -o a.gguf --chunk 128 --json
has '^\{"file":"a.gguf","chunks":[0-9]+,"tokens":[0-9]+,"matrices":36,"unseen":0,"bytes":'
expect 0 "$TBTUI" calibrate "$S/stories260K/stories260K-f32.gguf" text -o b.gguf --chunk 128
has '^b.gguf: 36 matrices over '
cmp -n 5500 a.gguf b.gguf || fail "the names of the source are in the file"

# Twice as much of it, in a file of its own; nothing is overwritten unasked.
expect 0 "$TBTUI" calibrate "$S/stories260K/hf-f32" text -o c.gguf -n 2
has ' over 2 chunks \(1024 tokens\)'
expect 2 "$TBTUI" calibrate "$S/stories260K/hf-f32" text -o c.gguf
err_has 'c.gguf: exists already'
expect 0 "$TBTUI" calibrate "$S/stories260K/hf-f32" text -o c.gguf -n 1 -f
cmp -s a.gguf c.gguf && fail "another chunk gave the same sums"

# Experts are counted each, and products are said to be large before they are made.
expect 0 "$TBTUI" calibrate "$S/stories260K-moe4/hf" text -o moe.gguf -n 1 --gram
has '^moe.gguf: 86 matrices'
err_has 'in memory, then in the file'
[ "$(wc -c <moe.gguf)" -gt 1000000 ] || fail "no products in the file"
strings moe.gguf | grep -q 'blk.0.ffn_down_exps.weight.in_gram' || fail "no products of experts"

printf 'Too short.' >short
expect 2 "$TBTUI" calibrate "$S/stories260K/hf-f32" short -o d.gguf
err_has 'the text has [0-9]+ tokens, and 512 are read together: give more of it, or --chunk'
expect 2 "$TBTUI" calibrate "$S/stories260K/hf-f32" text
err_has 'where to\? -o FILE'
[ ! -e d.gguf ] || fail "a file nevertheless"
