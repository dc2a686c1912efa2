#!/bin/sh
# Recipes: what plan shows is what quantize makes, from a file, too; several are compared.
. "${srcdir:-.}/tests/cli/lib.sh"

tb() {
	"$TBTUI" --store "$T/demo" --db "$T/index.db" "$@"
}
expect 0 "$TBTUI" demo --random "$T/demo"
expect 0 tb unpack demo-moe:bf16 "$T/moe"

# same MADE: the plan's targets are the schemes of what was written
same() {
	expect 0 tb --json tensors "$1"
	python3 "$T/same.py" "$T/plan" "$T/out" || fail "$1 is not as planned"
}
cat >"$T/same.py" <<'END'
import json, sys
plan, made = (json.load(open(f)) for f in sys.argv[1:])
rows = plan["recipes"][0]["tensors"]
got = {t["name"]: t["scheme"] for t in made["tensors"]}
assert sorted(got.values()) == sorted(t["to"] for t in rows), got
assert all(got.get(t["name"], t["to"]) == t["to"] for t in rows), got
END
for how in "-q int4" "--policy mlx:mixed_3_6" "--policy budget:6bpw" "--policy loss:5%"; do
	how="$how --experts keep"
	rm -rf "$T/made"
	# shellcheck disable=SC2086
	expect 0 tb --json plan "$T/moe" "$T/made/" $how --save "$T/r.json"
	cp "$T/out" "$T/plan"
	# shellcheck disable=SC2086
	expect 0 tb quantize "$T/moe" "$T/made" $how
	same "$T/made"
	rm -rf "$T/made"
	expect 0 tb quantize "$T/moe" "$T/made" --recipe "$T/r.json"
	same "$T/made"
	rm "$T/r.json"
done

# what the contract says of a recipe
python3 - "$T/plan" <<'END' || fail "plan --json"
import json, sys
r = json.load(open(sys.argv[1]))["recipes"][0]
for key in ("name", "bytes_before", "bytes_after", "bits_per_weight", "error", "tensors"):
    assert r[key] is not None, key
for t in r["tensors"]:
    for key in ("name", "from", "to", "bytes_before", "bytes_after", "nmse", "why"):
        assert t[key] is not None, (key, t)
assert 0 < r["error"] <= .05, r["error"]
assert sum(t["bytes_after"] for t in r["tensors"]) == r["bytes_after"]
END

# side by side, with words instead of files
expect 0 tb plan "$T/moe" "$T/x/" -q int4 --save "$T/r.json" --rule '*.o_proj.weight=keep'
expect 0 tb plan "$T/moe" "$T/x/" -q int8 --recipe "$T/r.json" --recipe budget:7bpw
has '^A  int8 '
has '^B  .*r.json '
has '^C  budget:7bpw .* (6\.9[0-9]|7\.00) '
has 'self_attn\.o_proj\.weight *int8 *BF16 '
expect 0 tb --json plan "$T/moe" "$T/x/" -q int8 --recipe "$T/r.json"
[ "$(grep -o '"bits_per_weight"' "$T/out" | wc -l)" -eq 2 ] || fail "two recipes"

# what is refused, and how
expect 2 tb plan "$T/moe" --policy llama:Q4_K_X
err_has 'did you mean "Q4_K_S"'
expect 2 tb quantize "$T/moe" "$T/x" --policy budget:1kB
err_has 'too little: the least that this model can become is'
expect 2 tb quantize "$T/moe" "$T/x" --recipe "$T/r.json" --recipe int4
err_has 'plan compares several'
expect 2 tb quantize "$T/moe" "$T/x" --recipe "$T/r.json" -q int4
err_has 'leave out -q'
expect 2 tb quantize demo:bf16 "$T/x" --recipe "$T/r.json"
err_has 'has no such tensor'
expect 2 tb plan "$T/moe" -q int4 --save "$T/r.json"
err_has 'r.json'
[ ! -e "$T/x" ] || fail "something was written"
expect 2 tb plan "$T/moe" --policy budget
err_has '--policy budget: how much'

# a recipe for tensors whose rows are other ones says which tensor, and why
cat >"$T/bad.json" <<'END'
{"recipe": 1, "policy": "keep", "tensors": {"model.norm.weight": "int4"}}
END
expect 2 tb plan "$T/moe" "$T/x/" --recipe "$T/bad.json"
err_has 'model.norm.weight cannot be stored as int4: it is no matrix'
cat >"$T/bad.json" <<'END'
{"recipe": 1, "policy": "keep", "tensors": {"model.embed_tokens.weight": "Q4_K"}}
END
expect 2 tb plan "$T/moe" "$T/x.gguf" --recipe "$T/bad.json"
err_has 'cannot be stored as Q4_K: its rows of [0-9]+ do not divide into blocks'

# which of several it is
expect 2 tb plan "$T/moe" "$T/x/" --recipe int4 --recipe budget:1kB
err_has '^tbtui: budget:1kB: 1.0 kB is too little'

# a rule that reaches nothing is told of; one that does is not
expect 0 tb plan "$T/moe" "$T/x/" -q int4 -r '*q_porj*=int8'
err_has 'rule \*q_porj\*=int8 changes nothing: no tensor has such a name'
expect 0 tb plan "$T/moe" "$T/x/" -q int4 -r '*norm*=int8'
err_has 'rule \*norm\*=int8 changes nothing: of the [0-9]+ tensors of such a name none can'
expect 0 tb plan "$T/moe" "$T/x/" -q int4 -r '*q_proj*=int8'
[ ! -s "$T/err" ] || fail "a rule that counts is told of"

# no store to write to: said with a way out, and a plan needs none
expect 2 "$TBTUI" --store "$T/moe" --db "$T/i2.db" quantize "$T/moe" mine -q int4
err_has 'or write a folder: ./mine/'
expect 0 "$TBTUI" --store "$T/moe" --db "$T/i2.db" plan "$T/moe" mine -q int4 --no-errors

# what it takes to get there is in it, too
expect 0 tb quantize "$T/moe" "$T/q4/" -q int4 --policy uniform
expect 0 tb plan "$T/q4" "$T/x" -q int8 --policy uniform --requantize --shared packed --save "$T/again.json"
expect 0 tb --json plan "$T/q4" "$T/x" --recipe "$T/again.json"
has '"to":"int8"'
has_not '"to":"int4"'
sed '/"requantize"/d' "$T/again.json" >"$T/less.json"
expect 2 tb plan "$T/q4" "$T/x" --recipe "$T/less.json"
err_has 'quantized already \(requantize is off\)'
grep -q '"shared": *"packed"' "$T/again.json" || fail "shared experts are forgotten"
