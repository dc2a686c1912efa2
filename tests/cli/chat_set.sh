# What is set of a conversation: texts that end an answer, what answers have to look like, tools;
# kept with the session. And what is copied of it. With nothing but the demo's models.
. "${srcdir:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null || exit 77
expect 0 "$TBTUI" demo --random "$T/demo"
tb() {
	"$TBTUI" -d "$T/data/index.db" --store "$T/demo" "$@"
}
# talk ARGS...: the lines of standard input are said
talk() {
	tb chat demo:bf16 -n 16 --temp 0 "$@" >"$T/out" 2>"$T/err" || fail "$*: $(cat "$T/err")"
}
# field NAME: of the JSON object that came
field() {
	python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readlines()[-1])[sys.argv[2]])' \
		"$T/out" "$1"
}

# whatever stands in the middle of an answer ends it: as an option, and for a text alone
for c in chat generate; do
	expect 0 tb $c demo:bf16 -p hello -n 16 --temp 0 --json
	field text >"$T/whole"
	stop=$(python3 -c 't = open("'"$T/whole"'").read().rstrip("\n"); print(t[len(t) // 2:][:3])')
	before=$(python3 -c 'import sys; t = open("'"$T/whole"'").read(); print(t[:t.index(sys.argv[1])])' \
		"$stop")
	expect 0 tb $c demo:bf16 -p hello -n 16 --temp 0 --json --stop "no such" --stop "$stop"
	[ "$(field text)" = "$before" ] || fail "$c --stop '$stop': $(cat "$T/out")"
	[ "$(field stop)" = stop ] || fail "$c --stop: $(field stop)"
done
expect 2 tb chat demo:bf16 -p hello --stop ""
err_has 'ends no answer'

# as a command, several; kept with the session, which gives other answers without it
expect 0 tb chat demo:bf16 -p hello -n 16 --temp 0 --json
stop=$(field text | python3 -c 't = input(); print(t[len(t) // 2:][:3])')
printf '/set parameter stop "a \\"b\\"\\n" END "%s"\nhello\n/set stop\n' "$stop" | talk
err_has "^stop: the model's -> \"a ..b..\\\\n\" \"END\" \"$stop\"\$"
printf '/regen\n' | tb chat --session last --json >"$T/out" || fail "not gone on with"
[ "$(field stop)" = stop ] || fail "stop is not kept: $(cat "$T/out")"
printf '/set stop ""\n/regen\n' | tb chat --session last --json >"$T/out" 2>"$T/err" || fail "stop"
err_has "^stop: .* -> the model's\$"
[ "$(field stop)" = length ] || fail "stop does not go: $(cat "$T/out")"
printf '/set stop "open\n' | talk
err_has 'stop takes up to 16 texts'

# the form of answers and tools go on with the session, without the files that they were read of
echo '{"enum": ["aye"]}' >"$T/aye.json"
cat >"$T/tools.json" <<'EOF'
[{"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": {}}}]
EOF
printf 'hello\n/format %s\n/tools %s\nhello\n' "$T/aye.json" "$T/tools.json" | talk
has '^"aye"$'
rm "$T/aye.json" "$T/tools.json"
printf '/format\n/tools\nso\n' | tb chat --session last >"$T/out" 2>"$T/err" || fail "$(cat "$T/err")"
has '^"aye"$'
has '^weather  of a city$'
err_has 'answers are held to .*aye\.json, as they were'
# what is asked for now counts more; a session without goes on without
echo '{"enum": ["nay"]}' >"$T/nay.json"
printf 'so\n' | tb chat --session last --schema "$T/nay.json" >"$T/out" || fail "--schema"
has '^"nay"$'
printf '/load 1\n/format\n/tools\n' | tb chat --session last >"$T/out" 2>"$T/err" || fail "/load"
err_has '^Answers are free text'
err_has '^It knows no tools'

# copied where there is no clipboard: printed
cat >"$T/code.json" <<'EOF'
{"model": "demo:bf16", "messages": [{"role": "user", "content": "x"}, {"role": "assistant",
"content": "So:\n\n```sh\nls  -l\n```\n\nor\n\n```\n\tone\ntwo\n```\n"}]}
EOF
expect 0 tb sessions import "$T/code.json"
copied() {
	printf '/load last\n%s\n' "$1" | tb chat demo:bf16 -q >"$T/out" 2>"$T/err" || fail "$1"
}
copied /copy
has '^So:$'
copied '/copy code'
[ "$(cat "$T/out")" = 'ls  -l' ] || fail "/copy code: $(cat "$T/out")"
copied '/copy code 2'
[ "$(cat "$T/out")" = "$(printf '\tone\ntwo')" ] || fail "/copy code 2: $(cat "$T/out")"
copied '/copy code 3'
err_has 'numbered 1 to 2'
copied '/copy that'
err_has '/copy takes nothing, or "code"'
exit 0
