# A directory comes into a store with every byte as it was, laid out as Ollama does.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
models=$TBTUI_SHARED/data/models

# Names, dtypes, shapes and data of two sets of safetensors files, read without the
# program; experts stacked on one side are taken apart.
cat >"$T/same.py" <<'PY'
import hashlib, json, os, struct, sys

def tensors(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(n))
        for name, t in head.items():
            if name == "__metadata__":
                continue
            a, b = t["data_offsets"]
            f.seek(8 + n + a)
            yield name, t["dtype"], tuple(t["shape"]), hashlib.sha256(f.read(b - a)).hexdigest()

def manifest(store, model):
    path = f"{store}/manifests/registry.ollama.ai/library/{model}/latest"
    return json.load(open(path))

def blob(store, layer):
    path = f"{store}/blobs/" + layer["digest"].replace(":", "-")
    data = open(path, "rb").read()
    assert "sha256:" + hashlib.sha256(data).hexdigest() == layer["digest"], path
    assert len(data) == layer["size"], path
    return path

src, store, model = sys.argv[1:4]
want = {}
for name in os.listdir(src):
    if name.endswith(".safetensors"):
        want.update({t[0]: t[1:] for t in tensors(f"{src}/{name}")})
m = manifest(store, model)
got, order, texts = {}, [], {}
for layer in m["layers"]:
    path = blob(store, layer)
    if layer["mediaType"] == "application/vnd.ollama.image.tensor":
        order.append(layer["name"])
        for t in tensors(path):
            assert t[0] not in got, t[0]
            got[t[0]] = t[1:]
        head = open(path, "rb").read(8)
        assert struct.unpack("<Q", head)[0] % 8 == 0, path
    else:
        assert layer["mediaType"] == "application/vnd.ollama.image.json"
        texts[layer["name"]] = open(path, "rb").read()
assert got == want, (sorted(got)[:3], sorted(want)[:3])
assert order == sorted(order), order
files = {n: open(f"{src}/{n}", "rb").read() for n in sorted(os.listdir(src))
         if n.endswith(".json") and not n.endswith(".index.json")}
assert texts == files and list(texts) == list(files)
config = open(blob(store, m["config"])).read()
assert config.startswith('{"model_format":"safetensors","model_family":"","model_families":null,'
                         '"model_type":"","file_type":"","requires":"0.19.0","capabilities":["completion"'), config
assert config.endswith('"architecture":"","os":""}'), config
PY
have_python=$(command -v python3 || true)

mkdir "$T/store"
for dir in stories260K/hf-f32 stories260K/hf-f16-sharded stories260K-moe4/hf; do
	name=$(echo "$dir" | tr -c 'a-zA-Z0-9\n' -)
	expect 0 "$TBTUI" -s "$T/store" import "$models/$dir" "$name"
	has "$name:latest: [0-9]+ tensors"
	[ -z "$have_python" ] || expect 0 python3 "$T/same.py" "$models/$dir" "$T/store" "$name"
done

# A GGUF is one layer, the same bytes, and runs as the file does.
gguf=$models/stories260K-pad192/stories260K-pad192-Q4_0.gguf
expect 0 "$TBTUI" -s "$T/store" import "$gguf" small:q4_0
has "small:q4_0: [0-9]+ tensors in 1 blob"
cmp "$gguf" "$T/store/blobs/sha256-$(sha256sum <"$gguf" | cut -d' ' -f1)" || fail "other bytes"
expect 0 "$TBTUI" -s "$T/store" --json show small:q4_0
has '"kind":"ollama-gguf"'
expect 0 "$TBTUI" -s "$T/store" verify
for what in "generate -n 20 --temp 0 -p Once" "logits -p Once"; do
	expect 0 "$TBTUI" $what "$gguf"
	mv "$T/out" "$T/file"
	expect 0 "$TBTUI" -s "$T/store" $what small:q4_0
	[ -s "$T/out" ] && cmp "$T/file" "$T/out" || fail "$what: the model in the store differs"
done

# What has the bytes of a blob is not written again; the name is not taken silently.
before=$(ls -i "$T/store/blobs" | sort)
expect 2 "$TBTUI" -s "$T/store" import "$models/stories260K/hf-f32" Stories260k-hf-F32
err_has "exists already"
expect 0 "$TBTUI" -s "$T/store" --json import --replace "$models/stories260K/hf-f32" copy
has '"name":"copy:latest".*"tensors":[1-9]'
[ "$before" = "$(ls -i "$T/store/blobs" | sort)" ] || fail "blobs were written again"

# What cannot be imported leaves the store as it was.
before=$(find "$T/store" | sort)
expect 2 "$TBTUI" -s "$T/store" import "$T/nothing" x
err_has "nothing: no such file"
expect 2 "$TBTUI" -s "$T/store" import "$models/stories260K/hf-f32" ../x
err_has "not a model name"
head -c 100000 "$gguf" >"$T/cut.gguf"
expect 2 "$TBTUI" -s "$T/store" import "$T/cut.gguf" x
err_has "cut.gguf: tensor .* the file ends at 100000"
mkdir "$T/bad"
cp "$models/stories260K/hf-f32/config.json" "$T/bad"
head -c 300000 "$models/stories260K/hf-f32/model.safetensors" >"$T/bad/model.safetensors"
expect 2 "$TBTUI" -s "$T/store" import "$T/bad" x
err_has "model.safetensors: tensor .*the file at 300000"
[ "$before" = "$(find "$T/store" | sort)" ] || fail "something was left behind"

# Nowhere to go.
mkdir -p "$T/full/x"
expect 2 "$TBTUI" -s "$T/full" import "$models/stories260K/hf-f32" x
err_has "no Ollama store"
