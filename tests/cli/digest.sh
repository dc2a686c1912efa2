# Digests of tensors: the same wherever the same bytes are, kept until the file is
# another one, and as the manual defines them (python makes them again).
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
models=$TBTUI_SHARED/data/models
S=$models/stories260K
TBTUI_DB=$T/index.db
export TBTUI_DB
mkdir -p "$T/store/blobs" "$T/store/manifests"
tb() {
	"$TBTUI" -s "$T/store" "$@"
}
digest_of() {
	expect 0 tb --json tensor "$1" "$2" --digest
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["digest"])' "$T/out"
}
same() {
	[ "$1" = "$2" ] || fail "$3: $1 and $2"
}

cat >"$T/again.py" <<'PY'
import hashlib, json, sys

got = json.load(open(sys.argv[1]))
kinds = {"scale": "scale", "bias": "bias", "global_scale": "global"}
bits = {"BF16": 16, "F16": 16, "F32": 32, "U8": 8}
for t in got["tensors"]:
    def part(file, offset, n):
        with open(file, "rb") as f:
            f.seek(offset)
            return f.read(n)
    more = t["companions"]
    h = hashlib.sha256()
    n = t["bytes"] - sum(c["bytes"] for c in more)
    if more:
        h.update(f"weight {t['scheme']} {','.join(map(str, t['shape']))}\n".encode())
    h.update(part(t["file"], t["offset"], n))
    for c in more:
        count = c["bytes"] * 8 // bits[c["dtype"]]
        h.update(f"{kinds[c['kind']]} {c['dtype']} {count}\n".encode())
        h.update(part(c["file"], c["offset"], c["bytes"]))
    assert t["digest"] == "sha256:" + h.hexdigest(), t["name"]
assert got["tensors"]
PY

# One tensor in a file, in one of two shards, in a blob of its own and in a GGUF.
expect 0 tb import "$S/hf-f32" tiny
mkdir "$T/sharded"
cp "$S"/hf-f32/*.json "$T/sharded"
python3 - "$S/hf-f32/model.safetensors" "$T/sharded" <<'PY'
import json, struct, sys

raw = open(sys.argv[1], "rb").read()
(n,) = struct.unpack_from("<Q", raw)
header = json.loads(raw[8:8 + n])
names = sorted(k for k in header if k != "__metadata__")
index = {"weight_map": {}}
for i in 0, 1:
    file = f"model-0000{i + 1}-of-00002.safetensors"
    out, at, data = {}, 0, b""
    for name in names[i::2]:
        b, e = header[name]["data_offsets"]
        out[name] = dict(header[name], data_offsets=[at, at + e - b])
        data += raw[8 + n + b:8 + n + e]
        at += e - b
        index["weight_map"][name] = file
    text = json.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    open(f"{sys.argv[2]}/{file}", "wb").write(struct.pack("<Q", len(text)) + text + data)
json.dump(index, open(f"{sys.argv[2]}/model.safetensors.index.json", "w"))
PY
name=model.layers.2.mlp.up_proj.weight
right=$(digest_of "$S/hf-f32/model.safetensors" $name)
case $right in sha256:????????????????????????????????????????????????????????????????) ;;
*) fail "no digest: $right" ;; esac
same "$right" "$(digest_of "$S/hf-f32" $name)" directory
same "$right" "$(digest_of "$T/sharded" $name)" shard
same "$right" "$(digest_of tiny $name)" blob
same "$right" "$(digest_of "$S/stories260K-f32.gguf" blk.2.ffn_up.weight)" GGUF
expect 0 tb tensor tiny $name --digest
has "^digest +$right\$"

# Packed ones, under MLX's names and Ollama's.
expect 0 tb quantize "$S/hf-bf16" packed -q int4 --policy uniform
expect 0 tb quantize "$S/hf-bf16" "$T/mlx" -q int4 --policy uniform
expect 0 tb --json tensors packed --digests
python3 "$T/again.py" "$T/out" || fail "other digests than the manual's"
same "$(digest_of packed $name)" "$(digest_of "$T/mlx" $name)" packed
for q in nvfp4 mxfp8; do
	expect 0 tb quantize "$S/hf-bf16" $q -q $q --policy uniform
	expect 0 tb --json tensors $q --digests
	python3 "$T/again.py" "$T/out" || fail "$q: other digests than the manual's"
done

# Kept digests spare reading; of a file that was changed they count no more.
expect 0 tb tensors tiny --digests
has '^NAME .* DIGEST$'
expect 0 tb tensors "$T/sharded" --digests
expect 0 tb diff tiny "$T/sharded"
has '^47 tensors: 47 same$'
has '2\.1 MB not read'
cp -r "$T/sharded" "$T/copy"
expect 0 tb diff tiny "$T/copy"
has_not 'not read'
shard=$T/sharded/model-00001-of-00002.safetensors
size=$(wc -c <"$shard")
printf '\377' | dd of="$shard" bs=1 seek=$((size - 3)) conv=notrunc 2>"$T/dd"
touch -d '2020-01-01' "$shard"
expect 1 tb diff tiny "$T/sharded"
has '46 same, 1 differs'

# What cannot be read has none, and that is told.
expect 0 tb quantize "$S/hf-bf16" cut -q int8
blob=$(tb --json tensor cut $name | python3 -c 'import json, sys; print(json.load(sys.stdin)["file"])')
rm -f "$blob"
expect 2 tb tensor cut $name --digest
expect 1 tb tensors cut --digests
err_has 'missing|not there'

# A disk that takes nothing: the digest is printed all the same.
TBTUI_DB=/proc/none/index.db
expect 0 tb tensor tiny $name --digest
has "$right"
err_has 'not kept'
