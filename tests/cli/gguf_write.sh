#!/bin/sh
# A GGUF written by us holds what llama.cpp's converter writes of the same model.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
M=$TBTUI_SHARED/data/models

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
mkdir "$T/store"

# ---- the tensors are the same, bit for bit, but norms that were rounded when 1 was taken away ----

for v in rope3 moe4 qwen2 qwen3 untied; do
	expect 0 tb quantize "$M/stories260K-$v/hf" "$T/$v.gguf" -q keep
	expect 0 tb diff "$T/$v.gguf" "$M/stories260K-$v/stories260K-$v.gguf"
	has '[0-9]+ same$'
done
for d in bf16 f32; do
	expect 0 tb quantize "$M/stories260K/hf-$d" "$T/$d.gguf" -q keep
	expect 0 tb diff "$T/$d.gguf" "$M/stories260K/stories260K-$d.gguf"
	has '[0-9]+ same$'
done
for v in gemma gemma2 gemma3; do
	expect 0 tb quantize "$M/stories260K-$v/hf" "$T/$v.gguf" -q keep
	tb diff "$T/$v.gguf" "$M/stories260K-$v/stories260K-$v.gguf" >"$T/out"
	has 'max error 2\.98e-08|same$'
done

# ---- and it runs: the same first ids as llama.cpp says ----

for v in f32 rope3 moe4 qwen2 qwen3 gemma gemma2 gemma3 untied; do
	src=$M/stories260K-$v/stories260K-$v.gguf
	[ "$v" = f32 ] && src=$M/stories260K/stories260K-f32.gguf
	expect 0 tb generate "$src" -p "Once upon a time" --temp 0 -n 24
	mv "$T/out" "$T/want"
	expect 0 tb generate "$T/$v.gguf" -p "Once upon a time" --temp 0 -n 24
	cmp "$T/out" "$T/want" || fail "$v.gguf says something else than llama.cpp's file"
done

# ---- every type of blocks, and what does not fit stays as it is ----

p=$M/stories260K-pad192
for q in q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl mxfp4 nvfp4; do
	expect 0 tb quantize "$p/hf-f32" "$T/q.gguf" -q $q -f -y
	expect 0 tb tensors "$T/q.gguf"
	has "blk.0.attn_q.weight.* $(echo $q | tr a-z A-Z) "
	expect 0 tb perplexity "$T/q.gguf" "$TBTUI_SHARED/data/prompts/ppl.txt"
done

# ---- from one GGUF to another: keys as they are, blocks as llama-quantize makes them ----

expect 0 tb quantize "$p/stories260K-pad192-f32.gguf" "$T/q8.gguf" -q q8_0 --policy uniform
expect 0 tb diff "$T/q8.gguf" "$p/stories260K-pad192-Q8_0.gguf"
has '[0-9]+ same$'
expect 0 tb show "$T/q8.gguf" -k general.file_type
has '^7$'
expect 0 tb show "$T/q8.gguf" -k llama.rope.freq_base
has '10000'
expect 0 tb quantize "$p/hf-f32" "$T/hf8.gguf" -q q8_0 --policy uniform
expect 0 tb diff "$T/hf8.gguf" "$p/stories260K-pad192-Q8_0.gguf"
expect 0 tb perplexity "$T/hf8.gguf" "$TBTUI_SHARED/data/prompts/ppl.txt"
mv "$T/out" "$T/want"
expect 0 tb perplexity "$T/q8.gguf" "$TBTUI_SHARED/data/prompts/ppl.txt"

# ---- what is quantized already stays so, unless somebody wants it otherwise ----

w=$M/stories260K-wide256/stories260K-wide256
expect 0 tb quantize "$w-Q6_K.gguf" "$T/twice.gguf" -q Q4_K_M
err_has 'quantized already and left so: [0-9]+ tensors \(--requantize changes them\)'
expect 0 tb diff "$T/twice.gguf" "$w-Q6_K.gguf"
has '[0-9]+ same$'
expect 0 tb show "$T/twice.gguf" -k general.file_type
has '^18$'
expect 0 tb plan "$w-Q6_K.gguf" "$T/none.gguf" -q q4_k --policy uniform
has 'quantized already'
expect 0 tb quantize "$w-Q4_K_M.gguf" "$T/same.gguf" -q Q4_K_M
if grep 'left so' "$T/err"; then
	fail "what is as asked is nothing that was left"
fi
expect 0 tb quantize "$w-Q6_K.gguf" "$T/twice.gguf" -q Q4_K_M --requantize -f
expect 0 tb tensors "$T/twice.gguf"
has 'blk.0.attn_q.weight.* Q4_K '
expect 0 tb quantize "$M/arch/gpt_oss/hf" "$T/oss8.gguf" -q q8_0 --policy uniform
expect 0 tb tensors "$T/oss8.gguf"
has 'blk.0.ffn_gate_exps.weight .* MXFP4 '

# ---- a mix is called what was asked for, whatever its tensors became ----

for w in stories260K:15 stories260K-wide256:15; do
	p=$M/${w%:*}
	src=$p/hf
	[ -d "$src" ] || src=$p/hf-bf16
	expect 0 tb quantize "$src" "$T/mix.gguf" -q Q4_K_M -f
	expect 0 tb show "$T/mix.gguf" -k general.file_type
	has "^${w#*:}\$"
	expect 0 tb quantize "$T/mix.gguf" "$T/mix2.gguf" -q keep -f
	expect 0 tb show "$T/mix2.gguf" -k general.file_type
	has "^${w#*:}\$"
done

# ---- codes that a type of ggml's has, too: no number changes ----

expect 0 tb quantize "$M/arch/gpt_oss/hf" "$T/oss.gguf" -q keep
expect 0 tb diff "$T/oss.gguf" "$M/arch/gpt_oss/model.gguf"
has '[0-9]+ same, [0-9]+ same values$'
expect 0 tb tensors "$T/oss.gguf"
has 'blk.0.ffn_gate_exps.weight .* MXFP4 '

# ---- a tokenizer that would give other ids is said, and written if somebody wants it ----

cp -r "$M/stories260K/hf-f32" "$T/fused"
chmod -R u+w "$T/fused"
rm "$T"/fused/tokenizer*
cp "$TBTUI_SHARED/data/tokenizers/hf/added-tokens"/tokenizer* "$T/fused"
sed -i 's/"vocab_size"/"none"/' "$T/fused/config.json"
expect 2 tb quantize "$T/fused" "$T/fused.gguf" -q keep
err_has 'fused: a GGUF cannot say all of its tokenizer, .*--pre NAME'
[ ! -e "$T/fused.gguf" ] || fail "a refused conversion left a file"
expect 0 tb quantize "$T/fused" "$T/fused.gguf" -q keep --pre default

# ---- in several files, which readers take for one ----

w=$M/stories260K-wide256/stories260K-wide256
expect 0 tb quantize "$w.gguf" "$T/one.gguf" -q q8_0
expect 0 tb quantize "$w.gguf" "$T/some.gguf" -q q8_0 --split-max 300KB
has 'some-00001-of-00009.gguf: 47 tensors, .* in 9 files'
[ ! -e "$T/some.gguf" ] || fail "some.gguf is there as well"
expect 0 tb diff "$T/some-00001-of-00009.gguf" "$T/one.gguf"
has '47 same$'
expect 0 tb show "$T/some-00001-of-00009.gguf" -k split.tensors.count
has '^47$'
expect 0 tb verify "$T/some-00001-of-00009.gguf"
for f in "$T"/some-*; do
	[ "$(wc -c <"$f")" -lt 320000 ] || fail "$f is too long"
done
expect 0 tb quantize "$T/some-00001-of-00009.gguf" "$T/again.gguf" -q keep
cmp "$T/again.gguf" "$T/one.gguf" || fail "put together it is something else"
expect 0 tb quantize "$w.gguf" "$T/fits.gguf" -q q8_0 --split-max 1GB
cmp "$T/fits.gguf" "$T/one.gguf" || fail "one file that fits is not split"
# a tensor that is made here counts, and lies in the first file
expect 0 tb quantize "$M/stories260K-rope3/hf" "$T/rope.gguf" -q keep --split-max 300KB
expect 0 tb diff "$T/rope-00001-of-00004.gguf" "$M/stories260K-rope3/stories260K-rope3.gguf"
has '48 same$'
# none of them is written over, and what was begun goes again
rm "$T/some-00001-of-00009.gguf"
expect 2 tb quantize "$w.gguf" "$T/some.gguf" -q q8_0 --split-max 300KB -f
err_has 'some-00002-of-00009.gguf: exists already, .* name another destination'
[ ! -e "$T/some-00001-of-00009.gguf" ] || fail "half of it was written"
expect 2 tb quantize "$M/stories260K/hf-f32" "$T/folder/" -q keep --split-max 1MB
err_has '--split-max is for GGUF files'
expect 2 tb quantize "$w.gguf" "$T/x.gguf" -q keep --split-max much
err_has '--split-max: a size'
[ -z "$(find "$T" -name '.tbtui-*')" ] || fail "something hidden is left"

# ---- what cannot be is refused before anything is written ----

expect 2 tb quantize "$M/stories260K/hf-f32" "$T/no.gguf" -q int4
err_has 'a scheme of MLX, which GGUF files do not hold'
expect 2 tb quantize "$M/stories260K/hf-f32" "$T/folder/" -q q4_0
err_has 'is a type of GGUF files'
[ ! -e "$T/no.gguf" ] || fail "a refused conversion left a file"

# ---- a budget holds, also where one tensor becomes two of other shapes and a layer is left out ----

expect 0 tb --json plan "$M/arch/deepseek_v3/hf" "$T/no.gguf" --policy budget:15bpw
python3 - "$T/out" <<'END' || fail "budget of a GGUF"
import json, math, sys
plan = json.load(open(sys.argv[1]))["recipes"][0]
rows = {t["name"]: t for t in plan["tensors"]}
assert plan["bits_per_weight"] <= 15, plan["bits_per_weight"]
elems = sum(math.prod(t["shape"]) for t in rows.values() if not t["why"].startswith("left out"))
assert abs(plan["bits_per_weight"] - plan["bytes_after"] * 8 / elems) < 1e-6, elems
assert any(t["why"].startswith("left out") for t in rows.values())
assert rows["lm_head.weight"]["why"] == "chosen by its error", rows["lm_head.weight"]
assert all(t["to"] in ("F32", "F16", "BF16") for n, t in rows.items() if "kv_b" in n)
END
