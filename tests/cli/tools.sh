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
