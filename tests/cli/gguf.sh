# Our reader and one in Python agree on every GGUF file there is: names, types, shapes,
# offsets, keys; "tensors" shows them in our order, "tensor" their values.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"

cat >"$T/list.py" <<'PY'
import json, struct, subprocess, sys
names = {0: "F32 1 4", 1: "F16 1 2", 2: "Q4_0 32 18", 3: "Q4_1 32 20", 6: "Q5_0 32 22",
    7: "Q5_1 32 24", 8: "Q8_0 32 34", 10: "Q2_K 256 84", 11: "Q3_K 256 110",
    12: "Q4_K 256 144", 13: "Q5_K 256 176", 14: "Q6_K 256 210", 16: "IQ2_XXS 256 66",
    17: "IQ2_XS 256 74", 18: "IQ3_XXS 256 98", 19: "IQ1_S 256 50", 20: "IQ4_NL 32 18",
    21: "IQ3_S 256 110", 22: "IQ2_S 256 82", 23: "IQ4_XS 256 136", 29: "IQ1_M 256 56",
    30: "BF16 1 2", 34: "TQ1_0 256 54", 35: "TQ2_0 256 66", 39: "MXFP4 32 17",
    40: "NVFP4 64 36", 41: "Q1_0 128 18", 42: "Q2_0 64 18"}
kinds = ["u8 B", "i8 B", "u16 H", "i16 H", "u32 I", "i32 I", "f32 I", "bool B", "string",
    "array", "u64 Q", "i64 Q", "f64 Q"]
data, at = b"", 0
def take(fmt):
    global at
    v = struct.unpack_from("<" + fmt, data, at)[0]
    at += struct.calcsize("<" + fmt)
    return v
def text():
    global at
    n = take("Q")
    at += n
    return data[at - n:at]
path, mode = sys.argv[1:]
data = open(path, "rb").read()
magic, version, ntensors, nkeys = take("4s"), take("I"), take("Q"), take("Q")
align, keys, tensors = 32, [], []
for _ in range(nkeys):
    key, kind = text(), kinds[take("I")].split()
    count, start, value = 1, at, 0
    if kind[0] == "array":
        kind, count = kinds[take("I")].split(), take("Q")
        start = at
        for _ in range(count):
            text() if kind[0] == "string" else take(kind[1])
    elif kind[0] == "string":
        count = take("Q")
        start = at
        at += count
    else:
        value = take(kind[1])
        if key == b"general.alignment":
            align = value
    keys.append((key, "%s %d at %d %d %x" % (kind[0], count, start, at - start, value)))
for _ in range(ntensors):
    name = text()
    dims = [take("Q") for _ in range(take("I"))]
    kind, block, size = names[take("I")].split()
    n = 1
    for d in dims:
        n *= d
    tensors.append((name, kind, dims, take("Q"), n // int(block) * int(size)))
base = (at + align - 1) // align * align
if mode == "list":
    out = open(1, "wb")
    out.write(b"version %d, alignment %d, data at %d\n" % (version, align, base))
    for name, kind, dims, off, size in sorted(tensors):
        out.write(name + (" %s %s %d %d\n" % (kind, dims, base + off, size)).encode())
    for key, value in sorted(keys):
        out.write(key + b" = " + value.encode() + b"\n")
else:
    for name, kind, dims, off, size in sorted(tensors):
        print(json.dumps([name.decode(), kind, dims[::-1], size]))
PY
cat >"$T/ours.py" <<'PY'
import json, sys
for t in sorted(json.load(sys.stdin)["tensors"], key=lambda t: t["name"].encode()):
    print(json.dumps([t["name"], t["scheme"], t["shape"], t["bytes"]]))
PY
find "$TBTUI_SHARED/data" -name '*.gguf' >"$T/files"
[ "$(wc -l <"$T/files")" -ge 50 ] || fail "too few files to compare"
while read -r file; do
	./tests/gguf_list "$file" >"$T/ours" || fail "$file: refused"
	python3 "$T/list.py" "$file" list >"$T/theirs" || fail "$file: python3 failed"
	cmp -s "$T/ours" "$T/theirs" || { diff "$T/ours" "$T/theirs" >&2; fail "$file differs"; }
	"$TBTUI" --json tensors "$file" >"$T/json" 2>"$T/err" ||	# 1: a vocabulary alone
		{ [ $? -eq 1 ] && [ ! -s "$T/err" ]; } || fail "$file: tensors"
	python3 "$T/ours.py" <"$T/json" >"$T/ours" || fail "$file: our JSON"
	python3 "$T/list.py" "$file" json >"$T/theirs" || fail "$file: python3 failed"
	cmp -s "$T/ours" "$T/theirs" || { diff "$T/ours" "$T/theirs" >&2; fail "$file: tensors"; }
done <"$T/files"

# What a block decodes to looks like the floats beside it; sums round as they are added.
part() {
	sed -n '/^$/,$p' | grep -v '^read' | sed 's/^\(mean\|std\) *\([-0-9.]\{9\}\).*/\1 \2/'
}
for file in "$TBTUI_SHARED"/data/gguf-golden/*.gguf; do
	for of in q.random q.encoded; do	# windows that begin inside a block
		for what in --stats --hist "--values=3:5,133:391"; do
			"$TBTUI" tensor "$what" "$file" "$of" | part >"$T/ours" || fail "$file: tensor $what $of"
			"$TBTUI" tensor "$what" "$file" "$of.f32" | part >"$T/theirs"
			[ -s "$T/ours" ] || fail "$file: tensor $what $of says nothing"
			cmp -s "$T/ours" "$T/theirs" || fail "$file: $what of $of and $of.f32 differ"
		done
	done
done

# A file that ends early is damage; what cannot be done with a sound one is said.
mkdir "$T/models"
sound=$TBTUI_SHARED/data/models/stories260K/stories260K-f32.gguf
cp "$sound" "$T/models/sound.gguf"
head -c 400000 "$sound" >"$T/models/cut.gguf"
expect 1 "$TBTUI" -s "$T/models" verify
has 'cut.gguf: tensor .* bytes of data at offset [0-9]*, the file ends at 400000'
expect 0 "$TBTUI" --db "$T/cut.db" -s "$T/models" scan
expect 0 "$TBTUI" --db "$T/cut.db" -s "$T/models" --json ls
has '"name":"cut.gguf","kind":"gguf-file",.*"size":400000,"exclusive_size":400000,.*"state":"damaged"'
rm "$T/models/cut.gguf"
expect 0 "$TBTUI" -s "$T/models" verify

# A file of a split that is not there is told of once; a vocabulary alone is a model
# without tensors, and nothing wrong with it.
mkdir "$T/split"
cp "$sound" "$T/split/part-00001-of-00002.gguf"
expect 1 "$TBTUI" -s "$T/split" verify
[ "$(grep -c 'part-00002-of-00002.gguf' "$T/out")" -eq 1 ] || fail "told of more than once"
has '^error +blob_missing .*part-00002-of-00002.gguf is missing'
vocab=$TBTUI_SHARED/data/tokenizers/llama.cpp-vocab/ggml-vocab-baichuan.gguf
expect 0 "$TBTUI" tensors "$vocab"
expect 1 "$TBTUI" tensors -f x "$vocab"
expect 0 "$TBTUI" show "$vocab"
has '^tensors +0$'
# What blocks are is in every list of types.
q8=$TBTUI_SHARED/data/models/stories260K-pad192/stories260K-pad192-Q8_0.gguf
expect 0 "$TBTUI" tensors -f blk.1.ffn_up "$q8"
has 'blk.1.ffn_up.weight +Q8_0 +192 x 64 +Q8_0'
expect 0 "$TBTUI" --json tensors -f blk.1.ffn_up "$q8"
has '"dtype":"Q8_0"'

# A scale that is no number makes a whole block of numbers that are none.
cp "$TBTUI_SHARED/data/models/stories260K-pad192/stories260K-pad192-Q8_0.gguf" "$T/models/q8.gguf"
chmod u+w "$T/models/q8.gguf"
at=$("$TBTUI" --json tensor "$T/models/q8.gguf" blk.1.ffn_up.weight |
	sed 's/.*"offset":\([0-9]*\).*/\1/')
printf '\0\176' | dd of="$T/models/q8.gguf" bs=1 seek=$((at + 34)) conv=notrunc 2>/dev/null
expect 2 "$TBTUI" quantize -q int4 "$T/models/q8.gguf" "$T/out.safetensors"
err_has 'tensor model.layers.1.mlp.up_proj.weight: element 32 is infinite or NaN'
[ ! -e "$T/out.safetensors" ] || fail "something was left behind"
expect 0 "$TBTUI" -s "$T/models" verify --deep
has "^warning +nonfinite .*blk.1.ffn_up.weight holds 32 values .* the first at byte $((at + 34)) of"
