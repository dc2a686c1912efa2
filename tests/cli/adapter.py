"""Adapters of a model in a folder, as PEFT and as llama.cpp's converter write them, and the model
with them in its weights, computed in doubles.

    adapter.py MODEL OUT NAME:RANK:ALPHA[:root]...
        OUT/NAME/, OUT/NAME.gguf for each; OUT/merged/ with all of them
"""
import array
import json
import math
import os
import random
import shutil
import struct
import sys

GGUF_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_up_proj": "ffn_up", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "w1": "ffn_gate_exps", "w3": "ffn_up_exps", "w2": "ffn_down_exps",
}


def read(path):
    data = open(path, "rb").read()
    n = struct.unpack_from("<Q", data)[0]
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        assert t["dtype"] == "F32", name
        a, b = t["data_offsets"]
        out[name] = (t["shape"], array.array("f", data[8 + n + a:8 + n + b]))
    return out


def write(path, tensors):
    head, body = {}, b""
    for name in sorted(tensors):
        shape, values = tensors[name]
        raw = array.array("f", values).tobytes()
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


def string(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def write_gguf(path, arch, alpha, tensors):
    keys = [("general.architecture", 8, string(arch)), ("general.type", 8, string("adapter")),
            ("adapter.type", 8, string("lora")), ("adapter.lora.alpha", 6, struct.pack("<f", alpha))]
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, kind, value in keys:
        out += string(key) + struct.pack("<I", kind) + value
    body = b""
    for name in sorted(tensors):
        shape, values = tensors[name]
        raw = array.array("f", values).tobytes()
        out += string(name) + struct.pack("<I", len(shape))
        out += struct.pack("<%dQ" % len(shape), *reversed(shape)) + struct.pack("<IQ", 0, len(body))
        body += raw + b"\0" * (-len(raw) % 32)
    out += b"\0" * (-len(out) % 32)
    with open(path, "wb") as f:
        f.write(out + body)


def as_pairs(b, rank, head):
    """Rows of B as GGUF files of llama have those of q and k."""
    out = []
    for h in range(0, len(b) // rank, head):
        for i in range(head):
            row = h + i // 2 + i % 2 * (head // 2)
            out += b[row * rank:(row + 1) * rank]
    return out


def main(model, out, *adapters):
    config = json.load(open(f"{model}/config.json"))
    head = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    weights = read(f"{model}/model.safetensors")
    targets = [n for n in sorted(weights) if "norm" not in n and "embed" not in n and "bias" not in n and
               ".gate.weight" not in n and "lm_head" not in n]
    merged = {n: [float(v) for v in weights[n][1]] for n in targets}
    for number, text in enumerate(adapters):
        name, rank, alpha, *root = text.split(":")
        rank, alpha = int(rank), float(alpha)
        scale = alpha / (math.sqrt(rank) if root else rank)
        rnd = random.Random(number)
        peft, gguf = {}, {}
        for target in targets:
            rows, cols = weights[target][0]
            a = list(array.array("f", [rnd.uniform(-.1, .1) for _ in range(rank * cols)]))
            b = list(array.array("f", [rnd.uniform(-.1, .1) for _ in range(rows * rank)]))
            w = merged[target]
            for r in range(rows):
                for i in range(rank):
                    f = scale * b[r * rank + i]
                    for c in range(cols):
                        w[r * cols + c] += f * a[i * cols + c]
            base = "base_model.model." + target[:-len(".weight")]
            peft[base + ".lora_A.weight"] = ([rank, cols], a)
            peft[base + ".lora_B.weight"] = ([rows, rank], b)
            words = target.split(".")
            layer, inner = words[2], ".".join(words[3:-1])
            expert = None
            if "experts" in words:
                expert, inner = int(words[-3]), words[-2]
            g = f"blk.{layer}.{GGUF_NAMES[inner]}.weight"
            if config["model_type"] in ("llama", "mixtral") and inner in ("self_attn.q_proj", "self_attn.k_proj"):
                b = as_pairs(b, rank, head)
            for end, shape, values in (("lora_a", [rank, cols], a), ("lora_b", [rows, rank], b)):
                if expert is None:
                    gguf[f"{g}.{end}"] = (shape, values)
                else:
                    old = gguf.get(f"{g}.{end}", ([0], []))
                    assert old[0][0] == expert
                    gguf[f"{g}.{end}"] = ([expert + 1] + shape, old[1] + values)
        os.makedirs(f"{out}/{name}")
        write(f"{out}/{name}/adapter_model.safetensors", peft)
        says = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "use_rslora": bool(root),
                "base_model_name_or_path": "somebody/model", "use_dora": False}
        json.dump(says, open(f"{out}/{name}/adapter_config.json", "w"))
        arch = {"mixtral": "llama"}.get(config["model_type"], config["model_type"])
        write_gguf(f"{out}/{name}.gguf", arch, alpha, gguf)
    os.makedirs(f"{out}/merged")
    for name in os.listdir(model):
        if not name.endswith(".safetensors"):
            shutil.copyfile(f"{model}/{name}", f"{out}/merged/{name}")
    for name, values in merged.items():
        weights[name] = (weights[name][0], values)
    write(f"{out}/merged/model.safetensors", weights)


main(*sys.argv[1:])
