#!/bin/sh
# show: keys in full, counts and memory of real models.
. "$srcdir/tests/cli/lib.sh"

# A text that cannot be read does not hide those behind it, and is told once.
expect 0 "$TBTUI" demo --random "$T/demo"
expect 0 "$TBTUI" -s "$T/demo" quantize demo:bf16 "$T/broken" -q keep -y
mkdir "$T/broken/chat_template.jinja"
expect 1 "$TBTUI" show "$T/broken"
has '^Template$'
has '^\{\{ bos_token'
has 'chat_template.jinja: not a regular file$'
[ ! -s "$T/err" ] || fail "told twice: $(cat "$T/err")"

# Of very many problems the first are told.
many=$T/many/manifests/registry.ollama.ai/library/many/x
mkdir -p "$T/many/blobs" "${many%/*}"
layers=$(seq 70 | while read -r i; do
	printf ',{"mediaType":"application/vnd.ollama.image.tensor","digest":"sha256:%064d","size":9,"name":"t%d"}' "$i" "$i"
done)
echo "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"application/vnd.docker.container.image.v1+json\",\"digest\":\"sha256:$(printf %064d 71)\",\"size\":2},\"layers\":[${layers#,}]}" >"$many"
expect 1 "$TBTUI" -s "$T/many" show many:x
has '^and 2[01] more$'
expect 1 "$TBTUI" -s "$T/many" tensors many:x
err_has 'and 2[01] more$'
[ "$(wc -l <"$T/err")" = 51 ] || fail "$(wc -l <"$T/err") lines of problems"

need_shared
models=$TBTUI_SHARED/data/models
moe=$models/stories260K-moe4

for m in "$moe/hf" "$moe/stories260K-moe4.gguf"; do
	expect 0 "$TBTUI" show "$m"
	has '^parameters +789K, 459K active'
	has 'Experts +[0-9]+ +660K +2.6 MB +330K'
	has '^Total +[0-9]+ +789K +3.2 MB +459K'
	expect 0 "$TBTUI" --json show "$m"
	has '"parameters":789440,'
	has '"active_parameters":459200,"experts":4,"experts_used":2'
	has '"experts":\{"tensors":[0-9]+,"parameters":660480,'
	has '"memory":\{"weights":3157760,"bytes_per_token":1705728,'
done
has '"gguf":\{"version":3,"alignment":32,"file_type":"F32"\}'
has '"llama.expert_count":4,'
has '"tokenizer.ggml.add_bos_token":true'
has '"tokenizer.ggml.tokens":\["<unk>","<s>",'
has '"template":"\{\{ bos_token'

gguf=$moe/stories260K-moe4.gguf
expect 0 "$TBTUI" show "$gguf"
has '^Metadata \(GGUF version 3, alignment 32, 29 keys\)'
has '^general.file_type +u32 +0 \(F32\)'
has '^tokenizer.ggml.tokens +string\[512\] +"<unk>", "<s>", .*…$'
has_not ' $'
expect 0 "$TBTUI" show "$gguf" --key tokenizer.ggml.tokens
[ "$(wc -l <"$T/out")" -eq 512 ] || fail "$(wc -l <"$T/out") tokens"
[ "$(sed -n 3p "$T/out")" = '</s>' ] || fail "not the third token"
expect 0 "$TBTUI" --json show "$gguf" --key llama.rope.freq_base
[ "$(cat "$T/out")" = '{"key":"llama.rope.freq_base","value":10000}' ] || fail "$(cat "$T/out")"
expect 2 "$TBTUI" show "$gguf" --key no.such
err_has 'no key "no.such"'
expect 0 "$TBTUI" show "$models/stories260K-rope3/hf" --key rope_scaling.factor
[ "$(cat "$T/out")" = 8 ] || fail "$(cat "$T/out")"
expect 0 "$TBTUI" show "$moe/hf" --key format
[ "$(cat "$T/out")" = pt ] || fail "$(cat "$T/out")"
exit 0
