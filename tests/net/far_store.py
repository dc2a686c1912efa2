"""A store for servers, whose models are large and take no room: tensors are holes.

far_store.py DIR        a store of Ollama's
far_store.py DIR hub    what hub.py serves

big:latest      500 tensors in blobs of their own, 2 GB
huge:latest     a GGUF of 40 GB with a vocabulary
lies:latest     a blob with a header longer than it is, and a good one
long:latest     a blob with a header of 99 MB, as it says
wrong:latest    a good blob, and a config.json with other bytes than its digest says

far/big         4 shards with 125 tensors each, 2 GB, and an index of them
far/gguf        the same GGUF as two quantizations, beside a projector

Blobs are called by digests that are not theirs, as nobody can tell of a header.
"""
import hashlib
import json
import os
import struct
import sys

TENSOR = "application/vnd.ollama.image.tensor"
JSON = "application/vnd.ollama.image.json"
MODEL = "application/vnd.ollama.image.model"
CONFIG = "application/vnd.docker.container.image.v1+json"


def name_of(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class Store:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "blobs"))

    def blob(self, media, data, size=None, digest=None, name=None):
        digest = digest or "sha256:" + hashlib.sha256(data).hexdigest()
        with open(os.path.join(self.folder, "blobs", digest.replace(":", "-")), "wb") as f:
            f.write(data)
            f.truncate(size or len(data))
        layer = {"mediaType": media, "digest": digest, "size": size or len(data)}
        return dict(layer, name=name) if name else layer

    def tensor(self, name, shape, lie=0):
        size = 2
        for n in shape:
            size *= n
        head = json.dumps({name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, size]}}).encode()
        return self.blob(TENSOR, struct.pack("<Q", lie or len(head)) + head, 8 + len(head) + size,
                         name_of(name + str(lie)), name)

    def config(self, layers, wrong=False):
        text = json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
                           "hidden_size": 1024, "intermediate_size": 2048,
                           "num_attention_heads": 8, "num_hidden_layers": layers,
                           "vocab_size": 2048, "max_position_embeddings": 4096}).encode()
        return self.blob(JSON, text, digest=name_of("other") if wrong else None, name="config.json")

    def model(self, name, layers, kind="safetensors"):
        config = self.blob(CONFIG, json.dumps({"model_format": kind}).encode())
        folder = os.path.join(self.folder, "manifests/registry.ollama.ai/library", name)
        os.makedirs(folder)
        with open(os.path.join(folder, "latest"), "w") as f:
            json.dump({"schemaVersion": 2,
                       "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                       "config": config, "layers": layers}, f)


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def gguf(tokens, tensors):
    """The header of a file whose tensors are F16 of 1024 x 1024 each."""
    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama"),
            text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, tokens) +
            b"".join(text("token-%d" % i) for i in range(tokens)),
            text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, tokens) + bytes(4 * tokens),
            text("llama.block_count") + struct.pack("<II", 4, 1)]
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(keys)) + b"".join(keys)
    for i in range(tensors):
        head += text("blk.%d.ffn_up.weight" % i) + struct.pack("<IQQIQ", 2, 1024, 1024, 1, i << 21)
    return head + bytes(-len(head) % 32)


def shard(path, names, shape):
    size = 2
    for n in shape:
        size *= n
    head = json.dumps({name: {"dtype": "BF16", "shape": shape,
                              "data_offsets": [i * size, (i + 1) * size]}
                       for i, name in enumerate(names)}).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        f.truncate(8 + len(head) + size * len(names))
    return size * len(names)


def hub(root):
    commit = "a" * 40
    folders = [os.path.join(root, "far", name, commit) for name in ("big", "gguf")]
    for folder in folders:
        os.makedirs(folder)
        with open(os.path.join(os.path.dirname(folder), "hub.json"), "w") as f:
            json.dump({"refs": {"main": commit}, "holes": True}, f)
    index, total = {}, 0
    for i in range(4):
        name = "model-0000%d-of-00004.safetensors" % (i + 1)
        tensors = ["model.layers.%d.mlp.up_proj.weight" % n for n in range(125 * i, 125 * i + 125)]
        total += shard(os.path.join(folders[0], name), tensors, [2048, 1024])
        index.update({t: name for t in tensors})
    with open(os.path.join(folders[0], "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": index}, f)
    with open(os.path.join(folders[0], "config.json"), "w") as f:
        json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}, f)
    for name in "big-Q4_K_M.gguf", "big-Q8_0.gguf", "mmproj-big.gguf":
        head = gguf(1000, 40)
        with open(os.path.join(folders[1], name), "wb") as f:
            f.write(head)
            f.truncate(len(head) + (40 << 21))


def main():
    if sys.argv[2:] == ["hub"]:
        return hub(sys.argv[1])
    store = Store(sys.argv[1])
    weights = [store.tensor("model.layers.%d.mlp.up_proj.weight" % i, [2048, 1024]) for i in range(500)]
    store.model("big", weights + [store.config(500)])
    head = gguf(40000, 20000)
    store.model("huge", [store.blob(MODEL, head, len(head) + (20000 << 21), name_of("gguf"))], "gguf")
    store.model("lies", [store.tensor("model.a.weight", [2048, 1024], 1 << 40),
                         store.tensor("model.c.weight", [64, 64]), store.config(1)])
    store.model("long", [store.tensor("model.b.weight", [70000, 1024], 99000000), store.config(1)])
    store.model("wrong", [store.tensor("model.d.weight", [64, 64]), store.config(1, True)])


if __name__ == "__main__":
    main()
