"""Whether two models have the same tensors, and nothing else.

    rounds.py same [A B]...    names, dtypes, shapes, bytes: of folders, files, or STORE#MODEL
"""
import glob
import json
import os
import struct
import sys


def read(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    head.pop("__metadata__", None)
    return {k: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for k, t in head.items()}


def tensors(place):
    if "#" in place:
        store, model = place.split("#")
        doc = json.load(open(f"{store}/manifests/registry.ollama.ai/library/{model}/latest"))
        paths = [f"{store}/blobs/" + x["digest"].replace(":", "-") for x in doc["layers"]
                 if x["mediaType"].endswith("tensor")]
    else:
        paths = glob.glob(place + "/*.safetensors") if os.path.isdir(place) else [place]
    found = {}
    for path in paths:
        found.update(read(path))
    assert found, place
    return found


def same(a, b):
    x, y = tensors(a), tensors(b)
    wrong = [f"{n}: not in {b}" for n in x if n not in y] + [f"{n}: not in {a}" for n in y if n not in x]
    wrong += [f"{n}: {x[n][:2]} and {y[n][:2]}, or other bytes" for n in x if n in y and x[n] != y[n]]
    return sorted(wrong)[:3]


places = sys.argv[2:]
sys.exit("\n".join(w for a, b in zip(places[::2], places[1::2]) for w in same(a, b)) or None)
