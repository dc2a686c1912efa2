"""damage_make.py - small whole models in every layout, and places with copies of them that
are to be damaged. Used by damage.py."""
import copy
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys

TBTUI, WORK = sys.argv[1:3]
MEDIA = "application/vnd.ollama.image."


def run(*args, want=0):
    r = subprocess.run([TBTUI, "--db", WORK + "/index.db", *args], capture_output=True, check=False)
    if r.returncode != want:
        sys.exit(f"{args}: {r.returncode}, not {want}: {r.stderr.decode()}{r.stdout.decode()}")
    return r.stdout


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())


# ---- formats ----

def st_load(path):
    raw = read(path)
    size, = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + size])
    meta = head.pop("__metadata__", None)
    body = raw[8 + size:]
    return {n: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])])
            for n, t in head.items()}, meta


def st_bytes(tensors, meta=None):
    head, data = {} if meta is None else {"__metadata__": meta}, b""
    for name, (dtype, shape, raw) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape,
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def floats(t):
    dtype, _, raw = t
    assert dtype == "BF16"
    return b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2))


U32, F32, STRING, ARRAY = 4, 6, 8, 9


class Gguf:
    """keys: name -> (type, value); tensors: [name, dims fastest first, bytes] in F32."""

    def __init__(self, keys, tensors):
        self.keys, self.tensors, self.more = keys, tensors, b""
        self.count = self.key_count = None

    @staticmethod
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    def value(self, kind, v):
        if kind == U32:
            return struct.pack("<I", v)
        if kind == F32:
            return struct.pack("<f", v)
        if kind == STRING:
            return self.text(v)
        elem, items = v
        return struct.pack("<IQ", elem, len(items)) + b"".join(self.value(elem, i) for i in items)

    def bytes(self):
        count = len(self.tensors) if self.count is None else self.count
        keys = len(self.keys) if self.key_count is None else self.key_count
        out = b"GGUF" + struct.pack("<IQQ", 3, count, keys)
        data = b""
        for name, (kind, v) in self.keys.items():
            out += self.text(name) + struct.pack("<I", kind) + self.value(kind, v)
        for name, dims, raw in self.tensors:
            out += self.text(name) + struct.pack("<I", len(dims))
            out += b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", 0, len(data))
            data += raw + bytes(-len(raw) % 32)
        return out + bytes(-len(out) % 32) + data + self.more

    def find(self, name):
        return next(t for t in self.tensors if t[0] == name)


GGUF_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    name = name.removesuffix(".weight")
    if name in GGUF_NAMES:
        return GGUF_NAMES[name] + ".weight"
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{GGUF_NAMES[rest]}.weight"


def gguf_of(folder):
    c = json.loads(read(folder + "/config.json"))
    doc = json.loads(read(folder + "/tokenizer.json"))
    vocab = dict(doc["model"]["vocab"], **{t["content"]: t["id"] for t in doc["added_tokens"]})
    tokens = sorted(vocab, key=vocab.get)
    tokens += [f"[PAD{i}]" for i in range(len(tokens), c["vocab_size"])]
    keys = {
        "general.architecture": (STRING, "llama"),
        "llama.block_count": (U32, c["num_hidden_layers"]),
        "llama.embedding_length": (U32, c["hidden_size"]),
        "llama.feed_forward_length": (U32, c["intermediate_size"]),
        "llama.context_length": (U32, c["max_position_embeddings"]),
        "llama.attention.head_count": (U32, c["num_attention_heads"]),
        "llama.attention.head_count_kv": (U32, c["num_key_value_heads"]),
        "llama.attention.layer_norm_rms_epsilon": (F32, c["rms_norm_eps"]),
        "llama.vocab_size": (U32, c["vocab_size"]),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "gpt-2"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.merges": (ARRAY, (STRING, [" ".join(m) for m in doc["model"]["merges"]])),
        "tokenizer.chat_template": (STRING, "{% for m in messages %}{{ m.content }}{% endfor %}"),
    }
    tensors = [[gguf_name(n), t[1][::-1], floats(t)]
               for n, t in st_load(folder + "/model.safetensors")[0].items()]
    return Gguf(keys, tensors)


# ---- places: what a row damages ----

class Place:
    """A folder that `verify` is pointed at, with one whole model in it."""

    def __init__(self, path):
        self.path = path

    def file(self, name):
        return f"{self.path}/{name}"


class Folder(Place):
    """A directory as Hugging Face and MLX have them."""

    def tensors(self, change, file="model.safetensors"):
        tensors, meta = st_load(self.file(file))
        change(tensors)
        write(self.file(file), st_bytes(tensors, meta))

    def config(self, **keys):
        c = json.loads(read(self.file("config.json")))
        for k, v in keys.items():
            if v is None:
                del c[k]
            else:
                c[k] = v
        write(self.file("config.json"), json.dumps(c))

    def raw_number(self, key, text):
        """A number that json.dumps would not write."""
        c = json.loads(read(self.file("config.json")))
        c[key] = "@@"
        write(self.file("config.json"), json.dumps(c).replace('"@@"', text))


class Store(Place):
    def manifest_path(self):
        for where, _, names in os.walk(self.path + "/manifests"):
            if names:
                return f"{where}/{names[0]}"
        sys.exit("no manifest in " + self.path)

    def blob_path(self, digest):
        return self.file("blobs/" + digest.replace(":", "-"))

    def manifest(self, change):
        path = self.manifest_path()
        doc = json.loads(read(path))
        change(doc)
        write(path, json.dumps(doc))

    def layer(self, name):
        return next(l for l in json.loads(read(self.manifest_path()))["layers"]
                    if l.get("name") == name or l["mediaType"] == MEDIA + name)

    def layer_file(self, name):
        return self.blob_path(self.layer(name)["digest"])

    def add(self, content):
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        write(self.blob_path(digest), content)
        return {"digest": digest, "size": len(content)}

    def drop(self, name):
        self.manifest(lambda d: d["layers"].remove(self.layer(name)))

    def replace(self, name, content):
        """Another blob with right digest and size in the layer's place."""
        new = self.add(content)

        def change(doc):
            next(l for l in doc["layers"] if l.get("name") == name).update(new)
        self.manifest(change)

    def tensors(self, name, change):
        tensors, meta = st_load(self.layer_file(name))
        change(tensors, meta)
        self.replace(name, st_bytes(tensors, meta))


class One(Place):
    """A GGUF file."""

    def gguf(self, change):
        g = copy.deepcopy(GGUF)
        change(g)
        write(self.file("model.gguf"), g.bytes())


OCI = "application/vnd.oci.image."


class Layout(Place):
    """An image layout with a GGUF in it."""

    def blob_path(self, digest):
        return self.file("blobs/sha256/" + digest.split(":")[1])

    def index(self):
        return json.loads(read(self.file("index.json")))["manifests"][0]

    def add(self, content):
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        write(self.blob_path(digest), content)
        return {"digest": digest, "size": len(content)}

    def change(self, file, fn):
        doc = json.loads(read(file))
        fn(doc)
        write(file, json.dumps(doc))

    def manifest(self, fn):
        """Another manifest, with right digests and sizes on the way to it."""
        doc = json.loads(read(self.blob_path(self.index()["digest"])))
        fn(doc)
        new = self.add(json.dumps(doc).encode())
        self.change(self.file("index.json"), lambda d: d["manifests"][0].update(new))

    def nest(self):
        """An index in the index; returns it."""
        inner = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [self.index()]}
        entry = {"mediaType": OCI + "index.v1+json", **self.add(json.dumps(inner).encode())}
        self.change(self.file("index.json"), lambda d: d.update(manifests=[entry]))
        return entry

    def layer_file(self):
        doc = json.loads(read(self.blob_path(self.index()["digest"])))
        return self.blob_path(doc["layers"][0]["digest"])


class Hub(Place):
    """A repository of Hugging Face's cache, with two revisions of a model in shards."""
    REV, OLD = "a" * 40, "b" * 40

    def repo(self, name):
        return self.file("models--org--name/" + name)

    def snapshot(self, name, rev=None):
        return self.repo(f"snapshots/{rev or self.REV}/{name}")

    def blob(self, name):
        return os.path.realpath(self.snapshot(name))


def make_hub(path, folder, copies=False):
    h = Hub(path)
    for name in sorted(os.listdir(folder)):
        raw = read(f"{folder}/{name}")
        large = name.endswith(".safetensors")
        digest = hashlib.sha256(raw).hexdigest() if large else hashlib.sha1(
            b"blob %d\0" % len(raw) + raw).hexdigest()
        if not copies:
            write(h.repo("blobs/" + digest), raw)
        for rev in (h.REV, h.OLD):
            if copies:
                write(h.snapshot(name, rev), raw)
                continue
            os.makedirs(os.path.dirname(h.snapshot(name, rev)), exist_ok=True)
            os.symlink("../../blobs/" + digest, h.snapshot(name, rev))
    write(h.repo("refs/main"), h.REV)
    write(h.repo("refs/pr/1"), h.OLD + "\n")
    write(h.repo(f".no_exist/{h.REV}/added_tokens.json"), b"")
    write(path + "/.locks/models--org--name/x.lock", b"")
    write(path + "/version.txt", b"1")
    write(path + "/CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55")


# ---- whole models ----


def copy_model(store, name, to):
    model, tag = name.split(":")
    manifest = f"manifests/registry.ollama.ai/library/{model}/{tag}"
    doc = json.loads(read(f"{store}/{manifest}"))
    write(f"{to}/{manifest}", read(f"{store}/{manifest}"))
    for layer in [doc["config"]] + doc["layers"]:
        blob = "blobs/" + layer["digest"].replace(":", "-")
        write(f"{to}/{blob}", read(f"{store}/{blob}"))


def make_shards(folder):
    tensors, meta = st_load(folder + "/model.safetensors")
    names = sorted(tensors)
    where = {}
    for no in (1, 2, 3):
        file = f"model-{no:05}-of-00003.safetensors"
        mine = {n: tensors[n] for i, n in enumerate(names) if i % 3 == no - 1}
        where.update(dict.fromkeys(mine, file))
        write(f"{folder}/{file}", st_bytes(mine, meta))
    os.remove(folder + "/model.safetensors")
    total = sum(len(t[2]) for t in tensors.values())
    write(folder + "/model.safetensors.index.json",
          json.dumps({"metadata": {"total_size": total}, "weight_map": where}))


def make_gguf_store(path):
    s = Store(path)
    config = s.add(b'{"model_format":"gguf","model_family":"llama","file_type":"F32"}')
    doc = {"schemaVersion": 2,
           "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
           "config": {"mediaType": "application/vnd.docker.container.image.v1+json", **config},
           "layers": [{"mediaType": MEDIA + "model", **s.add(GGUF.bytes())},
                      {"mediaType": MEDIA + "params", **s.add(b'{"temperature":0.5}')}]}
    write(path + "/manifests/registry.ollama.ai/library/gguf/latest", json.dumps(doc))


def make_layout(path):
    o = Layout(path)
    add = o.add
    layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar", **add(GGUF.bytes()),
             "annotations": {"org.opencontainers.image.title": "model.gguf"}}
    config = {"mediaType": "application/vnd.oci.empty.v1+json", **add(b"{}")}
    doc = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
           "config": config, "layers": [layer]}
    entry = {"mediaType": doc["mediaType"], **add(json.dumps(doc).encode()),
             "annotations": {"org.opencontainers.image.ref.name": "v1"}}
    write(path + "/index.json", json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    write(path + "/oci-layout", '{"imageLayoutVersion":"1.0.0"}')


def PART(kind):
    """A GGUF file that is a part of a model."""
    raw = struct.pack("<f", 0.5) * 64
    return Gguf({"general.architecture": (STRING, "clip" if kind == "mmproj" else "llama"),
                 "general.type": (STRING, kind)}, [["a.weight", [8, 8], raw]]).bytes()


WHOLE = WORK + "/whole/"
run("demo", "--random", WORK + "/demo")
for kind, what in (("plain", "demo:bf16"), ("packed", "demo:int4"), ("experts", "demo-moe:nvfp4")):
    run("-s", WORK + "/demo", "quantize", what, f"{WHOLE}folder-{kind}/{kind}", "-q", "keep",
        "--experts", "keep", "-y")
    copy_model(WORK + "/demo", what, WHOLE + "store-" + kind)
    GENERATION = b'{"temperature":0.7,"eos_token_id":289}'
    write(f"{WHOLE}folder-{kind}/{kind}/generation_config.json", GENERATION)
shutil.copytree(WHOLE + "folder-plain/plain", WHOLE + "folder-shards/shards")
make_shards(WHOLE + "folder-shards/shards")
GGUF = gguf_of(WHOLE + "folder-plain/plain")
write(WHOLE + "gguf/model.gguf", GGUF.bytes())
make_gguf_store(WHOLE + "store-gguf")
make_layout(WHOLE + "layout")
make_layout(WHOLE + "layout-nested")
Layout(WHOLE + "layout-nested").nest()
make_hub(WHOLE + "hub", WHOLE + "folder-shards/shards")
make_hub(WHOLE + "hub-copies", WHOLE + "folder-plain/plain", copies=True)



def make_whole(name, change):
    """Another model that is whole, from a copy of the first."""
    path = f"{WHOLE}folder-{name}/{name}"
    shutil.copytree(WHOLE + "folder-plain/plain", path)
    change(Folder(path))


def make_others():
    """What is not a model that answers on its own, and needs less than one."""
    def embedder(f):
        f.tensors(lambda t: t.pop("lm_head.weight"))
        f.config(architectures=["LlamaModel"])

    def draft(f):
        f.tensors(lambda t: t.pop("model.norm.weight"))
        f.config(architectures=["LlamaForCausalLMEagle3"])

    def adapter(f):
        f.tensors(lambda t: [t.pop(n) for n in list(t) if "norm" in n or "embed" in n])
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            os.remove(f.file(name))
        write(f.file("adapter_config.json"), '{"peft_type":"LORA"}')

    def unknown(f):
        f.tensors(lambda t: t.pop("lm_head.weight"))
        f.config(architectures=["ZorkForCausalLM"], model_type="zork", time_step_limit=[0, 1e999])

    def packed_by_others(f):
        f.tensors(lambda t: t.update({n: ("U8", [len(v[2]) // 8, 1], v[2][:len(v[2]) // 8])
                                      for n, v in t.items() if "proj" in n}))
        f.config(quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})

    def zeros(f):
        """Rows, columns and tokens that nobody uses, as a model that was padded has them."""
        def change(t):
            for name in ("model.embed_tokens.weight", "model.layers.1.mlp.gate_proj.weight"):
                dtype, shape, raw = t[name]
                row = len(raw) // shape[0]
                t[name] = (dtype, shape, raw[:-40 * row] + bytes(40 * row))
            dtype, shape, raw = t["model.layers.1.mlp.down_proj.weight"]
            row = len(raw) // shape[0]
            t["model.layers.1.mlp.down_proj.weight"] = (dtype, shape, b"".join(
                raw[i:i + row - 80] + bytes(80) for i in range(0, len(raw), row)))
        f.tensors(change)

    def constant(f):
        """A group of equal codes needs no scale."""
        def change(t):
            for part, size in ((".scales", 2), (".weight", 32)):
                name = "model.layers.1.mlp.up_proj" + part
                t[name] = (*t[name][:2], bytes(size) + t[name][2][size:])
        f.tensors(change)

    shutil.copytree(WHOLE + "folder-packed", WHOLE + "folder-constant")
    constant(Folder(WHOLE + "folder-constant/packed"))
    make_whole("zeros", zeros)
    make_whole("embedder", embedder)
    make_whole("draft", draft)
    make_whole("adapter", adapter)
    make_whole("unknown", unknown)
    make_whole("others", packed_by_others)
    s = Store(WHOLE + "store-remote")
    config = s.add(b'{"remote_host":"https://example.org","remote_model":"large"}')
    doc = {"schemaVersion": 2, "layers": None,
           "config": {"mediaType": "application/vnd.docker.container.image.v1+json", **config}}
    write(s.file("manifests/registry.ollama.ai/library/remote/cloud"), json.dumps(doc))


def make_kinds():
    """A store with all that models there may have, and things that are none."""
    s = Store(WHOLE + "store-kinds")
    weights = [("model", GGUF.bytes()), ("projector", PART("mmproj")), ("adapter", PART("adapter")),
               ("adapter", PART("adapter") + bytes(32)), ("license", b"MIT"), ("license", b"MIT"),
               ("template", b"{{ .Prompt }}"), ("system", "Be brief \u2014 please".encode()),
               ("messages", b'[{"role":"user","content":"hi"}]'), ("params", b'{"stop":["a"]}')]
    layers = [{"mediaType": MEDIA + kind, **s.add(raw)} for kind, raw in weights]
    doc = {"schemaVersion": 2,
           "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
           "config": {"mediaType": "application/vnd.docker.container.image.v1+json", **s.add(
               json.dumps({"model_format": "gguf", "model_family": "llama", "rootfs": {
                   "type": "layers", "diff_ids": [l["digest"] for l in layers]}}).encode())},
           "layers": layers}
    for name in ("hf.co/org/Model-GGUF/Q4_K_M", "localhost:5000/ns/m/v1.0-x"):
        write(f"{s.path}/manifests/{name}", json.dumps(doc))
    write(s.path + "/manifests/hf.co/org/Model-GGUF/.DS_Store", b"\0\0\0\1Bud1")
    write(s.path + "/manifests/.DS_Store", b"\0\0\0\1Bud1")
    image = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
             "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **s.add(b"{}")},
             "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                         **s.add(b"no model")}]}
    write(s.path + "/manifests/docker.io/library/alpine/3", json.dumps(image))


make_others()
make_kinds()
PLACES = {
    "plain": (Folder, "folder-plain"), "packed": (Folder, "folder-packed"),
    "experts": (Folder, "folder-experts"), "shards": (Folder, "folder-shards"),
    "store": (Store, "store-plain"), "store-packed": (Store, "store-packed"),
    "store-experts": (Store, "store-experts"), "store-gguf": (Store, "store-gguf"),
    "gguf": (One, "gguf"), "layout": (Layout, "layout"),
    "hub": (Hub, "hub"), "hub-copies": (Hub, "hub-copies"),
}


def place(kind, n):
    cls, whole = PLACES[kind]
    path = f"{WORK}/row{n}"
    shutil.copytree(WHOLE + whole, path, symlinks=True)
    return cls(f"{path}/{kind}" if cls is Folder else path), path
