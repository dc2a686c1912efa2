"""Models of experts, and their tensors one by one whatever the layout.

    packs.py make DIR usual|mixtral [EXPERTS]    a folder of one file
    packs.py seed FILE                           packed codes of experts with scales, but no biases
    packs.py drop FILE NAME...                   takes tensors out of a file
    packs.py narrow FILE NAME                    makes a matrix one row lower
    packs.py list PLACE                          each expert's tensor, its dtype, shape and SHA-256:
                                                 of a folder, a file, or STORE#MODEL
    packs.py blobs STORE MODEL                   what each layer of tensors has in it
    packs.py map MAP PLACE PLACE                 follows every line of a map file
"""
import hashlib
import json
import os
import random
import re
import struct
import sys


def read(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(n))
        data = f.read()
    head.pop("__metadata__", None)
    return {k: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for k, t in head.items()}


def write(path, tensors, meta=None):
    head, data = {"__metadata__": meta} if meta else {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def bf16(r, n):
    return b"".join(struct.pack("<f", r.uniform(-1, 1))[2:] for _ in range(n))


def make(where, kind, experts="11"):
    r, t = random.Random(7), {}
    names = ["w1", "w2", "w3"] if kind == "mixtral" else ["gate_proj", "down_proj", "up_proj"]
    block = "block_sparse_moe" if kind == "mixtral" else "mlp"
    for layer in ("model.layers.0", "model.layers.10"):
        for e in range(int(experts)):
            for name, rows, cols in zip(names, (32, 64, 32), (64, 64, 64)):
                t[f"{layer}.{block}.experts.{e}.{name}.weight"] = ("BF16", [rows, cols], bf16(r, rows * cols))
        t[f"{layer}.{block}.gate.weight"] = ("BF16", [int(experts), 64], bf16(r, 64 * int(experts)))
        for name in ("gate_proj", "down_proj") if kind != "mixtral" else ():
            t[f"{layer}.mlp.shared_experts.{name}.weight"] = ("BF16", [64, 64], bf16(r, 4096))
        t[f"{layer}.input_layernorm.weight"] = ("BF16", [64], bf16(r, 64))
    os.makedirs(where)
    write(f"{where}/model.safetensors", t, {"format": "pt"})
    with open(f"{where}/config.json", "w") as f:
        json.dump({"architectures": ["MixtralForCausalLM" if kind == "mixtral" else "Qwen3MoeForCausalLM"],
                   "model_type": "mixtral" if kind == "mixtral" else "qwen3_moe"}, f)


def seed(path):
    r, t = random.Random(3), {}
    for e in range(3):
        for name, rows, words, groups in (("down_proj", 16, 32, 2), ("gate_proj", 24, 16, 1)):
            key = f"model.layers.1.mlp.experts.{e}.{name}.weight"
            t[key] = ("U32", [rows, words], r.randbytes(rows * words * 4))
            t[key + ".scale"] = ("BF16", [rows, groups], bf16(r, rows * groups))
    write(path, t)


def drop(path, *names):
    t = read(path)
    for n in names:
        del t[n]
    write(path, t)


def narrow(path, name):
    t = read(path)
    dtype, (rows, cols), raw = t[name]
    t[name] = (dtype, [rows - 1, cols], raw[:len(raw) // rows * (rows - 1)])
    write(path, t)


def manifest(store, model):
    return json.load(open(f"{store}/manifests/registry.ollama.ai/library/{model}/latest"))


def files(place):
    if "#" in place:
        store, model = place.split("#")
        return {layer["digest"]: f"{store}/blobs/" + layer["digest"].replace(":", "-")
                for layer in manifest(store, model)["layers"] if layer["mediaType"].endswith("tensor")}
    if os.path.isdir(place):
        return {n: f"{place}/{n}" for n in sorted(os.listdir(place)) if n.endswith(".safetensors")}
    return {os.path.basename(place): place}


USUAL = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}


def usual(name):
    """Ollama's name of a tensor, and which part of it this is."""
    part = "weight"
    for end, to in ((".weight.scale", "scale"), (".weight.bias", "bias"), (".scales", "scale"),
                    (".biases", "bias"), (".weight", "weight")):
        if name.endswith(end):
            name, part = name[:-len(end)], to
            break
    name = name.replace("block_sparse_moe.", "mlp.").replace(".switch_mlp.", ".experts.")
    return re.sub(r"\.(w[123])$", lambda m: "." + USUAL[m[1]], name), part


def each(place):
    for path in files(place).values():
        for name, (dtype, shape, raw) in read(path).items():
            base, part = usual(name)
            m = re.match(r"(.*\.experts)\.([a-z_]+)$", base)
            if not m:
                yield base, part, dtype, shape, raw
                continue
            n = shape[0]
            for e in range(n):
                yield (f"{m[1]}.{e}.{m[2]}", part, dtype, shape[1:],
                       raw[len(raw) // n * e:len(raw) // n * (e + 1)])


def listing(place):
    lines = sorted(f"{n} {p} {d} {s} {hashlib.sha256(raw).hexdigest()}" for n, p, d, s, raw in each(place))
    assert len(lines) == len({x.split(" ")[0] + x.split(" ")[1] for x in lines}), place
    print("\n".join(lines))


def blobs(store, model):
    for layer in manifest(store, model)["layers"]:
        if layer["mediaType"].endswith("tensor"):
            names = read(f"{store}/blobs/" + layer["digest"].replace(":", "-"))
            print(layer["name"], len(names), sorted(names)[0])


def follow(path, source, made):
    doc, n = json.load(open(path)), 0
    for row in doc["parts"]:
        a, b = row["from"], row["to"]
        with open(files(source)[a["file"]], "rb") as f:
            f.seek(a["offset"])
            was = f.read(a["bytes"])
        with open(files(made)[b["file"]], "rb") as f:
            f.seek(b["offset"])
            assert was == f.read(b["bytes"]), row
        n += a["bytes"]
    have = sum(len(raw) for p in files(source).values() for _, _, raw in read(p).values())
    assert n == have, (n, have)


globals()[{"list": "listing", "map": "follow"}.get(sys.argv[1], sys.argv[1])](*sys.argv[2:])
