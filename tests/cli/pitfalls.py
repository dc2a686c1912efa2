"""pitfalls.py STORE - models that other programs stumble over, in an Ollama store."""
import hashlib
import json
import os
import struct
import sys

STORE = sys.argv[1]
CONFIG = b'{"architectures":["LlamaForCausalLM"],"model_type":"small"}'
UP = "model.layers.0.mlp.up_proj.weight"


def safetensors(tensors, meta=None):
    head, data = {} if meta is None else {"__metadata__": meta}, b""
    for name, dtype, shape, raw in tensors:
        head[name] = {"dtype": dtype, "shape": shape,
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    return raw_safetensors(json.dumps(head).encode(), data)


def raw_safetensors(head, data):
    return struct.pack("<Q", len(head)) + head + data


def blob(content):
    digest = hashlib.sha256(content).hexdigest()
    os.makedirs(STORE + "/blobs", exist_ok=True)
    with open(f"{STORE}/blobs/sha256-{digest}", "wb") as f:
        f.write(content)
    return {"digest": "sha256:" + digest, "size": len(content)}


def model(name, tensor_blob, layer_name=UP):
    config = blob(b'{"model_format":"safetensors"}')
    layers = [{"mediaType": "application/vnd.ollama.image.json", "name": "config.json",
               **blob(CONFIG)},
              {"mediaType": "application/vnd.ollama.image.tensor", "name": layer_name,
               **blob(tensor_blob)}]
    where = f"{STORE}/manifests/registry.ollama.ai/library/{name}"
    os.makedirs(where)
    with open(where + "/latest", "w") as f:
        json.dump({"schemaVersion": 2, "note": "not a layer: sha256:" + 64 * "0",
                   "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                   "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                              **config}, "layers": layers}, f)


def int4(groups, meta):
    def floats(first):
        return b"".join(struct.pack("<f", first + i) for i in range(groups))
    return safetensors([(UP, "U32", [1, 16], bytes(range(64))),
                        (UP + ".scale", "F32", [1, groups], floats(.5)),
                        (UP + ".bias", "F32", [1, groups], floats(-1))], meta)


# 9: what a header may look like.
model("zero-bytes", b"")
model("eight-bytes", struct.pack("<Q", 0))
model("no-tensors", raw_safetensors(b"{}", b""))
model("header-only", safetensors([(UP, "F32", [2, 2], b"")]).replace(b"[0, 0]", b"[0,16]"))
model("not-utf8", raw_safetensors(b'{"a\xff":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
                                  bytes(4)))
model("huge-shape", raw_safetensors(
    b'{"a":{"dtype":"F32","shape":[9223372036854775808,4],"data_offsets":[0,4]}}', bytes(4)))
model("trailing", safetensors([(UP, "F32", [1, 1], bytes(4))]) + b"more")
# 11: the same codes with groups of 64 and 32; metadata that does not fit the shapes.
model("g64", int4(2, {"quant_type": "int4", "group_size": "64"}))
model("g32", int4(4, {"quant_type": "int4", "group_size": "32"}))
model("untrue", int4(2, {"quant_type": "int4", "group_size": "32"}))
# 16: a type nobody knows.
model("unknown-type", int4(2, {"quant_type": "zork7", "group_size": "64"}))
# 2, 12, 13, 15: to be damaged.
model("wiped", safetensors([(UP, "F32", [64, 64], bytes(range(1, 129)) * 128)]))
