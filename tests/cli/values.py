"""values.py TBTUI EVERY FILE... - what "tensor --values" shows of safetensors and GGUF files
against a reader and decoders of its own, written from the formats' descriptions with
nothing but Python's standard library.  Two rows of each EVERY-th tensor; prints how
many values were the same."""
import json
import math
import struct
import subprocess
import sys

KVALUES = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


def f32(x):
    """Rounded as a float is: products and sums of two floats are exact before."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def half(b, at):
    return struct.unpack_from("<e", b, at)[0]


def plain(fmt):
    def decode(b):
        return [v[0] for v in struct.iter_unpack("<" + fmt, b)]
    return decode


def bf16(b):
    return [struct.unpack("<f", b"\0\0" + b[i:i + 2])[0] for i in range(0, len(b), 2)]


def nibbles(b):
    return [v & 15 for v in b] + [v >> 4 for v in b]


def q4_0(b):
    d = half(b, 0)
    return [f32((q - 8) * d) for q in nibbles(b[2:18])]


def q4_1(b):
    d, m = half(b, 0), half(b, 2)
    return [f32(f32(q * d) + m) for q in nibbles(b[4:20])]


def fifth(b, at):
    bits = struct.unpack_from("<I", b, at)[0]
    return [q | (bits >> i & 1) << 4 for i, q in enumerate(nibbles(b[at + 4:at + 20]))]


def q5_0(b):
    return [f32((q - 16) * half(b, 0)) for q in fifth(b, 2)]


def q5_1(b):
    return [f32(f32(q * half(b, 0)) + half(b, 2)) for q in fifth(b, 4)]


def q8_0(b):
    return [f32(q * half(b, 0)) for q in struct.unpack_from("<32b", b, 2)]


def q2_k(b):
    scales, qs, d, dmin = b[:16], b[16:80], half(b, 80), half(b, 82)
    out = []
    for g in range(16):     # 16 elements each: two of a 32-byte run, then the next two bits
        n, j, side = g // 8, g % 8 // 2, g % 2
        dl, ml = f32(d * (scales[g] & 15)), f32(dmin * (scales[g] >> 4))
        run = qs[32 * n + 16 * side:][:16]
        out += [f32(f32(dl * (q >> 2 * j & 3)) - ml) for q in run]
    return out


def q3_k(b):
    hmask, qs, s, d = b[:32], b[32:96], b[96:108], half(b, 108)
    out = []
    for g in range(16):
        n, j, side = g // 8, g % 8 // 2, g % 2
        scale = (s[g % 8] >> 4 * (g // 8) & 15) | (s[8 + g % 4] >> 2 * (g // 4) & 3) << 4
        dl = f32(d * (scale - 32))
        for i in range(16):
            low = qs[32 * n + 16 * side + i] >> 2 * j & 3
            high = hmask[16 * side + i] >> (4 * n + j) & 1
            out.append(f32(dl * (low - (0 if high else 4))))
    return out


def scale_min(s, j):
    if j < 4:
        return s[j] & 63, s[j + 4] & 63
    return (s[j + 4] & 15) | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4


def k4(b, fifths, qs):
    d, dmin, s = half(b, 0), half(b, 2), b[4:16]
    out = []
    for g in range(8):
        sc, mn = scale_min(s, g)
        dl, ml = f32(d * sc), f32(dmin * mn)
        for i in range(32):
            q = qs[32 * (g // 2) + i] >> 4 * (g % 2) & 15
            q |= (fifths[i] >> g & 1) << 4 if fifths else 0
            out.append(f32(f32(dl * q) - ml))
    return out


def q4_k(b):
    return k4(b, None, b[16:144])


def q5_k(b):
    return k4(b, b[16:48], b[48:176])


def q6_k(b):
    ql, qh, sc, d = b[:128], b[128:192], struct.unpack_from("<16b", b, 192), half(b, 208)
    out = []
    for e in range(256):
        n, part, i = e // 128, e % 128 // 32, e % 32
        low = ql[64 * n + 32 * (part % 2) + i] >> 4 * (part // 2) & 15
        high = qh[32 * n + i] >> 2 * part & 3
        out.append(f32(f32(d * sc[e // 16]) * ((low | high << 4) - 32)))
    return out


def iq4_nl(b):
    return [f32(half(b, 0) * KVALUES[q]) for q in nibbles(b[2:18])]


def iq4_xs(b):
    d, high = half(b, 0), struct.unpack_from("<H", b, 2)[0]
    out = []
    for g in range(8):
        scale = (b[4 + g // 2] >> 4 * (g % 2) & 15) | (high >> 2 * g & 3) << 4
        dl = f32(d * (scale - 32))
        out += [f32(dl * KVALUES[q]) for q in nibbles(b[8 + 16 * g:24 + 16 * g])]
    return out


def mxfp4(b):
    halves = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
    return [f32(halves[q] * 2.0 ** (b[0] - 128)) for q in nibbles(b[1:17])]


# number in a GGUF file: name, elements and bytes of a block, decoder
GGML = {
    0: ("F32", 1, 4, plain("f")), 1: ("F16", 1, 2, plain("e")), 30: ("BF16", 1, 2, bf16),
    2: ("Q4_0", 32, 18, q4_0), 3: ("Q4_1", 32, 20, q4_1), 6: ("Q5_0", 32, 22, q5_0),
    7: ("Q5_1", 32, 24, q5_1), 8: ("Q8_0", 32, 34, q8_0), 10: ("Q2_K", 256, 84, q2_k),
    11: ("Q3_K", 256, 110, q3_k), 12: ("Q4_K", 256, 144, q4_k), 13: ("Q5_K", 256, 176, q5_k),
    14: ("Q6_K", 256, 210, q6_k), 20: ("IQ4_NL", 32, 18, iq4_nl),
    23: ("IQ4_XS", 256, 136, iq4_xs), 39: ("MXFP4", 32, 17, mxfp4),
}
SAFETENSORS = {name: (name, 1, size, decode) for _, (name, _, size, decode) in GGML.items()
               if name in ("F32", "F16", "BF16")}


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        v = struct.unpack_from("<" + fmt, self.data, self.at)[0]
        self.at += struct.calcsize("<" + fmt)
        return v

    def text(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, n = self.take("I"), self.take("Q")
            return [self.value(kind) for _ in range(n)]
        return self.take("BbHhIifB  QqdX"[kind])


def read_gguf(data):
    c = Cursor(data)
    assert c.take("4s") == b"GGUF" and c.take("I") in (2, 3)
    ntensors, nkeys = c.take("Q"), c.take("Q")
    keys = {}
    for _ in range(nkeys):
        key = c.text()
        keys[key] = c.value(c.take("I"))
    found = []
    for _ in range(ntensors):
        name = c.text()
        shape = [c.take("Q") for _ in range(c.take("I"))][::-1]
        kind, off = c.take("I"), c.take("Q")
        found.append((name, GGML[kind], shape, off))
    align = keys.get("general.alignment", 32)
    base = -(-c.at // align) * align
    return [(name, kind, shape, base + off) for name, kind, shape, off in found]


def read_safetensors(data):
    n = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + n])
    return [(name, SAFETENSORS[t["dtype"]], t["shape"], 8 + n + t["data_offsets"][0])
            for name, t in header.items()   # packed codes are no values
            if name != "__metadata__" and t["dtype"] in SAFETENSORS]


def decode(data, kind, off, first, n):
    """n elements from `first` on, which may lie inside a block."""
    _, block, size, fn = kind
    lo, hi = first // block, -(-(first + n) // block)
    out = []
    step = hi - lo if block == 1 else 1
    for i in range(lo, hi, step):
        out += fn(data[off + i * size:off + (i + step) * size])
    return out[first - lo * block:][:n]


def same(a, b):
    if math.isnan(a):
        return math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def check(tbtui, every, path):
    with open(path, "rb") as f:
        data = f.read()
    values = 0
    tensors = (read_gguf if data[:4] == b"GGUF" else read_safetensors)(data)
    for name, kind, shape, off in tensors[len(path) % every::every]:
        cols, rows = shape[-1], math.prod(shape[:-1])
        lo = (7919 * len(name) + off) % rows    # anywhere, but always there
        hi = min(lo + 2, rows)
        run = subprocess.run([tbtui, "--json", "tensor", path, name, "--values",
                              f"{lo}:{hi},0:{cols}"], capture_output=True, check=True)
        got = json.loads(run.stdout)
        assert got["shape"] == shape and got["offset"] == off, (path, name, got)
        theirs = [v for row in got["values"] for v in row]
        ours = decode(data, kind, off, lo * cols, (hi - lo) * cols)
        assert len(ours) == len(theirs), (path, name, len(theirs))
        for i, (a, b) in enumerate(zip(ours, theirs)):
            assert same(a, f32(b)), f"{path}: {name}: element {lo * cols + i}: {a}, not {b}"
        values += len(ours)
    return values


print(sum(check(sys.argv[1], int(sys.argv[2]), path) for path in sys.argv[3:]), "values")
