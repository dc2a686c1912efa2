# Constrained output: 200 random schemas, 200 valid answers; what cannot be held to is refused.
. "${srcdir:-.}/tests/cli/lib.sh"
M=$srcdir/data/demo
N=200
python3 -c 1 2>/dev/null || exit 77

mkdir "$T/s"
python3 "$srcdir/tests/cli/schema.py" make "$T/s" $N || fail "no schemas"
i=0
while [ $((i += 1)) -le $N ]; do
	# warm, so that all kinds of things are said; many would not end before they have to
	"$TBTUI" generate "$M" -p "The answer is" --schema "$T/s/$i.json" --seed $i --temp 1.2 \
		-n 400 >"$T/s/$i.out" 2>"$T/err" || fail "schema $i: $(cat "$T/err")"
done
python3 "$srcdir/tests/cli/schema.py" check "$T/s" $N || fail "not all are valid"
[ "$(cat "$T"/s/*.out | wc -c)" -gt 10000 ] || fail "hardly anything was said"

# Any JSON object, also cut short.
for seed in 1 2 3 4 5 6 7 8; do
	expect 0 "$TBTUI" generate "$M" -p "In JSON:" --format json --seed $seed --temp 1.3 -n 60
	python3 -c 'import json, sys; assert type(json.load(sys.stdin)) is dict' <"$T/out" ||
		fail "no JSON: $(cat "$T/out")"
done

# A conversation: with -p, by /format, by Ollama's words for it; and what is refused changes nothing.
cat >"$T/short.json" <<'END'
{"type": "object", "properties": {"n": {"type": "integer", "minimum": 7, "maximum": 9}}, "required": ["n"]}
END
expect 0 "$TBTUI" chat "$M" -p "How many?" --schema "$T/short.json"
has '^\{"n": [789]\}$'
expect 0 "$TBTUI" chat "$M" -p "How many?" --schema "$T/short.json" --json
has '"text":"\{\\"n\\": [789]\}".*"stop":"eos".*"forced_tokens":[1-9]'
printf '%s\n' "/format $T/short.json" One /format "/format $T/none.json" Two "/set noformat" \
	"/set num_predict 9" "What is a blob?" "/set format json" Three /bye >"$T/said"
"$TBTUI" chat "$M" --temp 0 <"$T/said" >"$T/out" 2>"$T/err" && fail "a file that is not there is no failure"
cat "$T/err" >>"$T/out"
[ "$(grep -c '^{"n": [789]}$' "$T/out")" -eq 2 ] || fail "not held to the schema: $(cat "$T/out")"
has 'Answers are held to .*short.json; /format off ends that'
err_has 'none.json'
has 'free text from now on'
grep -q '^[A-Z][^"]*$' "$T/out" || fail "no free text: $(cat "$T/out")"
has '^\{ *"'

# refused SCHEMA MESSAGE
refused() {
	printf '%s' "$1" >"$T/schema"
	expect 2 "$TBTUI" generate "$M" -p x --schema "$T/schema"
	err_has "$2"
}
refused '{"type":"object","properties":{"a/b":{"not":{}}}}' '#/properties/a~1b/not: this keyword is not supported'
refused '{"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#"}}}' '#/\$ref: it leads to itself'
refused '{"$ref":"http://example.com/schema"}' 'only places in this schema'
refused '{"$ref":"#/$defs/none"}' 'nothing is at "#/\$defs/none"'
refused '{"type":"text"}' '#/type: there is no such type'
refused '{"type":"array","uniqueItems":true}' '#/uniqueItems: '
refused '{"pattern":"a(?=b)"}' '#/pattern: looking around at place 3'
refused '{"pattern":"\\bx"}' '#/pattern: this escape at place 2'
refused '{"format":"regex"}' '#/format: this one is not supported'
refused '{"oneOf":[{"type":"string"},{"type":"string","minLength":3}]}' '#/oneOf: a value might match two'
refused '{"type":"string","allOf":[{"pattern":"a"},{"pattern":"b"}]}' '#/pattern: two that hold at once'
refused '{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}' 'no text can ever match'
refused '{"type":"object","properties":{"a":false},"required":["a"]}' 'no text can ever match'
refused '{"type":"string"' 'schema: '
refused '[]' 'a schema is an object'
expect 2 "$TBTUI" generate "$M" -p x --format json --schema "$T/schema"
err_has 'take one of them'
exit 0
