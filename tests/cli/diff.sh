# Two models, tensor by tensor: a directory beside its store, its shards, its GGUF and
# its conversions; what each of them exits with.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
models=$TBTUI_SHARED/data/models
S=$models/stories260K
export TBTUI_DB="$T/index.db"
mkdir -p "$T/store/blobs" "$T/store/manifests"
tb() {
	"$TBTUI" -s "$T/store" "$@"
}

# Whatever the layout: the same bytes, without reading them where that can be known.
expect 0 tb import "$S/hf-bf16" tiny
expect 0 tb diff "$S/hf-bf16" tiny
has '^47 tensors: 47 same$'
has_not 'not read'
expect 0 tb diff tiny tiny
has '^1\.0 MB not read: known to be the same$'
expect 0 tb diff tiny tiny --read
has_not 'not read'
expect 0 tb diff "$S/hf-bf16" tiny -q
[ -s "$T/out" ] && fail "--quiet says something"

# GGUF: other names, rows in another order, norms with and without their 1.
expect 0 tb diff "$S/hf-f32" "$S/stories260K-f32.gguf"
has '^47 tensors: 37 same, 10 same values$'
has '^model\.layers\.0\.self_attn\.q_proj\.weight +same values +F32 '
expect 0 tb diff "$S/stories260K-bf16.gguf" "$S/hf-bf16"
expect 0 tb diff "$models/stories260K-moe4/hf" "$models/stories260K-moe4/stories260K-moe4.gguf"
has '^98 tensors: 88 same, 10 same values$'
expect 0 tb diff "$models/stories260K-qwen3/hf" "$models/stories260K-qwen3/stories260K-qwen3.gguf"
expect 1 tb diff "$models/stories260K-gemma3/hf" \
	"$models/stories260K-gemma3/stories260K-gemma3.gguf" --sort max
has 'max error 2\.98e-08$'
expect 1 tb diff "$models/stories260K-rope3/hf" "$models/stories260K-rope3/stories260K-rope3.gguf"
has '^rope_freqs\.weight +only in B'
expect 1 tb diff "$S/hf-f32" "$S/stories260K-f32.gguf" --bytes
has '37 same, 10 differs'

# Figures, against what python makes of the two files.
expect 0 tb quantize "$S/hf-bf16" small -q int8 --policy uniform
expect 1 tb diff "$S/hf-bf16" small -f embed
has '^model\.embed_tokens\.weight +differs +BF16 int8 +0\.9999'
expect 1 tb --json diff "$S/hf-f32" "$S/hf-f16-sharded" -f q_proj
cat >"$T/check.py" <<'PY'
import json, math, struct, sys

got = json.load(open(sys.argv[1]))
assert got["same"] is False and got["counts"]["differs"] == len(got["tensors"]) == 5

def values(side, code):
    with open(side["file"], "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        begin, end = json.loads(f.read(n))[side["name"]]["data_offsets"]
        f.seek(8 + n + begin)
        return [v for (v,) in struct.iter_unpack("<" + code, f.read(end - begin))]

for t in got["tensors"]:
    a, b = values(t["a"], "f"), values(t["b"], "e")
    d = [x - y for x, y in zip(a, b)]
    aa = math.fsum(x * x for x in a)
    assert t["values"] == len(a) == len(b) and t["recoded"] and t["read"]
    assert t["unequal"] == sum(x != 0 for x in d)
    assert t["first_unequal"] == next(i for i, x in enumerate(d) if x)
    assert abs(t["nmse"] / (math.fsum(x * x for x in d) / aa) - 1) < 1e-12
    cos = math.fsum(x * y for x, y in zip(a, b)) / math.sqrt(aa * math.fsum(y * y for y in b))
    assert abs(t["cosine"] - cos) < 1e-14
    assert t["max_abs_error"] == max(map(abs, d)) == abs(d[t["max_abs_error_at"]])
PY
python3 "$T/check.py" "$T/out" || fail "the figures differ"

# Experts: a blob of them all, one each, and GGUF's stacks.
moe=$models/stories260K-moe4/hf
expect 0 tb import "$moe" moe
expect 0 tb pack moe packed
expect 0 tb diff moe packed
has '^98 tensors: 98 same$'
expect 0 tb quantize "$moe" q8 -q int8
expect 1 tb diff packed q8 --sort nmse
has 'differs'

# Damage: what is left is compared, and the exit status says that it was not all.
cp -r "$S/hf-f16-sharded" "$T/cut"
expect 0 tb diff "$S/hf-f16-sharded" "$T/cut"
rm -f "$T/cut/model-00002-of-00002.safetensors"
expect 2 tb diff "$S/hf-f16-sharded" "$T/cut"
has 'only in A'
blob=$(ls -S "$T"/store/blobs | head -1)
mv "$T/store/blobs/$blob" "$T/gone"
expect 2 tb diff "$moe" packed
err_has 'missing|not there'
mv "$T/gone" "$T/store/blobs/$blob"

# Two blobs of one name are the same, until a verify has found out that one is not.
mkdir -p "$T/second/blobs" "$T/second/manifests"
expect 0 "$TBTUI" -s "$T/second" import "$S/hf-bf16" twin
both() {
	"$TBTUI" -s "$T/store" -s "$T/second" "$@"
}
expect 0 both diff tiny twin
has '^1\.0 MB not read'
blob=$(tb --json tensor tiny model.embed_tokens.weight |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["file"])')
printf '\100\100' | dd of="$blob" bs=1 seek=3000 conv=notrunc 2>"$T/dd"
expect 1 both verify tiny
expect 1 both diff tiny twin
has '46 same, 1 differs'

expect 2 tb diff tiny
expect 2 tb diff tiny nothing
err_has 'nothing'
expect 2 tb diff tiny tiny --values --bytes
expect 2 tb diff tiny tiny --sort colour
expect 2 tb diff tiny tiny -f no-such-tensor
err_has 'no tensor'
