#!/bin/sh
# Adapters: numbers as of weights that have them in it, from all kinds of files; in a store; what
# is refused.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
models=$TBTUI_SHARED/data/models
make="python3 $(cd "$srcdir" && pwd)/tests/cli/adapter.py"

# logits MODEL ARGUMENT...: the best ten, with two digits behind the point
logits() {
	"$TBTUI" -s "$T/store" -d "$T/index.db" logits "$@" --exact -p "Once upon a time there was a big cat" \
		--json >"$T/json" || fail "logits $*"
	python3 -c 'import json, sys
for t in json.load(open(sys.argv[1]))["top"]: print(t["id"], round(t["logit"], 2))' "$T/json"
}

# same WHAT: $T/want is what its logits are
same() {
	logits "$@" >"$T/got"
	cmp -s "$T/want" "$T/got" || fail "$*: $(diff "$T/want" "$T/got" | head -5)"
}

mkdir "$T/store"
base=$models/stories260K/hf-f32
gguf=$models/stories260K/stories260K-f32.gguf

# One, of either kind on either kind of model; ranks that fill no vector.
$make "$base" "$T/one" lora:4:12 || exit 99
logits "$T/one/merged" >"$T/want"
logits "$base" >"$T/plain"
cmp -s "$T/want" "$T/plain" && fail "the adapter changes nothing"
for model in "$base" "$gguf"; do
	for adapter in lora lora.gguf lora/adapter_model.safetensors; do
		same "$model" --adapter "$T/one/$adapter"
	done
done

# Two add up; one is scaled by the root of its rank.
$make "$base" "$T/two" a:4:12 b:3:6:root || exit 99
logits "$T/two/merged" >"$T/want"
same "$base" --adapter "$T/two/a" --adapter "$T/two/b"
same "$gguf" --adapter "$T/two/b" --adapter "$T/two/a"

# Experts, one by one and stacked.
moe=$models/stories260K-moe4
$make "$moe/hf" "$T/moe" lora:2:6 || exit 99
logits "$T/moe/merged" >"$T/want"
for model in "$moe/hf" "$moe/stories260K-moe4.gguf"; do
	same "$model" --adapter "$T/moe/lora"
	same "$model" --adapter "$T/moe/lora.gguf"
done

# Gate and up in one tensor.
$make "$models/arch/glm4/hf" "$T/fused" lora:2:6 || exit 99
logits "$T/fused/merged" >"$T/want"
same "$models/arch/glm4/hf" --adapter "$T/fused/lora"
same "$models/arch/glm4/model.gguf" --adapter "$T/fused/lora.gguf"

# Those of a model in a store are in it; two with tensors of the same names are no damage.
logits "$T/one/merged" >"$T/want"
printf 'FROM %s\nADAPTER %s\n' "$gguf" "$T/one/lora.gguf" >"$T/Modelfile"
expect 0 "$TBTUI" -s "$T/store" -d "$T/index.db" create tuned -f "$T/Modelfile"
same tuned
expect 0 "$TBTUI" -s "$T/store" -d "$T/index.db" verify
expect 0 "$TBTUI" -s "$T/store" -d "$T/index.db" show tuned

# Other weights than without: what a session kept is not taken for theirs.
expect 0 "$TBTUI" generate "$base" -p Once -n 4 --temp 0 --session-file "$T/kept"
expect 2 "$TBTUI" generate "$base" -p Once -n 4 --temp 0 --session-file "$T/kept" --adapter "$T/one/lora"
err_has 'kept of other weights'

# refused FILE TEXT
refused() {
	"$TBTUI" generate "$base" -p Once -n 1 --adapter "$1" >"$T/out" 2>"$T/err" && fail "taken: $1"
	err_has "$2"
}
refused "$T/moe/lora" 'block_sparse_moe.experts.0.w1.lora_A.weight: the model has no tensor'
refused "$gguf" 'is a model, no adapter'
refused "$T/fused/lora.gguf" 'made for models of glm4, this is one of llama'
expect 2 "$TBTUI" generate "$T/one/lora" -p Once
err_has 'is an adapter, not a model: .* --adapter'
expect 2 "$TBTUI" generate "$T/one/lora.gguf" -p Once
err_has 'is an adapter, not a model: .* --adapter'
# change FROM TO: in adapter_config.json
change() {
	rm -rf "$T/bad"
	cp -r "$T/one/lora" "$T/bad"
	sed "s/$1/$2/" "$T/one/lora/adapter_config.json" >"$T/bad/adapter_config.json"
}
change '"LORA"' '"IA3"'
refused "$T/bad" 'peft_type IA3'
change '"use_dora": false' '"use_dora": true'
refused "$T/bad" 'use_dora is not known'
change '"LORA"' '"LORA", "alpha_pattern": {"q_proj": 1, "layers.1.mlp": 2}'
expect 0 "$TBTUI" generate "$base" -p Once -n 1 --adapter "$T/bad"
change '"LORA"' '"LORA", "alpha_pattern": {"q_.*": 1}'
refused "$T/bad" 'regular expression'
rm "$T/bad/adapter_config.json"
refused "$T/bad" 'no adapter_config.json beside it'

# A file of tensors is of the model in its folder, and of no other.
logits "$base" >"$T/want"
same "$base/model.safetensors"
mkdir "$T/alone"
cp "$base/model.safetensors" "$T/alone"
expect 2 "$TBTUI" logits "$T/alone/model.safetensors" -p Once
expect 0 "$TBTUI" show "$base/model.safetensors"
has 'llama'
