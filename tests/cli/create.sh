#!/bin/sh
# Models made from Modelfiles, and the Modelfiles of models.
. "${srcdir:-.}/tests/cli/lib.sh"
py="python3 $(cd "$srcdir" && pwd)/tests/cli/create.py"
command -v python3 >/dev/null || skip "no python3"

tb() {
	"$TBTUI" -s "$T/store" -d "$T/index.db" "$@"
}

manifest() {
	echo "$T/store/manifests/registry.ollama.ai/library/$1/latest"
}

same() {
	cmp -s "$(manifest "$1")" "$(manifest "$2")" || fail "$1 and $2 differ"
}

# layers MODEL: compared with standard input
layers() {
	$py layers "$T/store" "$1" >"$T/got" || fail "layers of $1"
	diff "$T/got" - || fail "layers of $1"
}

mkdir "$T/store" "$T/in"
expect 0 "$TBTUI" demo --random "$T/demo"
expect 0 "$TBTUI" -s "$T/demo" quantize demo:bf16 "$T/in/hf" -q keep
mkdir "$T/here"
$py gguf "$T/in/model.gguf" token_embd.weight llama
$py gguf "$T/in/lora.gguf" output.weight.lora_a llama general.type=adapter
$py gguf "$T/in/eyes.gguf" v.patch_embd.weight clip general.type=mmproj
$py gguf "$T/in/small.gguf" token_embd.weight qwen2

# Everything a Modelfile can say, in the bytes that Ollama writes.
cat >"$T/in/Modelfile" <<'EOF'
# paths begin where the file is
FROM ./hf
TEMPLATE """{{ .System }}
{{ .Prompt }}"""
SYSTEM ""
SYSTEM Mild & <b>bold</b>
PARAMETER stop <|im_end|>
PARAMETER temperature 0.70
PARAMETER num_ctx +4096
PARAMETER use_mmap F
PARAMETER stop " two"
PARAMETER min_p 0.00000025
PARAMETER top_p 1.0
PARAMETER seed -9007199254740993
PARAMETER temperature .8
PARAMETER mirostat 2
LICENSE first
LICENSE """
second
"""
MESSAGE user Hello
MESSAGE assistant "Hi
there"
RENDERER one
RENDERER qwen3-coder
PARSER qwen3-coder
REQUIRES v0.20
EOF
cd "$T/here" || exit 99
expect 0 tb create one -f ../in/Modelfile
has '^one:latest: [0-9]+ layers, .* in '
err_has 'PARAMETER mirostat is not used any more'
layers one <<'EOF'
template '{{ .System }}\n{{ .Prompt }}'
system 'Mild & <b>bold</b>'
license 'first'
license '\nsecond\n'
params '{"min_p":2.5e-7,"num_ctx":4096,"seed":-9007199254740992,"stop":["\\u003c|im_end|\\u003e"," two"],"temperature":0.8,"top_p":1,"use_mmap":false}\n'
messages '[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi\\nthere"}]\n'
EOF
[ "$($py config "$T/store" one)" = '{"model_format":"safetensors","model_family":"","model_families":null,"model_type":"","file_type":"","renderer":"qwen3-coder","parser":"qwen3-coder","requires":"0.20","capabilities":["completion"],"architecture":"","os":""}' ] ||
	fail "$($py config "$T/store" one)"

# What it shows makes the same model, and what it takes from another is merged.
tb show one --modelfile >"$T/again" || fail "no Modelfile"
expect 0 tb create two -f "$T/again"
same one two
printf 'FROM one\n' >Modelfile
expect 0 tb create three
same one three
printf 'FROM one\nSYSTEM You.\nPARAMETER top_k 3\nPARAMETER stop x\nLICENSE first\nMESSAGE system s\n' |
	tb create merged -f - >/dev/null || fail "from standard input"
layers merged <<'EOF'
template '{{ .System }}\n{{ .Prompt }}'
license '\nsecond\n'
system 'You.'
license 'first'
params '{"min_p":2.5e-7,"num_ctx":4096,"seed":-9007199254740992,"stop":["x"],"temperature":0.8,"top_k":3,"top_p":1,"use_mmap":false}\n'
messages '[{"role":"system","content":"s"}]\n'
EOF
expect 0 tb show merged
has '^Licence 2$'
expect 0 tb --json show merged
has '"licenses":\["\\nsecond\\n","first"\]'

# Converted on the way; nothing of what is between is left.
expect 0 tb create small -f ../in/Modelfile -q int4
expect 0 tb show small
has '^scheme .*int4'
printf 'FROM one\nSYSTEM other\n' | tb create small2 -f - -q int4 >/dev/null || fail "-q from a store"
layers small2 <<'EOF'
template '{{ .System }}\n{{ .Prompt }}'
license 'first'
license '\nsecond\n'
messages '[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi\\nthere"}]\n'
system 'other'
params '{"min_p":2.5e-7,"num_ctx":4096,"seed":-9007199254740992,"stop":["\\u003c|im_end|\\u003e"," two"],"temperature":0.8,"top_p":1,"use_mmap":false}\n'
EOF
# What lies beside the weights comes along there, too, and is no part of them.
printf 'FROM one\nADAPTER ../in/lora.gguf\nDRAFT ../in/small.gguf\n' | tb create beside -f - >/dev/null ||
	fail "what lies beside"
printf 'FROM beside\n' | tb create beside4 -f - -q int4 >/dev/null || fail "-q with what lies beside"
$py layers "$T/store" beside4 >"$T/got" || fail "layers of beside4"
for kind in adapter draft; do
	grep -q "^$kind GGUF$" "$T/got" || fail "the $kind stayed behind: $(cat "$T/got")"
done
$py config "$T/store" beside4 | grep -q '"draft":{"model_format":"gguf","architecture":"qwen2"}' ||
	fail "$($py config "$T/store" beside4)"
expect 0 tb quantize beside "$T/weights" -q int4
err_has '2 tensors of an adapter, a projector or a draft model stay behind'
expect 0 tb tensors "$T/weights"
has_not '^(adapter|draft)'
expect 0 tb scan
expect 0 tb blobs --orphans
has '^0 files'

# GGUF: the model, a projector, an adapter, a draft.
cat >gguf <<'EOF'
FROM ../in/eyes.gguf
DRAFT ../in/small.gguf
FROM ../in/model.gguf
ADAPTER ../in/lora.gguf
SYSTEM hi
EOF
expect 0 tb create g1 -f gguf
layers g1 <<'EOF'
model GGUF
projector GGUF
adapter GGUF
draft GGUF
system 'hi'
EOF
$py config "$T/store" g1 | grep -q '"draft":{"model_format":"gguf","architecture":"qwen2"},"architecture":"amd64","os":"linux"}$' ||
	fail "$($py config "$T/store" g1)"
tb show g1 --modelfile >"$T/again" || fail "no Modelfile"
grep -q "^FROM $T/store/blobs/sha256-" "$T/again" || fail "FROM is no blob"
expect 0 tb create g2 -f "$T/again"
same g1 g2

# From another store: copied, and looked at.
mkdir -p "$T/far/blobs" "$T/far/manifests"
printf 'FROM g1\n' >far
expect 0 "$TBTUI" -s "$T/far" -s "$T/store" -d "$T/far.db" create g3 -f far
cmp -s "$(manifest g1)" "$T/far/manifests/registry.ollama.ai/library/g3/latest" || fail "copied otherwise"
expect 1 "$TBTUI" -s "$T/far" -d "$T/far.db" verify
has ' 1 error, '			# such a small model would not run
has 'embedding_length is missing'

# Names that are taken stay, or are kept.
expect 2 tb create one -f gguf
err_has 'one:latest: exists already'
same one two
printf 'FROM one\nSYSTEM new\n' >self
expect 0 tb create one -f self --replace
has 'kept'
layers one <<'EOF'
template '{{ .System }}\n{{ .Prompt }}'
license 'first'
license '\nsecond\n'
messages '[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi\\nthere"}]\n'
system 'new'
params '{"min_p":2.5e-7,"num_ctx":4096,"seed":-9007199254740992,"stop":["\\u003c|im_end|\\u003e"," two"],"temperature":0.8,"top_p":1,"use_mmap":false}\n'
EOF

# What is wrong is said with its line, before anything is written.
before=$(ls "$T/store/blobs" | wc -l)
bad() {
	printf '%b' "$1" >bad
	expect 2 tb create never -f bad
	err_has "$2"
}
bad 'FROM ../in/hf\nPARAMETER temprature 1\n' 'bad: line 2: unknown parameter .temprature.; did you mean "temperature"'
bad 'FROM ../in/hf\nPARAMETER top_k 1.5\n' 'line 2: PARAMETER top_k: "1.5" is not a whole number'
bad 'FROM ../in/hf\nPARAMETER top_p nan\n' 'line 2: PARAMETER top_p: "nan" is not a number'
bad 'FROM ../in/hf\nPARAMETER seed 9223372036854775808\n' 'is not a whole number'
bad 'FROM ../in/hf\nPARAMETER use_mmap yes\n' 'is not true or false'
bad 'FROM ../in/hf\nREQUIRES 0.19.x\n' 'line 2: REQUIRES "0.19.x" is no version'
bad 'FROM ../in/hf\nREQUIRES 0.9.0\n' 'layers of tensors are read by Ollama 0.19.0 and newer'
bad 'SYSTEM x\n' 'no FROM line'
bad 'FROM ../in/none\n' 'line 1: \.\./in/none'
bad 'FROM /etc/passwd\n' 'line 1: /etc/passwd: .*holds no model'
bad 'FROM one\nFROM two\n' 'line 2: a second FROM, two'
bad 'FROM ../in/eyes.gguf\n' 'a projector, and no model'
bad 'FROM ../in/lora.gguf\n' 'is an adapter'
bad 'FROM one\nADAPTER ../in/small.gguf\n' 'is no adapter but a model'
bad 'FROM one\nADAPTER /etc/passwd\n' 'ADAPTER: /etc/passwd: '
bad 'FROM ../in/small.gguf\nDRAFT ../in/small.gguf\n' 'is what FROM names'
bad 'FROM in/hf\n' 'in/hf'
bad 'FROM \033[31mred\n' 'red'
grep -q "$(printf '\033')" "$T/err" && fail "an escape reached the terminal"
[ "$(ls "$T/store/blobs" | wc -l)" -eq "$before" ] || fail "a refusal wrote"

# Without a Modelfile the folder is the model.
cd "$T/in/hf" || exit 99
expect 0 tb create plain
tb import . imported >/dev/null || fail "import"
same plain imported

# A GGUF becomes layers of tensors where it is converted.
[ -n "${TBTUI_SHARED:-}" ] || exit 0
cd "$T/here" || exit 99
printf 'FROM %s\nSYSTEM hi\n' "$TBTUI_SHARED/data/models/stories260K/stories260K-f16.gguf" >real
expect 0 tb create real -f real
expect 0 tb create real:int8 -f real -q int8
printf 'FROM real\nSYSTEM other\n' >real
expect 0 tb create real2 -f real -q int8
layers real2 <<'EOF'
system 'other'
EOF
expect 0 tb verify real:int8 real2
expect 0 tb tensors real2
has '^model\.layers\.0\.self_attn\.q_proj\.weight .* int8 '
