#!/bin/sh
# The demo's model answers questions about the program that it was not trained with.
. "${srcdir:-.}/tests/cli/lib.sh"
own=$srcdir/data/demo

# Kept apart: of what it was trained with, a part made afresh (all of it: make demo-model).
if command -v python3 >/dev/null; then
	python3 "$own/corpus.py" -s 20261122 -n 4000 "$own/corpus" >"$T/texts" || fail "no texts"
	expect 0 python3 "$own/apart.py" "$own/questions.txt" "$T/texts"
fi

expect 0 "$TBTUI" demo "$T/demo"

# answers MODEL LEAST
answers() {
	right=0
	asked=0
	while IFS='	' read -r question pattern; do
		case $question in
		'#'* | '') continue ;;
		esac
		asked=$((asked + 1))
		"$TBTUI" --store "$T/demo" chat "$1" -p "$question" -n 80 \
			>"$T/answer" 2>"$T/err" </dev/null || fail "$1: $question: $(cat "$T/err")"
		if grep -Eq -- "$pattern" "$T/answer"; then
			right=$((right + 1))
		else
			echo "$1: $question -> $(cat "$T/answer")"
		fi
	done <"$own/questions.txt"
	echo "$1: $right of $asked"
	[ "$asked" -eq 50 ] || fail "$asked questions"
	[ "$right" -ge "$2" ] || fail "$1: $right of $asked answers"
}
answers demo:bf16 40
answers demo:int4 38

# What it reads is what it was trained with: the template's text, and the ids by another way.
echo '[{"role":"system","content":"S"},{"role":"user","content":" U "},{"role":"assistant","content":"A"},{"role":"user","content":"V"}]' >"$T/talk.json"
expect 0 "$TBTUI" --store "$T/demo" template demo:bf16 "$T/talk.json"
has '^<\|begin\|><\|system\|>S<\|end\|><\|user\|>U<\|end\|><\|assistant\|>A<\|end\|><\|user\|>V<\|end\|><\|assistant\|>$'
if command -v python3 >/dev/null; then
	for text in 'How do I convert x.gguf (16 GB), then?' "it's  /set num_predict 100" \
		'In the chat press < and >: "a--b" !!'; do
		ids=$(python3 "$srcdir/tests/cli/demo_encode.py" "$own/tokenizer.json" "$text")
		expect 0 "$TBTUI" --store "$T/demo" tokenize demo:bf16 --bare --json "$text"
		has "\"ids\":\[$ids\]"
	done
fi
exit 0
