#!/usr/bin/env python3
"""Makes the store of somebody who never cleaned up, as people report it: hundreds of models,
of which some share blobs, and 828 GB that nothing uses.  Everything large is a hole, so it
takes some MB and a second.

hoard.py DIR [--orphans N] [--size BYTES]

Prints what is in it as JSON: what may go and what must stay, path by path.  Files are two
days old by their own times; TBTUI_NOW from the output makes them so by the times of their
inodes, too, which nobody can set.
"""
import argparse, hashlib, json, os, struct, sys, time

DAY = 86400
TYPES = "application/vnd.ollama.image."
CONFIG = "application/vnd.docker.container.image.v1+json"


class Hoard:
    def __init__(self, root):
        self.root, self.blobs = root, root + "/blobs"
        self.stay, self.go = {}, {}
        self.old = int(time.time()) - 2 * DAY
        os.makedirs(self.blobs)

    def put(self, path, head, size=None, kept=True):
        """A file that begins with head and goes on with a hole."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(head)
            if size:
                f.truncate(size)
        os.utime(path, (self.old, self.old))
        (self.stay if kept else self.go)[os.path.relpath(path, self.root)] = size or len(head)

    def blob(self, what, head, size=None, kept=True):
        """Named by its bytes where it has some, else by what it stands for."""
        digest = hashlib.sha256(head if not size else what.encode()).hexdigest()
        self.put("%s/sha256-%s" % (self.blobs, digest), head, size, kept)
        return {"digest": "sha256:" + digest, "size": size or len(head)}

    def model(self, name, tag, weights):
        config = self.blob("", json.dumps({"model_format": "gguf", "model_family": "llama",
                                           "file_type": "Q8_0"}).encode())
        template = self.blob("", b"{{ .Prompt }}")
        manifest = {"schemaVersion": 2,
                    "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                    "config": dict(config, mediaType=CONFIG),
                    "layers": [dict(weights, mediaType=TYPES + "model"),
                               dict(template, mediaType=TYPES + "template")]}
        self.put("%s/manifests/registry.ollama.ai/library/%s/%s" % (self.root, name, tag),
                 json.dumps(manifest).encode())


def gguf(size):
    """The header of a file with one tensor, which takes (nearly) all of it."""
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1)
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    start = (len(head) + len(text("w")) + 4 + 8 + 4 + 8 + 31) // 32 * 32
    rows = (size - start) // 4
    head += text("w") + struct.pack("<IQIQ", 1, rows, 0, 0)
    return head.ljust(start, b"\0"), start + 4 * rows


def main():
    args = argparse.ArgumentParser()
    args.add_argument("dir")
    args.add_argument("--orphans", type=int, default=69)
    args.add_argument("--size", type=int, default=12 * 10**9)
    args = args.parse_args()
    h = Hoard(args.dir)
    for family in range(60):
        # the tags of every other family share their weights
        for tag in range(5):
            own = "%d %d" % (family, tag if family % 2 else 0)
            h.model("hoard%02d" % family, "v%d" % tag,
                    h.blob("weights " + own, *gguf(4 * 10**9 + 4096 * family + 32 * (len(own) + tag))
                           if family % 2 else gguf(5 * 10**9 + 4096 * family)))
    # replaced, and kept: its weights are still its own
    h.model("hoard00", "v0.replaced-20260101T000000Z", h.blob("kept", *gguf(7 * 10**9)))
    for i in range(args.orphans):
        h.blob("orphan %d" % i, *gguf(args.size + 4096 * i), kept=False)
    partial = "%s/sha256-%s-partial" % (h.blobs, hashlib.sha256(b"partial").hexdigest())
    h.put(partial, b"", 3 * 10**9, kept=False)
    h.put(partial + "-0", b'{"N":0,"Offset":0,"Size":100,"Completed":7}', kept=False)
    print(json.dumps({"now": int(time.time()) + 2 * DAY, "go": h.go, "stay": h.stay,
                      "go_bytes": sum(h.go.values()), "stay_bytes": sum(h.stay.values())}))


if __name__ == "__main__":
    try:
        main()
    except OSError as e:
        sys.exit("hoard.py: %s" % e)
