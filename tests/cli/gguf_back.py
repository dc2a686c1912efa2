"""gguf_back.py A B: keys of two GGUF files that differ, but for general.* and scores."""
import struct
import sys

KINDS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Reader:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.b = f.read()
        self.at = 0

    def one(self, fmt):
        (v,) = struct.unpack_from("<" + fmt, self.b, self.at)
        self.at += struct.calcsize("<" + fmt)
        return v

    def string(self):
        n = self.one("Q")
        self.at += n
        return self.b[self.at - n:self.at]

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, n = self.one("I"), self.one("Q")
            return [self.value(kind) for _ in range(n)]
        return self.one(KINDS[kind])

    def keys(self):
        self.one("I"), self.one("I"), self.one("Q")
        n = self.one("Q")
        return {self.string().decode(): self.value(self.one("I")) for _ in range(n)}


a, b = Reader(sys.argv[1]).keys(), Reader(sys.argv[2]).keys()
for key in sorted(set(a) | set(b)):
    if key.startswith("general.") or key == "tokenizer.ggml.scores":
        continue
    if a.get(key) != b.get(key):
        print(key, str(a.get(key))[:80], "->", str(b.get(key))[:80])
