# Architectures that are known by tables alone: Hugging Face's files become a GGUF, and that
# becomes what they were; a GGUF of llama.cpp's does so, too; and config.json, which is made of
# the GGUF's keys, says all that the keys said.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
A=$TBTUI_SHARED/data/models/arch

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
mkdir -p "$T/store/blobs" "$T/store/manifests"

# there MODEL: as a GGUF, and from that back.
there() {
	expect 0 tb quantize -q keep "$A/$1/hf" "$T/$1.gguf"
	expect 0 tb quantize -q keep "$T/$1.gguf" "$T/$1"
	expect 0 tb quantize -q keep "$A/$1/model.gguf" "$T/$1-llama"
	expect 0 tb quantize -q keep "$T/$1" "$T/$1-again.gguf"
	expect 0 tb diff "$T/$1.gguf" "$T/$1-again.gguf"
	has '^[0-9]+ tensors: [0-9]+ same$'
}
# same_keys MODEL: nothing that the keys say was lost.
same_keys() {
	python3 "${srcdir:-.}/tests/cli/gguf_back.py" "$T/$1.gguf" "$T/$1-again.gguf" >"$T/keys"
	[ ! -s "$T/keys" ] || fail "$1: $(cat "$T/keys")"
}

# The same bytes.
for m in cohere2 cohere2_moe deepseek_v2_lite ernie4_5 ernie4_5_moe exaone4 exaone4_swa gemma4 \
	gemma4_e gemma4_moe glm4 glm4_moe glm4_moe_lite granite granite_moe granite_moe_shared \
	hunyuan_dense laguna lfm2 lfm2_moe llama_yarn minimax_m2 olmo2 olmo3 olmoe qwen2_moe \
	seed_oss smollm3; do
	there $m
	same_keys $m
	for d in $m $m-llama; do
		expect 0 tb diff --bytes "$A/$m/hf" "$T/$d"
		has '^([0-9]+) tensors: \1 same$'
	done
	rm -r "$T/$m" "$T/$m-llama" "$T/$m.gguf" "$T/$m-again.gguf"
done

# But for what a GGUF does not have: a picture's tensors, a layer that guesses ahead.
for one in deepseek_v3:44 ministral3:2 mistral3:2 qwen3_vl:2; do
	m=${one%:*}
	there $m
	for d in $m $m-llama; do
		tb diff --bytes "$A/$m/hf" "$T/$d" >"$T/out"
		has "^[0-9]+ tensors: [0-9]+ same, ${one#*:} only in A\$"
	done
done

# Numbers that F32 rounded when 1 was added, or an exponential taken.
for m in granite_hybrid nemotron_h nemotron_h_moe qwen3_5 qwen3_5_moe qwen3_5_vl qwen3_next; do
	expect 0 tb quantize -q keep "$A/$m/hf" "$T/$m.gguf"
	expect 0 tb quantize -q keep "$T/$m.gguf" "$T/$m"
	expect 0 tb quantize -q keep "$A/$m/model.gguf" "$T/$m-llama"
	expect 0 tb quantize -q keep "$T/$m" "$T/$m-again.gguf"
	same_keys $m
	for d in $m $m-llama; do
		tb diff --bytes "$A/$m/hf" "$T/$d" >"$T/out"
		grep ' differs ' "$T/out" >"$T/differ"
		grep -v 'norm[a-z_]*\.weight\|A_log' "$T/differ" && fail "$d: more differs than norms and A_log"
		tb diff "$A/$m/hf" "$T/$d" >"$T/out"
		has 'NMSE [0-9.]+e-1[0-9], max error [0-9.]+e-0[78]$'
	done
done

# What cannot be woven again has another program's names.
there gpt_oss
same_keys gpt_oss
expect 0 tb tensors "$T/gpt_oss"
has 'model.layers.0.mlp.experts.gate_proj.weight .* mxfp4 '
there qwen3_vl_moe
ids=$(tr -d ' \n' <"$A/qwen3_vl_moe/reference.json" | grep -o '"greedy_ids":\[[^]]*\]' | head -1 |
	tr -dc '0-9,' | cut -d, -f1-12)
expect 0 tb --json generate "$T/qwen3_vl_moe" -p "Once upon a time" --temp 0 -n 12 --ignore-eos
has "\"ids\":\[$ids\]"

# Into a store, and with another scheme; blocks that would be torn are named.
expect 0 tb quantize -q int4 "$A/deepseek_v3/model.gguf" deep:int4
expect 0 tb tensors deep:int4
has 'self_attn.kv_b_proj.weight '
expect 0 tb quantize -q q8_0 --policy uniform "$A/qwen3_5/hf" "$T/blocks.gguf"
expect 2 tb quantize -q keep "$T/blocks.gguf" "$T/torn"
err_has 'blk.0.ssm_out.weight is packed in blocks'
[ ! -e "$T/torn" ] || fail "something was written"
exit 0
