# generate, logits, perplexity, chat: what they print and how they end.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
M=$TBTUI_SHARED/data/models/stories260K/hf-f32

expect 0 "$TBTUI" generate "$M" -p "Once upon a time" --temp 0 -n 8
has '^, there was a little girl$'
expect 0 "$TBTUI" generate "$M" -p "Once upon a time" --temp 0 -n 8 --raw --json
has '^\{"prompt_ids":\[1,403,407,261,378\],"ids":\[432,383,286,261,376,298,315,421\],"text":", there was a little girl","stop":"length",'
for key in prefill_tokens_per_second decode_tokens_per_second time_to_first_token peak_rss; do
	has "\"$key\":[0-9]"
done
printf 'Once upon a time' >"$T/prompt"
"$TBTUI" generate "$M" -p - --temp 0 -n 2 <"$T/prompt" >"$T/out" || fail "prompt from a pipe"
has '^, there$'

# The same seed, the same text; another seed, another text.
"$TBTUI" generate "$M" -p Tom --temp 1.5 --seed 7 -n 40 >"$T/a" || fail "seed 7"
"$TBTUI" generate "$M" -p Tom --temp 1.5 --seed 7 -n 40 >"$T/b" || fail "seed 7 again"
"$TBTUI" generate "$M" -p Tom --temp 1.5 --seed 8 -n 40 >"$T/c" || fail "seed 8"
cmp -s "$T/a" "$T/b" || fail "the same seed gave another text"
cmp -s "$T/a" "$T/c" && fail "another seed gave the same text"

# Another model may guess, or nobody: the text is the same.  What fits not is said.
"$TBTUI" generate "$M" -p Tom --temp 1.5 --seed 7 -n 40 --no-speculate >"$T/c" || fail "no guesses"
cmp -s "$T/a" "$T/c" || fail "guesses change the text"
"$TBTUI" generate "$M" -p Tom --temp 1.5 --seed 7 -n 40 \
	--draft "$TBTUI_SHARED/data/models/stories260K/hf-bf16" >"$T/c" || fail "a draft model"
cmp -s "$T/a" "$T/c" || fail "a draft model changes the text"
"$TBTUI" generate "$M" -p Tom --temp 0 -n 40 --draft "$M" --json >"$T/out" || fail "itself as draft"
has '"proposed_tokens":[0-9]+,"accepted_tokens":[0-9]+,'
"$TBTUI" generate "$M" -p Tom --temp 0 -n 40 --no-speculate --json >"$T/out" || fail "no guesses"
has '"proposed_tokens":0,"accepted_tokens":0,'
expect 2 "$TBTUI" generate "$M" -p Tom --draft "$M" --no-speculate
err_has 'take one of them'
expect 2 "$TBTUI" chat "$M" -p Tom --draft "$T/no-model"

# What was read is kept in a file and not read again, of these weights only.
for turn in 1 2; do
	expect 0 "$TBTUI" generate "$M" -p "Once upon a time there was" --temp 0 -n 9 \
		--session-file "$T/kept" --json
	sed 's/.*"text":\("[^"]*"\).*/\1/' "$T/out" >"$T/said$turn"
done
has '"prompt_tokens":1,"reused_tokens":6,'
cmp "$T/said1" "$T/said2" || fail "another text from what was kept"
[ "$(stat -c %a "$T/kept")" = 600 ] || fail "others can read what was kept"
expect 0 "$TBTUI" chat "$M" -p "Once upon a time there was" -n 2 --json --session-file "$T/kept"
has '"reused_tokens":[1-9]'
cp "$T/kept" "$T/before"
expect 2 "$TBTUI" generate "$TBTUI_SHARED/data/models/stories260K/hf-bf16" -p x -n 1 \
	--session-file "$T/kept"
err_has 'kept: it was kept of other weights'
cmp "$T/kept" "$T/before" || fail "what was refused is not there any more"
expect 2 "$TBTUI" generate "$M" -p x -n 1 --session-file "$M/config.json"
err_has 'no session was kept in it; take another file'

# What else was likely, as "logits" says of the same place; a token's text is where it says.
expect 0 "$TBTUI" logits "$M" -p "Once upon a time" --top 1 --json
likely=$(sed 's/.*"logprob":\(-[0-9.e-]*\).*/\1/' "$T/out" | cut -c1-7)
expect 0 "$TBTUI" generate "$M" -p "Once upon a time" --temp 0 -n 3 --top 3 --json --kv f32
has "\"tokens\":\[\{\"id\":432,\"piece\":\",\",\"logprob\":$likely[0-9e-]*,\"begin\":0,\"end\":1,"
has "\"top\":\[\{\"id\":432,\"piece\":\",\",\"logprob\":$likely[0-9e-]*\},(\{[^}]*\},?){2}\]\},\{\"id\":383,"
expect 0 "$TBTUI" generate "$M" -p "Once upon a time" --temp 0 -n 3 --json
has_not '"tokens":'
expect 2 "$TBTUI" generate "$M" -p x --top 11
err_has 'at most 10'

# A grammar says what may come; what has to come is not asked for.
cat >"$T/list.gbnf" <<'END'
root ::= "Names:\n" item{2,3} "the end"	# of the list
item ::= "- " [A-Z] [a-z]{2,6} "\n"
END
for seed in 1 2 3; do
	expect 0 "$TBTUI" generate "$M" -p "Once upon" --grammar "$T/list.gbnf" --temp 1.5 --seed $seed
	[ "$(head -1 "$T/out")" = Names: ] && [ "$(tail -1 "$T/out")" = "the end" ] &&
		[ "$(grep -cE '^- [A-Z][a-z]{2,6}$' "$T/out")" -eq $(($(wc -l <"$T/out") - 2)) ] ||
		fail "not what the grammar says: $(cat "$T/out")"
done
expect 0 "$TBTUI" generate "$M" -p "Once upon" --grammar "$T/list.gbnf" --json -n 40
has '"stop":"eos".*"forced_tokens":[1-9]'
echo 'root ::= "a" | root "b"' >"$T/left.gbnf"
expect 2 "$TBTUI" generate "$M" -p x --grammar "$T/left.gbnf"
err_has 'left.gbnf: the rule "root" begins with itself'

# To the end of the context and no further.
expect 0 "$TBTUI" generate "$M" -p Tom --temp 1 --ignore-eos --ctx 20 --json
has '"stop":"context".*"context_used":20,"context":20,'
expect 0 "$TBTUI" generate "$M" -p Tom --temp 1 --ignore-eos --ctx 20
err_has '^\(the context is full\)$'
expect 0 "$TBTUI" generate "$M" -p Tom --temp 1 --ignore-eos --ctx 20 -n 2
[ -s "$T/err" ] && fail "the context is not full: $(cat "$T/err")"
expect 2 "$TBTUI" generate "$M" -p "Once upon a time there was a big red ball" --ctx 4
err_has 'the prompt has [0-9]+ tokens, the context 4; shorten it'

expect 0 "$TBTUI" logits "$M" -p "Once upon a time" --top 3 --json
has '"top":\[\{"id":432,"piece":",","logit":17\.799'
expect 0 "$TBTUI" perplexity "$M" "$TBTUI_SHARED/data/prompts/ppl.txt" --json
has '^\{"tokens":167,"nll":1\.34555.*,"perplexity":3\.84032.*,"seconds":'
expect 0 "$TBTUI" perplexity "$M" "$TBTUI_SHARED/data/prompts/ppl.txt" --exact --json
has '"perplexity":3\.84032'

# What keys and values are kept as: the same text, nearly the same numbers.
for kv in f32 f16 int8; do
	expect 0 "$TBTUI" generate "$M" -p "Once upon a time" --temp 0 -n 8 --kv $kv
	has '^, there was a little girl$'
	"$TBTUI" logits "$M" -p "Once upon a time" --top 1 --kv $kv --json >"$T/$kv" ||
		fail "logits with $kv"
	grep -q '"logit":17\.[78]' "$T/$kv" || fail "$kv is far off: $(cat "$T/$kv")"
done
cmp -s "$T/f32" "$T/f16" && fail "--kv f16 keeps f32"
cmp -s "$T/f16" "$T/int8" && fail "--kv int8 keeps f16"
expect 2 "$TBTUI" generate "$M" -p x --kv f8
err_has '--kv: f32, f16 or int8'
expect 2 "$TBTUI" perplexity "$M" "$T/nothing"
err_has 'nothing'

# What cannot be done is said, with status 2.
expect 2 "$TBTUI" generate "$M"
err_has 'no prompt'
expect 2 "$TBTUI" generate "$M" -p x --temp -1
err_has 'temperature -1'
expect 2 "$TBTUI" generate "$M" -p x --temp warm
err_has 'warm'
mkdir "$T/other"
cp "$M"/* "$T/other"
sed -i 's/"llama"/"mamba"/' "$T/other/config.json"
expect 2 "$TBTUI" generate "$T/other" -p x
err_has '"mamba" cannot be run; "tbtui doctor" lists those that can$'
expect 2 "$TBTUI" generate "$T/no-model" -p x

# From a store: the same ids as from the directory; quantized: nearly the same text.
mkdir -p "$T/store/manifests" "$T/store/blobs"
for m in stories260K/hf-f32 stories260K/hf-f16-sharded stories260K-moe4/hf stories260K-wide256/hf; do
	name=$(echo "$m" | tr / - | tr 'A-Z' 'a-z')
	expect 0 "$TBTUI" -s "$T/store" import "$TBTUI_SHARED/data/models/$m" "$name"
	for p in "Once upon a time" "Tom and Jane went to the park. They saw"; do
		"$TBTUI" generate "$TBTUI_SHARED/data/models/$m" -p "$p" --temp 0 -n 60 >"$T/a" ||
			fail "$m from its directory"
		"$TBTUI" -s "$T/store" generate "$name" -p "$p" --temp 0 -n 60 >"$T/b" ||
			fail "$m from the store"
		cmp -s "$T/a" "$T/b" || fail "$m: the store's copy says something else"
	done
done
expect 0 "$TBTUI" -s "$T/store" quantize stories260k-wide256-hf wide8 -q int8
"$TBTUI" -s "$T/store" generate wide8 -p "Once upon a time" --temp 0 -n 16 >"$T/out" || fail "int8"
has '^, there was a little girl named Lily'
for layout in stacked per-expert; do
	expect 0 "$TBTUI" -s "$T/store" quantize stories260k-moe4-hf "moe-$layout" -q int8 \
		--experts "$layout"
	expect 0 "$TBTUI" -s "$T/store" generate "moe-$layout" -p "Once upon a time" --temp 0 -n 12
	has '^, there was a little girl named Lily'
done

# As many positions as the model's parameters say, unless somebody says otherwise.
printf 'FROM stories260k-hf-f32\nPARAMETER num_ctx 40\n' >"$T/Modelfile"
expect 0 "$TBTUI" -s "$T/store" create short -f "$T/Modelfile"
for ctx in "40:" "30:--ctx 30" "512:--ctx 0"; do
	expect 0 "$TBTUI" -s "$T/store" generate short -p Tom -n 2 --json ${ctx#*:}
	has "\"context\":${ctx%%:*},"
done
printf '/set temperature 0\n/bye\n' | "$TBTUI" -s "$T/store" chat short >"$T/out" 2>&1 || fail "chat"
expect 0 "$TBTUI" -s "$T/store" chat short -p Tom --temp 0 -n 3 --json
has '"context":40,'

# As long as they say, drawn as they say.
printf 'FROM stories260k-hf-f32\nPARAMETER num_predict 5\nPARAMETER seed 7\n' >"$T/Modelfile"
expect 0 "$TBTUI" -s "$T/store" create told -f "$T/Modelfile"
expect 0 "$TBTUI" -s "$T/store" generate told -p Tom --temp 2 --json
has '"stop":"length"'
has '"ids":\[([0-9]+,){4}[0-9]+\]'
ids=$(grep -o '"ids":[^]]*' "$T/out")
expect 0 "$TBTUI" -s "$T/store" generate told -p Tom --temp 2 --json --seed 7
has "${ids#*\[}"
expect 0 "$TBTUI" -s "$T/store" generate told -p Tom --temp 2 --json --seed 8
has_not "${ids#*\[}"
expect 0 "$TBTUI" -s "$T/store" generate told -p Tom -n 2 --json
has '"ids":\[[0-9]+,[0-9]+\]'
expect 0 "$TBTUI" -s "$T/store" chat told -p Tom --json
has '"stop":"length"'

# A conversation through a pipe: commands act, answers come, one line each as JSON.
expect 0 "$TBTUI" chat "$M" -p "Once upon a time" --temp 0 -n 5
printf '/set parameter temperature 0\nOnce upon a time\n/clear\n"""Once upon\na time"""\n/bye\nno\n' |
	"$TBTUI" chat "$M" -n 6 --json >"$T/out" 2>"$T/err" || fail "chat through a pipe"
[ "$(grep -c '^{"text":"' "$T/out")" -eq 2 ] || fail "not two answers"
printf '/set parameter temperature hot\n/nonsense\n' |
	"$TBTUI" chat "$M" >"$T/out" 2>"$T/err"
err_has 'temperature cannot be hot: it is 0'
err_has 'No command .nonsense'
# the word "parameter" may be left out, as on the screen
printf '/set temperature 0\n/set system be brief\n/help\n' | "$TBTUI" chat "$M" >"$T/out" 2>"$T/err" ||
	fail "/set without the word parameter"
err_has 'system: none -> be brief'
grep -q 'cannot be\|Nothing is called\|No command' "$T/err" && fail "refused: $(cat "$T/err")"
has '^/set \[NAME'

# A long conversation drops its oldest turns and says so.
yes 'Tell me a story about a dog and a cat.' | head -12 |
	"$TBTUI" chat "$M" -n 20 --ctx 128 >"$T/out" 2>"$T/err" || fail "a long chat"
err_has 'dropped [0-9]+ turn'
exit 0
