"""gptoss.py FROM TO: a gpt-oss GGUF as Ollama's own program wrote it: other names, fewer keys."""
import struct, sys

data = open(sys.argv[1], "rb").read()
at = 8


def take(fmt):
    global at
    v = struct.unpack_from("<" + fmt, data, at)
    at += struct.calcsize("<" + fmt)
    return v[0]


def text():
    global at
    n = take("Q")
    at += n
    return data[at - n:at]


SIZES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8]


def value(kind):
    global at
    if kind == 8:
        text()
    elif kind == 9:
        inner, n = take("I"), take("Q")
        for _ in range(n):
            value(inner)
    else:
        at += SIZES[kind]


def put(s):
    return struct.pack("<Q", len(s)) + s


ntensors, nkeys = take("Q"), take("Q")
keys, align = [], 32
for _ in range(nkeys):
    name, start = text(), at
    kind = take("I")
    value(kind)
    body = data[start:at]
    if name == b"general.alignment":
        align = struct.unpack("<I", body[4:])[0]
    if name == b"general.architecture":
        body = struct.pack("<I", 8) + put(b"gptoss")
    if name not in (b"gpt-oss.rope.scaling.type", b"gpt-oss.expert_feed_forward_length"):
        keys.append(put(name.replace(b"gpt-oss.", b"gptoss.")) + body)
tensors = b""
for _ in range(ntensors):
    name, start = text(), at
    ndim = take("I")
    at += 8 * ndim + 12
    for was, now in ((b".attn_output", b".attn_out"), (b".attn_sinks.weight", b".attn_sinks"),
                     (b".post_attention_norm", b".ffn_norm")):
        name = name.replace(was, now)
    tensors += put(name) + data[start:at]
head = data[:8] + struct.pack("<QQ", ntensors, len(keys)) + b"".join(keys) + tensors
with open(sys.argv[2], "wb") as f:
    f.write(head + b"\0" * (-len(head) % align) + data[(at + align - 1) // align * align:])
