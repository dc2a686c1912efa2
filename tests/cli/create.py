"""GGUF files of few bytes, and what a manifest of a store says.

    create.py gguf FILE TENSOR ARCHITECTURE [KEY=TEXT]...    a file with one tensor
    create.py layers STORE MODEL                      media types and texts, in order
    create.py config STORE MODEL                      the config blob
"""
import json
import os
import struct
import sys


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def gguf(path, tensor, arch, *keys):
    pairs = [("general.architecture", arch)] + [k.split("=", 1) for k in keys]
    out = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs) + 1)
    for key, value in pairs:
        out += text(key) + struct.pack("<I", 8) + text(value)
    out += text(arch + ".block_count") + struct.pack("<II", 4, 0 if arch == "clip" else 1)
    out += text(tensor) + struct.pack("<IQQIQ", 2, 4, 2, 0, 0)
    out += b"\0" * (-len(out) % 32)
    with open(path, "wb") as f:
        f.write(out + struct.pack("<8f", *range(8)))


def manifest(store, model):
    return json.load(open(f"{store}/manifests/registry.ollama.ai/library/{model}/latest"))


def blob(store, layer):
    data = open(f"{store}/blobs/" + layer["digest"].replace(":", "-"), "rb").read()
    assert len(data) == layer["size"]
    return data


def layers(store, model):
    for layer in manifest(store, model)["layers"]:
        kind = layer["mediaType"].rsplit(".", 1)[1]
        if kind in ("tensor", "json"):
            continue
        data = blob(store, layer)
        print(kind, "GGUF" if data[:4] == b"GGUF" else repr(data.decode()))


def config(store, model):
    sys.stdout.write(blob(store, manifest(store, model)["config"]).decode())


{"gguf": gguf, "layers": layers, "config": config}[sys.argv[1]](*sys.argv[2:])
