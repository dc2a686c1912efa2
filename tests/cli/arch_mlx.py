"""arch_mlx.py HF OUT: a model as MLX's programs write it: stacked experts, convolutions turned,
and norms whole where it makes them so."""
import json, os, shutil, struct, sys

src, out = sys.argv[1:3]
os.makedirs(out, exist_ok=True)
for name in os.listdir(src):
    if name != "model.safetensors":
        shutil.copy(os.path.join(src, name), out)
with open(os.path.join(src, "model.safetensors"), "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
header.pop("__metadata__", None)
tensors = {}
for name, t in header.items():
    a, b = t["data_offsets"]
    tensors[name] = (t["shape"], data[a:b])

whole = (".input_layernorm.weight", ".post_attention_layernorm.weight", "model.norm.weight",
         "language_model.norm.weight", ".q_norm.weight", ".k_norm.weight")
qwen = any(".linear_attn." in n for n in tensors)
made, stacks = {}, {}
for name, (shape, values) in tensors.items():
    if name.startswith("mtp.") or ".visual." in name:
        continue
    if name.endswith((".conv1d.weight", ".conv.conv.weight")):
        shape = [shape[0], shape[2], 1]         # [width, 1, kernel]: the same bytes
    if qwen and name.endswith(whole):
        n = len(values) // 4
        values = struct.pack("<%df" % n, *(x + 1 for x in struct.unpack("<%df" % n, values)))
    for old, new in (("w1.weight", "gate_proj.weight"), ("w2.weight", "down_proj.weight"),
                     ("w3.weight", "up_proj.weight")):
        if name.endswith("." + old):
            name = name[:-len(old)] + new
    head, _, tail = name.partition(".experts.")
    if tail == "gate_up_proj":
        e, rows, cols = shape
        size = len(values) // e
        parts = [values[i * size:(i + 1) * size] for i in range(e)]
        for i, proj in enumerate(("gate_proj", "up_proj")):
            half = b"".join(p[i * size // 2:(i + 1) * size // 2] for p in parts)
            made["%s.switch_mlp.%s.weight" % (head, proj)] = ([e, rows // 2, cols], half)
    elif tail == "down_proj":
        made[head + ".switch_mlp.down_proj.weight"] = (shape, values)
    elif tail[:1].isdigit():
        e, proj = tail.split(".", 1)
        stacks.setdefault("%s.switch_mlp.%s" % (head, proj), {})[int(e)] = (shape, values)
    else:
        made[name] = (shape, values)
for name, one in stacks.items():
    made[name] = ([len(one)] + one[0][0], b"".join(one[i][1] for i in range(len(one))))

header, at = {}, 0
for name in sorted(made):
    shape, values = made[name]
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(values)]}
    at += len(values)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(out, "model.safetensors"), "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text)
    for name in sorted(made):
        f.write(made[name][1])
