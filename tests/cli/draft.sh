# A draft model that comes with a model in a store guesses ahead of it: as a GGUF file, and as
# tensors among the model's.  One that cannot is said.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
D=$TBTUI_SHARED/data/models
S=$T/store
mkdir -p "$S/manifests" "$S/blobs"

same() { # same REF: it can guess, as nothing is said, and the text is the same as without
	expect 0 "$TBTUI" -s "$S" generate "$1" -p "Once upon a time" --temp 0 -n 60
	[ -s "$T/err" ] && fail "$1: $(cat "$T/err")"
	cp "$T/out" "$T/ahead"
	expect 0 "$TBTUI" -s "$S" generate "$1" -p "Once upon a time" --temp 0 -n 60 --no-speculate
	cmp "$T/out" "$T/ahead" || fail "$1: another text with its draft"
}

# Of GGUF.
printf 'FROM %s\nDRAFT %s\n' "$D/stories260K/stories260K-f32.gguf" \
	"$D/stories260K/stories260K-Q4_K_M.gguf" >"$T/Modelfile"
expect 0 "$TBTUI" -s "$S" create gguf-draft -f "$T/Modelfile"
same gguf-draft

# Of tensors: two models become one.
expect 0 "$TBTUI" -s "$S" import "$D/stories260K/hf-f32" large
expect 0 "$TBTUI" -s "$S" import "$D/stories260K/hf-bf16" small
join() { # join NAME PREFIX CONFIG: large with small as its draft
	python3 - "$S" "$1" "$2" "$3" <<'END' || fail "python3"
import hashlib, json, os, shutil, sys
store, name, prefix, config_name = sys.argv[1:]
library = store + "/manifests/registry.ollama.ai/library/"
def put(data):
    d = hashlib.sha256(data).hexdigest()
    open(store + "/blobs/sha256-" + d, "wb").write(data)
    return {"digest": "sha256:" + d, "size": len(data)}
def blob(layer):
    return open(store + "/blobs/" + layer["digest"].replace(":", "-"), "rb").read()
large = json.load(open(library + "large/latest"))
small = json.load(open(library + "small/latest"))
for l in small["layers"]:
    if l["mediaType"].endswith("tensor"):
        data = blob(l)
        n = int.from_bytes(data[:8], "little")
        head = json.loads(data[8:8 + n])
        head = {k if k == "__metadata__" else prefix + k: v for k, v in head.items()}
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        new = put(len(text).to_bytes(8, "little") + text + data[8 + n:])
        large["layers"].append(dict(l, name=prefix + l["name"], **new))
    elif l.get("name") == "config.json":
        data = blob(l).replace(b'"llama"', b'"%s"' % config_name.encode())
        large["layers"].append(dict(l, name="draft/config.json", **put(data)))
config = json.loads(blob(large["config"]))
config["draft"] = {"model_format": "safetensors", "architecture": config_name,
                   "tensor_prefix": prefix, "config": "draft/config.json"}
large["config"].update(put(json.dumps(config).encode()))
os.makedirs(library + name, exist_ok=True)
json.dump(large, open(library + name + "/latest", "w"))
END
}
join tensor-draft draft. llama
same tensor-draft
expect 0 "$TBTUI" -s "$S" verify tensor-draft

# The engine does not know what it is: said, and the model answers.
join strange-draft helper. strange_assistant
expect 0 "$TBTUI" -s "$S" generate strange-draft -p "Once upon a time" --temp 0 -n 8
has '^, there was a little girl$'
err_has 'strange-draft:latest: its draft model cannot guess ahead \(.*strange_assistant'
expect 0 "$TBTUI" -s "$S" chat strange-draft -p "Once upon a time" -n 2
err_has 'its draft model cannot guess ahead'
exit 0
