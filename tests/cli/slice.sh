#!/bin/sh
# Some tensors of a model, under other names, in other files.
. "${srcdir:-.}/tests/cli/lib.sh"
py="python3 $(cd "$srcdir" && pwd)/tests/cli/packs.py"
command -v python3 >/dev/null || skip "no python3"

tb() {
	"$TBTUI" -s "$T/demo" -d "$T/index.db" "$@"
}
list() {
	$py list "$1" >"$2" || fail "$1 cannot be read"
}

expect 0 "$TBTUI" demo --random "$T/demo"
expect 0 tb quantize demo:bf16 "$T/all" -q keep
list "$T/all" "$T/want"

# Split, and put together again.
expect 0 tb slice "$T/all" "$T/split" --shard-max 100KB
[ ! -s "$T/err" ] || fail "a whole model would not run: $(cat "$T/err")"
[ "$(find "$T/split" -name 'model-*-of-*.safetensors' | wc -l)" -gt 3 ] || fail "not split"
find "$T/split" -name 'model-*' -size +110k | grep . && fail "a shard is too large"
grep -q '"weight_map"' "$T/split/model.safetensors.index.json" || fail "no index"
list "$T/split" "$T/got" && cmp -s "$T/want" "$T/got" || fail "split otherwise"
expect 0 tb slice "$T/split" "$T/one" --shard-max none
[ -f "$T/one/model.safetensors" ] && [ ! -e "$T/one/model.safetensors.index.json" ] || fail "not one"
list "$T/one" "$T/got" && cmp -s "$T/want" "$T/got" || fail "merged otherwise"
expect 0 tb slice "$T/split" "$T/one.safetensors"
list "$T/one.safetensors" "$T/got" && cmp -s "$T/want" "$T/got" || fail "merged otherwise"

# Kept and dropped; what a run then lacks is said.
expect 0 tb slice "$T/all" "$T/part" --keep 'model.layers.*' --keep '*norm*' --drop '*.1.*'
err_has 'will not run by itself: [0-9]+ tensors that it needs are not in it, '
grep -E '^model\.(layers\.|norm)' "$T/want" | grep -v 'layers\.1\.' >"$T/some"
list "$T/part" "$T/got" && cmp -s "$T/some" "$T/got" || fail "another part"

# Other names, one after the other; in a store, a file, cast on the way.
expect 0 tb slice "$T/all" "$T/named" --rename 'model.layers.*=trunk.*' --rename '*.weight=*.w' \
	--rename 'trunk.0.input_layernorm.w=first'
sed 's/^model\.layers\./trunk./;s/^trunk\.0\.input_layernorm /first /' "$T/want" | sort >"$T/some"
$py list "$T/named" | sed 's/^\([^ ]*\)\.w /\1 /' | sort >"$T/got"
cmp -s "$T/some" "$T/got" || { diff "$T/some" "$T/got" | head -5 >&2; fail "other names"; }
expect 0 tb slice "$T/all" cut:one --keep '*.0.*' -q f32
expect 0 tb tensors cut:one
has '^model\.layers\.0\.mlp\.down_proj\.weight +F32 '
has_not 'layers\.1|lm_head'

# Quantized tensors go with their parts.
expect 0 tb quantize "$T/all" "$T/q" -q int4 --policy uniform
list "$T/q" "$T/want"
expect 0 tb slice "$T/q" "$T/q2" --keep '*_proj*' --rename 'model.*=*'
grep _proj "$T/want" | sed 's/^model\.//' >"$T/some"
list "$T/q2" "$T/got" && cmp -s "$T/some" "$T/got" || fail "parts"

# What is wrong is said before anything is written.
bad() {
	said=$1
	shift
	expect 2 tb slice "$T/all" "$T/never" "$@"
	err_has "$said"
	[ ! -e "$T/never" ] || fail "a refusal wrote"
}
bad 'two tensors would be called model\.x' --rename 'model.layers.*=model.x'
bad 'two tensors would be called lm_head\.weight' --rename model.norm.weight=lm_head.weight
bad '--keep modle\.\*: no tensor is called so' --keep 'modle.*'
bad 'no tensor is called so' --drop nothing
bad 'no tensor is called so' --rename a=b
bad 'no tensor is left' --drop '*'
bad 'FROM=TO' --rename model
bad 'each side may have one' --rename 'a*b*=c'
bad 'each side may have one' --rename 'lm_head.weight=*'
bad 'no name for a tensor' --rename 'lm_head.*='
bad 'a size, as' --shard-max 3furlongs
bad 'a size, as' --shard-max 99999999999999999999GB
expect 2 tb slice "$T/q" "$T/never" --rename 'model.norm.weight=model.layers.0.mlp.up_proj.scales'
err_has 'model\.layers\.0\.mlp\.up_proj\.scales is what a part of model\.layers\.0\.mlp\.up_proj\.weight is called'
expect 2 tb slice "$T/all" "$T/all" --keep '*'
exit 0
