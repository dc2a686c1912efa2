# Tools that a model may call, thinking, and the template that both go through: with nothing
# but the demo's models.
. "${srcdir:-.}/tests/cli/lib.sh"

expect 0 "$TBTUI" demo --random "$T/demo"
cat >"$T/tools.json" <<'EOF'
[{"type": "function", "function": {"name": "weather", "description": "of a city",
  "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
EOF
cat >"$T/t.gotmpl" <<'EOF'
{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}{{ .Tools }}{{ .Think }}{{ .ThinkLevel }}
EOF
chat() {
	printf "$@" >"$T/lines"
	"$TBTUI" --store "$T/demo" chat demo:bf16 -n 2 --temp 0 --no-keep --template "$T/t.gotmpl" \
		<"$T/lines" >"$T/out" 2>"$T/err"
}

# what it makes of a conversation, with tools and thinking
chat 'hello\n/tools %s\n/think high\n/template\n/tools none\n/think off\n/template\n' "$T/tools.json" ||
	fail "$(cat "$T/err")"
has '^used: the file of --template, in Go.s language$'
has '^weather  of a city$'
has '^<user>hello<assistant>.*\[\{"type":"function","function":\{"name":"weather".*truehigh$'
has '^<user>hello<assistant>.*nullfalse$'
chat '/result 7\n' || fail "$(cat "$T/err")"
err_has '^It has called nothing'
chat '/think maybe\n'
err_has 'think'

# of options
expect 0 "$TBTUI" --store "$T/demo" chat demo:bf16 -n 2 -p hello --tools "$T/tools.json" --think on
echo '{}' >"$T/bad.json"
expect 2 "$TBTUI" --store "$T/demo" chat demo:bf16 -n 2 -p hello --tools "$T/bad.json"
err_has 'bad.json: tools: a list of'
expect 2 "$TBTUI" --store "$T/demo" chat demo:bf16 -n 2 -p hello --tools "$T/none.json"
expect 2 "$TBTUI" --store "$T/demo" chat demo:bf16 -n 2 -p hello --think maybe
err_has 'think: on, off'

# a GGUF's own Jinja template goes before a TEMPLATE that knows less
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/dense" -q keep
sed -i 's/"chat_template":[ ]*"/&{# tool_calls, tools, tool_response #}/' "$T/dense/tokenizer_config.json"
expect 0 "$TBTUI" quantize "$T/dense" "$T/x.gguf" -q keep
echo '[{"role":"user","content":"x"}]' >"$T/talk.json"
tooled() {
	printf 'FROM %s\nTEMPLATE """%s"""\n' "$T/x.gguf" "$1" >"$T/Modelfile"
	expect 0 "$TBTUI" --store "$T/demo" create tooled --replace -f "$T/Modelfile"
	expect 0 "$TBTUI" --store "$T/demo" template tooled "$T/talk.json"
}
tooled '[{{ .Prompt }}]'
err_has 'its TEMPLATE knows less: the Jinja template of its GGUF is used$'
tooled '{{ range .Messages }}[{{ .Content }}]{{ if eq .Role "tool" }}{{ .ToolCalls }}{{ end }}{{ end }}{{ .Tools }}'
err_has 'used: its TEMPLATE, in Go.s language$'
[ "$(cat "$T/out")" = '[x]null' ] || fail "not what the TEMPLATE writes: $(cat "$T/out")"
