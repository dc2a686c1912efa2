#!/bin/sh
# Generation and perplexity on the demo's trained model: each scheme, with experts, guessing
# ahead, kept in a file.  Nothing but what is in the sources.
. "${srcdir:-.}/tests/cli/lib.sh"
text=$srcdir/data/demo/heldout.txt

expect 0 "$TBTUI" demo "$T/demo"
tb() {
	"$TBTUI" --store "$T/demo" --db "$T/index.db" "$@"
}
figure() { # figure REF [OPTION...]: its perplexity times 1000
	expect 0 tb perplexity "$@" "$text" --json
	sed -n 's/.*"perplexity":\([0-9.]*\).*/\1/p' "$T/out" | awk '{ printf "%d", $1 * 1000 }'
}
near() { # near REF LEAST MOST [OPTION...]: thousandths of what the weights of 16 bits have
	ref=$1 least=$2 most=$3
	shift 3
	is=$(figure "$ref" "$@")
	share=$((is * 1000 / own))
	echo "$ref $*: $is, $share of 1000"
	[ "$share" -ge "$least" ] && [ "$share" -le "$most" ] ||
		fail "$ref $*: perplexity $is, that of demo:bf16 is $own"
}

# It has learned something, in every scheme, and with experts it is the same function.
own=$(figure demo:bf16)
[ "$own" -gt 1000 ] && [ "$own" -lt 12000 ] || fail "perplexity of demo:bf16: $own thousandths"
near demo:bf16 998 1002 --exact
near demo:bf16 995 1005 --kv int8
near demo:int8 990 1010
near demo:mxfp8 930 1080
near demo:int4 900 1200
near demo-moe:bf16 985 1015
near demo-moe:int4 900 1200
near demo-moe:nvfp4 900 1200
for scheme in mxfp4 nvfp4 affine:6:32; do
	expect 0 tb quantize demo:bf16 "new:$(echo $scheme | tr : -)" -q $scheme
	near "new:$(echo $scheme | tr : -)" 900 1300
done
for type in q8_0 q6_k q4_k; do
	expect 0 tb quantize demo:bf16 "$T/$type.gguf" -q $type
	near "$T/$type.gguf" 900 1150
done

# What matters in it is measured on a text, and a conversion takes that into account.
expect 0 tb calibrate demo:bf16 "$text" -o "$T/matters.gguf" --chunk 256 --gram
has '29 matrices over [1-9]'
expect 0 tb quantize demo:bf16 new:plain -q affine:3:64
near new:plain 900 1300
plain=$is
expect 0 tb quantize demo:bf16 new:careful -q affine:3:64 --imatrix "$T/matters.gguf" --feedback
near new:careful 900 1250
[ "$is" -lt "$plain" ] || fail "with care it has lost more"
expect 1 tb diff new:plain new:careful
has 'down_proj'

# The same answer, whatever it is computed with.
ask() {
	expect 0 tb chat "$@" -p "How do I verify everything on the screen?" -n 60
	cat "$T/out"
}
want=$(ask demo:bf16)
[ "${#want}" -gt 20 ] || fail "it says: $want"
[ "$(ask demo:bf16 --exact)" = "$want" ] || fail "another answer with --exact"
[ "$(ask demo:bf16 --no-speculate)" = "$want" ] || fail "another answer without guesses"
[ "$(ask demo:bf16 --draft demo:int4)" = "$want" ] || fail "another answer with a draft model"
[ "$(ask demo:int8)" = "$want" ] || fail "another answer of int8"
[ "$(ask demo-moe:bf16)" = "$want" ] || fail "another answer of the experts"
[ "$(TBTUI_CPU=scalar ask demo:bf16)" = "$want" ] || fail "another answer without vectors"
[ "$(ask demo:bf16 -t 1)" = "$want" ] || fail "another answer of one thread"

# By lot: the same with the same seed, however it is guessed ahead.
lot() {
	expect 0 tb generate demo:bf16 -p "One morning Anna" --temp 1.2 -n 60 "$@"
	cat "$T/out"
}
want=$(lot --seed 7)
[ "$(lot --seed 7 --no-speculate)" = "$want" ] || fail "guesses change the text"
[ "$(lot --seed 7 --draft demo:int4)" = "$want" ] || fail "a draft model changes the text"
[ "$(lot --seed 8)" = "$want" ] && fail "another seed gave the same text"

# What was read is kept and not read again, of these weights alone.
for turn in 1 2; do
	expect 0 tb generate demo:bf16 -p "A model is a large table of" --temp 0 -n 9 \
		--session-file "$T/kept" --json
	sed 's/.*"text":\("[^"]*"\).*/\1/' "$T/out" >"$T/said$turn"
done
has '"prompt_tokens":1,"reused_tokens":[1-9]'
cmp "$T/said1" "$T/said2" || fail "another text from what was kept"
expect 2 tb generate demo:int4 -p x -n 1 --session-file "$T/kept"
err_has 'it was kept of other weights'

# A text becomes tokens and is the same again.
expect 0 tb tokenize demo:bf16 --json --bare "How do I  convert x.gguf, then?"
ids=$(sed -n 's/.*"ids":\[\([0-9,]*\)\].*/\1/p' "$T/out")
[ -n "$ids" ] || fail "no ids: $(cat "$T/out")"
expect 0 tb tokenize demo:bf16 --decode "$ids"
has '^How do I  convert x\.gguf, then\?$'
exit 0
