#!/bin/sh
# perplexity --against: how far one model's choices are from another's, on the demo's models.
. "${srcdir:-.}/tests/cli/lib.sh"

store=$T/models
expect 0 "$TBTUI" demo "$store"
tbtui() {
	"$TBTUI" --db "$T/index.db" --store "$store" "$@"
}
number() {	# of the last output: number KEY
	sed -n "s/.*\"$1\": *\([-0-9.e]*\).*/\1/p" "$T/out" | head -1
}

# A text of several windows (the context is 1024 tokens).
i=0
while [ $i -lt 150 ]; do
	echo "Use \"tbtui verify\" number $i: it checks digests, sizes and structure of all models."
	i=$((i + 1))
done >"$T/text"

expect 0 tbtui perplexity demo:bf16 "$T/text" --json
first=$(number nll) tokens=$(number tokens)
[ "$tokens" -gt 2048 ] || fail "$tokens tokens: no several windows"
expect 0 tbtui perplexity demo:int4 "$T/text" --json
second=$(number nll)

# Both read what they read alone, and a model is no distance from itself.
expect 0 tbtui perplexity demo:bf16 "$T/text" --against demo:int4 --json
[ "$(number tokens)" = "$tokens" ] || fail "$(number tokens) tokens, not $tokens"
awk -v a="$first" -v b="$(number nll)" -v c="$second" -v d="$(number nll_against)" \
	-v kl="$(number kl)" -v most="$(number kl_most)" 'BEGIN {
		exit !((a - b) ^ 2 < 1e-10 && (c - d) ^ 2 < 1e-10 && kl > 0 && most > kl) }' ||
	fail "$first and $second alone, together: $(cat "$T/out")"
expect 0 tbtui perplexity demo:bf16 "$T/text" --against demo:bf16 --json
[ "$(number kl_most)" = 0 ] || fail "from itself: $(number kl_most)"
[ "$(number same_first)" = "$tokens" ] || fail "$(number same_first) of $tokens are the same"

# By hand: of two tokens the shares and their divergence.
expect 0 tbtui perplexity demo:bf16 "$T/text" --against demo:int4 --top 2
has '^perplexity [0-9.]+, against [0-9.]+  \([0-9]+ tokens\)$'
has '^KL divergence [0-9.]+ a token, [0-9.]+ at most; the same first choice at [0-9.]+ %$'
[ "$(wc -l <"$T/out")" -eq 6 ] || fail "not two tokens: $(cat "$T/out")"

# Other words are no words of it.
expect 0 "$TBTUI" demo --random "$T/random"
other=$(find "$T/random/manifests" -path '*/demo/int8')
expect 2 tbtui perplexity demo:bf16 "$T/text" --against "$other"
err_has 'knows [0-9]+ tokens|token [0-9]+ of'
