"""damage_values.py - numbers that no model has: what `verify --deep` looks for. Rows of
damage.py."""
import struct

from damage_make import read, st_load
from damage_rows import row

DOWN = "model.layers.2.mlp.down_proj.weight"
BASE = DOWN.removesuffix(".weight")


def part(name, at, new):
    """Bytes `at` a tensor's offset become others."""
    def change(t, *_):
        dtype, shape, raw = t[name]
        t[name] = (dtype, shape, raw[:at] + new + raw[at + len(new):])
    return change


def deep(kind, text, change, **options):
    row(kind, text, deep=True, **options)(change)


deep("store", "NaN in a tensor", lambda p: p.tensors(DOWN, part(DOWN, 2, b"\xc0\x7f")))
deep("store", "an infinity in a tensor's last value",
     lambda p: p.tensors(DOWN, lambda t, _: part(DOWN, len(t[DOWN][2]) - 2, b"\x80\xff")(t)))
deep("store", "one exponent with a wrong bit",
     lambda p: p.tensors(DOWN, part(DOWN, 5000, b"\x00\x7d")))
deep("plain", "one exponent with a wrong bit", lambda p: p.tensors(part(DOWN, 40, b"\x00\x5f")))
deep("packed", "a scale with a wrong bit in its exponent",
     lambda p: p.tensors(part(BASE + ".scales", 40, b"\x00\x7d")))
deep("packed", "a scale of zero", lambda p: p.tensors(part(BASE + ".scales", 40, bytes(2))))
deep("packed", "a scale that is NaN", lambda p: p.tensors(part(BASE + ".scales", 4, b"\xff\x7f")))
deep("store-packed", "a scale of zero",
     lambda p: p.tensors(DOWN, part(DOWN + ".scale", 10, bytes(2))))
deep("experts", "NaN in an E4M3 scale", lambda p: p.tensors(lambda t: part(
    next(n for n in t if n.endswith(".scales") and "experts" in n), 5, b"\x7f")(t)))


@row("store", "pages lost before the blob was hashed", deep=True)
def _(p):
    raw = read(p.layer_file(DOWN))
    p.replace(DOWN, raw[:8192] + bytes(8192) + raw[16384:])


@row("plain", "a page lost in the weights", deep=True)
def _(p):
    path = p.file("model.safetensors")
    p.tensors(lambda t: None)  # whose rows begin anywhere then
    size, = struct.unpack("<Q", read(path)[:8])
    tensors, at = st_load(path)[0], 8 + size
    for name, (_, _, raw) in tensors.items():
        if name == DOWN:
            break
        at += len(raw)
    with open(path, "r+b") as f:
        f.seek((at // 4096 + 2) * 4096)
        f.write(bytes(4096))


@row("plain", "rows of a weight that are zero", deep=True, notes=["blank_rows"])
def _(p):
    p.tensors(lambda t: part(DOWN, 0, bytes(len(t[DOWN][2]) // 2))(t))


def values(text, change):
    row("gguf", text, deep=True)(
        lambda p: p.gguf(lambda g: change(g.find("blk.2.ffn_down.weight"))))


def put(at, new):
    def change(tensor):
        tensor[2] = tensor[2][:at] + new + tensor[2][at + len(new):]
    return change


values("NaN in a tensor", put(400, b"\0\0\xc0\x7f"))
values("one exponent with a wrong bit", put(400, struct.pack("<f", 1e30)))


def overlap(g):
    """The bytes of a tensor are those of another one, too."""
    raw = g.bytes()
    name = b"blk.2.ffn_down.weight"
    at = raw.index(struct.pack("<Q", len(name)) + name) + 8 + len(name) + 4 + 2 * 8 + 4
    return raw[:at] + struct.pack("<Q", 64) + raw[at + 8:]


@row("gguf", "two tensors overlap")
def _(p):
    p.gguf(lambda g: setattr(g, "bytes", lambda: overlap(type(g)(g.keys, g.tensors))))
