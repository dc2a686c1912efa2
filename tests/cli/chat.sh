# Which template a conversation is written with, and what is shown: with nothing but the
# demo's models.
. "${srcdir:-.}/tests/cli/lib.sh"

expect 0 "$TBTUI" demo --random "$T/demo"
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/dense" -q keep

# a model with a template: nothing to say
expect 0 "$TBTUI" chat "$T/dense" -p hello -n 4
[ -s "$T/err" ] && fail "there is a note: $(cat "$T/err")"
expect 0 "$TBTUI" show "$T/dense"
has '^\(used: that of tokenizer_config\.json, in Jinja\)$'

# a licence beside it, as on the screen; a text that cannot be read hides no other
echo 'Permission is hereby granted.' >"$T/dense/LICENSE"
expect 0 "$TBTUI" show "$T/dense"
has '^Permission is hereby granted\.$'
expect 0 "$TBTUI" --json show "$T/dense"
has '"license":"Permission is hereby granted'
rm "$T/dense/LICENSE"
mkdir "$T/dense/LICENSE"
expect 0 "$TBTUI" show "$T/dense"
err_has 'LICENSE: not a (regular )?file'
has '^\(used: that of tokenizer_config\.json, in Jinja\)$'
rmdir "$T/dense/LICENSE"

# without one: said, and text is continued
cp -r "$T/dense" "$T/base"
sed 's/"chat_template":/"was":/' "$T/dense/tokenizer_config.json" >"$T/base/tokenizer_config.json"
expect 0 "$TBTUI" chat "$T/base" -p "once upon" -n 6 --temp 0
err_has 'base: it has no chat template; what is said is continued as text$'
cp "$T/out" "$T/chat"
expect 0 "$TBTUI" generate "$T/base" -p "once upon" -n 6 --temp 0
cmp "$T/out" "$T/chat" || fail "a base model in chat does not continue the text"
printf 'one\ntwo\n' | "$TBTUI" chat "$T/base" -n 3 --json >"$T/out" 2>"$T/err" ||
	fail "two turns without a template"
[ "$(grep -c '"text":' "$T/out")" -eq 2 ] || fail "not two answers"
echo '[{"role":"user","content":"x"}]' >"$T/talk.json"
expect 2 "$TBTUI" template "$T/base" "$T/talk.json"
err_has 'it has no chat template'

# a broken one is an error, not a reason to guess
sed 's/"chat_template": *"/&{% if /' "$T/dense/tokenizer_config.json" \
	>"$T/base/tokenizer_config.json"
expect 2 "$TBTUI" chat "$T/base" -p hello
err_has 'chat template'

# a store's own template in Go's language is what a conversation is written with
manifest=$T/demo/manifests/registry.ollama.ai/library/demo/bf16
cp "$manifest" "$T/manifest"
# own: the template of standard input becomes that of demo:bf16
own() {
	cat >"$T/own"
	sum=$(sha256sum "$T/own" | cut -d' ' -f1)
	cp "$T/own" "$T/demo/blobs/sha256-$sum"
	layer='{"mediaType":"application/vnd.ollama.image.template","digest":"sha256:'$sum'","size":'
	sed 's|"layers": *\[|&'"$layer$(wc -c <"$T/own")"'},|' "$T/manifest" >"$manifest"
}
own <<'EOF'
{{- range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}<assistant>
EOF
expect 0 "$TBTUI" --store "$T/demo" template demo:bf16 "$T/talk.json"
printf '<user>x<assistant>\n' | cmp - "$T/out" || fail "not what the TEMPLATE writes"
err_has 'used: its TEMPLATE, in Go.s language$'
expect 0 "$TBTUI" --store "$T/demo" chat demo:bf16 -p hello -n 4
grep -q template "$T/err" && fail "what is usual is remarked on"
expect 0 "$TBTUI" --store "$T/demo" show demo:bf16
has '^\(used: its TEMPLATE, in Go.s language'
expect 0 "$TBTUI" --store "$T/demo" --json show demo:bf16
has '"template_used":"its TEMPLATE","template_language":"go","template_own_unused":false'

# unless it cannot be, or says nothing of who speaks: that is said everywhere
used='the Jinja template of tokenizer_config\.json is used$'
own <<'EOF'
{{ if .System }}{{ .System }}
{{ end }}{{ .Prompt }}
EOF
expect 0 "$TBTUI" --store "$T/demo" chat demo:bf16 -p hello -n 4
err_has "demo:bf16: its TEMPLATE does not say who speaks: $used"
echo '<{{ .Prompt }' | own
expect 0 "$TBTUI" --store "$T/demo" template demo:bf16 "$T/talk.json"
err_has "^its TEMPLATE cannot be run: $used|its own TEMPLATE cannot be run: $used"
expect 0 "$TBTUI" --store "$T/demo" --json show demo:bf16
has '"template_used":"tokenizer_config\.json","template_language":"jinja","template_own_unused":true'

# a file in its place, in either language
echo '[{{ .Prompt }}](' >"$T/mine.gotmpl"
expect 0 "$TBTUI" --store "$T/demo" template demo:bf16 "$T/talk.json" --template "$T/mine.gotmpl"
printf '[x](\n' | cmp - "$T/out" || fail "--template is not used"
err_has 'used: the file of --template, in Go.s language$'
echo '{% for m in messages %}({{ m.content }}{% endfor %}' >"$T/mine"
expect 0 "$TBTUI" --store "$T/demo" template demo:bf16 "$T/talk.json" --template "$T/mine"
printf '(x' | cmp - "$T/out" || fail "--template in Jinja is not used"
expect 0 "$TBTUI" --store "$T/demo" chat demo:bf16 -p hello -n 4 --template "$T/mine.gotmpl"
expect 2 "$TBTUI" --store "$T/demo" chat demo:bf16 -p hello --template "$T/none"
err_has 'none: there is no such file'
cp "$T/manifest" "$manifest"

# control tokens are no text, unless it is asked for
expect 0 "$TBTUI" generate "$T/dense" -p a -n 600 --temp 100 --top-k 0 --top-p 1 --min-p 0 \
	--ignore-eos --seed 1 --json
special=$(sed -n 's/.*"bos_token": *"\([^"]*\)".*/\1/p' "$T/dense/tokenizer_config.json")
[ -n "$special" ] || fail "the demo has no special token"
grep -Fq "$special" "$T/out" && fail "a control token is printed"
expect 0 "$TBTUI" generate "$T/dense" -p a -n 600 --temp 100 --top-k 0 --top-p 1 --min-p 0 \
	--ignore-eos --seed 1 --json --raw
grep -Fq "$special" "$T/out" || fail "no control token came: this shows nothing"

# what counts where nothing is said
for c in chat generate; do
	expect 0 "$TBTUI" $c --help
	tr -s ' \n' ' ' <"$T/out" >"$T/flat"
	for d in 'temperature; 0 = always the likeliest \(the model.s, else 0\.8\)' \
		'0 = all \(the model.s, else 40\)' 'up to P \(the model.s, else 0\.9\)'; do
		grep -Eq "$d" "$T/flat" || fail "$c --help does not say: $d"
	done
done
exit 0
