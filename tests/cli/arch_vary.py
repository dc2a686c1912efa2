"""arch_vary.py ARCHS FOLDER: the small models as other files of their families have them."""
import json, os, shutil, struct, sys

arch, out = sys.argv[1:3]


def load(name):
    config = json.load(open(os.path.join(arch, name, "hf", "config.json")))
    with open(os.path.join(arch, name, "hf", "model.safetensors"), "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    head.pop("__metadata__", None)
    return config, {k: (t["dtype"], t["shape"], data[t["data_offsets"][0]:t["data_offsets"][1]])
                    for k, t in head.items()}


def save(name, source, config, tensors):
    to = os.path.join(out, name)
    shutil.copytree(os.path.join(arch, source, "hf"), to)
    for f in os.listdir(to):
        os.chmod(os.path.join(to, f), 0o644)
    os.chmod(to, 0o755)
    json.dump(config, open(os.path.join(to, "config.json"), "w"))
    head, at = {}, 0
    for k, (dtype, shape, b) in tensors.items():
        head[k] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(b)]}
        at += len(b)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(to, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(b for _, _, b in tensors.values()))


# Two groups of heads, each with half as long a state: the same shapes.
config, tensors = load("nemotron_h")
config.update(n_groups=2, ssm_state_size=8)
save("groups", "nemotron_h", config, tensors)

# The list that newer files have instead of the pattern.
config.update(layers_block_type=[{"M": "mamba", "-": "mlp", "*": "attention"}[c]
                                 for c in config.pop("hybrid_override_pattern")])
save("listed", "nemotron_h", config, tensors)

# Granite without experts: what all tokens shared is the feed-forward part.
config, tensors = load("granite_hybrid")
config.update(num_local_experts=0, num_experts_per_tok=0, intermediate_size=40)
save("dense", "granite_hybrid", config,
     {k: t for k, t in tensors.items() if "block_sparse_moe" not in k})

# Keys and values that no layer reads, pictures and sound.
config, tensors = load("gemma4_e")
p = "model.language_model.layers."
for layer, like in ((3, 1), (4, 1), (5, 2)):
    for what in ("k_proj", "v_proj", "k_norm"):
        name = "%d.self_attn." + what + ".weight"
        tensors[p + name % layer] = tensors[p + name % like]
tensors["model.audio_tower.x.weight"] = tensors["model.embed_vision.y.weight"] = ("F32", [1], b"\0" * 4)
save("idle", "gemma4_e", config, tensors)
