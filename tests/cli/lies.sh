# Models that say of themselves what cannot be: no format is made of them, and nothing is left.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
M=$TBTUI_SHARED/data/models
Q=$M/stories260K-qwen2

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
mkdir "$T/store" "$T/to"

# refused SOURCE DESTINATION PATTERN
refused() {
	expect 2 timeout 20 "$TBTUI" --store "$T/store" --db "$T/index.db" quantize "$1" "$T/to/$2" -q keep
	err_has "$3"
	[ -z "$(ls -A "$T/to")" ] || fail "$1: something is left: $(ls -A "$T/to")"
}

# ---- config.json ----

# config KEY VALUE: the model, with another number.
config() {
	rm -rf "$T/hf"
	cp -r "$Q/hf" "$T/hf"
	chmod -R u+w "$T/hf"
	python3 - "$T/hf/config.json" "$1" "$2" <<'PY'
import json, sys
path, key, value = sys.argv[1:]
doc = json.load(open(path))
doc[key] = json.loads(value)
json.dump(doc, open(path, "w"))
PY
}

config hidden_size 0
refused "$T/hf" m.gguf 'hidden_size'
config hidden_size 32
refused "$T/hf" m.gguf 'model\.'
config num_hidden_layers null
refused "$T/hf" m.gguf 'nothing in it says qwen2\.block_count'
config rope_theta 1e300
refused "$T/hf" m.gguf 'rope_theta'
# Four thousand million tokens without a text would be written for minutes.
config vocab_size 4294967295
refused "$T/hf" m.gguf 'vocab_size is 4294967295, and the tokenizer has 512 tokens'
# ---- keys of a GGUF ----

# number KEY VALUE: the model, with another number.
number() {
	python3 - "$Q/stories260K-qwen2.gguf" "$T/lies.gguf" "$1" "$2" <<'PY'
import struct, sys
source, made, key, value = sys.argv[1:]
d = bytearray(open(source, "rb").read())
at = d.index(key.encode()) + len(key)
assert d[at:at + 4] == struct.pack("<I", 4)
d[at + 4:at + 8] = struct.pack("<I", int(value))
open(made, "wb").write(d)
PY
}

number qwen2.embedding_length 32
refused "$T/lies.gguf" dir 'blk\.0|token_embd'
number qwen2.feed_forward_length 7
refused "$T/lies.gguf" dir 'ffn'
number qwen2.attention.head_count_kv 2
refused "$T/lies.gguf" dir 'attn_k'

# Every how manieth layer is another: a half and an endless one were divided by.
every() {
	python3 - "$TBTUI_SHARED/data/models/arch/qwen3_5/model.gguf" "$T/lies.gguf" "$1" <<'PY'
import struct, sys
d = bytearray(open(sys.argv[1], "rb").read())
key = b"qwen35.full_attention_interval"
at = d.index(key) + len(key)
assert d[at:at + 4] == struct.pack("<I", 4)
d[at:at + 8] = struct.pack("<If", 6, float(sys.argv[3]))
open(sys.argv[2], "wb").write(d)
PY
}
every inf
refused "$T/lies.gguf" dir 'full_attention_interval: inf cannot be'
every 0.5
expect 0 "$TBTUI" --store "$T/store" --db "$T/index.db" quantize "$T/lies.gguf" "$T/to/half" -q keep

# A piece of a megabyte takes the square of that to be halved: there is no tokenizer.json.
python3 - "$Q/stories260K-qwen2.gguf" "$T/lies.gguf" <<'PY'
import struct, sys
d = open(sys.argv[1], "rb").read()
old = struct.pack("<Q", 4) + "▁f".encode()
new = struct.pack("<Q", 4 + 1200000) + "▁f".encode() + b"ab" * 600000
assert d.count(old) == 1
open(sys.argv[2], "wb").write(d.replace(old, new))
PY
expect 0 timeout 20 "$TBTUI" --store "$T/store" --db "$T/index.db" quantize "$T/lies.gguf" "$T/to/dir" -q keep
err_has 'no tokenizer\.json: token [0-9]+ is 1200004 bytes long'
[ ! -e "$T/to/dir/tokenizer.json" ] || fail "a tokenizer.json nobody can read"
