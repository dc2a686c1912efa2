"""where.py TBTUI FOLDER: damages files that were verified, and asks where."""
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys

TBTUI, WORK = sys.argv[1:]
MIB = 1 << 20
UP = "model.layers.1.mlp.up_proj.weight"


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(w) for w in words))


def verify(*args, want=1, db="index.db"):
    r = subprocess.run([TBTUI, "--db", f"{WORK}/{db}", *args], capture_output=True, check=False)
    text = r.stdout.decode() + r.stderr.decode()
    if r.returncode != want:
        fail(args, "gives", r.returncode, "not", want, text)
    return text


def damage(text):
    """Each damaged place as verify says it: what is behind "damaged in "."""
    return re.findall(r"^error +(?:digest_mismatch|content_changed) .*damaged in (.*)$", text, re.M)


def check(what, text, *places):
    found = damage(text)
    if found != list(places):
        fail(what, "places", found, "instead of", list(places), text)


def write(path, raw):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(raw)


def flip(path, *offsets, bit=1):
    """The file's time stays, as it does when a disk fails."""
    s = os.stat(path)
    with open(path, "r+b") as f:
        for at in offsets:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ bit]))
    os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))


def noise(n, seed):
    """Small floats of BF16: nothing about them is odd."""
    r = random.Random(seed)
    return b"".join(r.choices([struct.pack("<H", 0x3C00 + i) for i in range(512)], k=n))


def st_bytes(tensors, meta=None):
    head, data = {"__metadata__": meta} if meta else {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def offset(raw, name):
    size, = struct.unpack("<Q", raw[:8])
    return 8 + size + json.loads(raw[8:8 + size])[name]["data_offsets"][0]


def gguf_bytes(tensors):
    """tensors: name -> (type, dims fastest first, bytes)"""
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 1)
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    data, at = b"", {}
    for name, (kind, dims, raw) in tensors.items():
        data += b"\0" * (-len(data) % 32)
        at[name] = len(data)
        head += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        head += struct.pack("<IQ", kind, len(data))
        data += raw
    head += b"\0" * (-len(head) % 32)
    return head + data, {name: len(head) + a for name, a in at.items()}


def plain():
    """Two layers, each 3 MiB of 1024 rows and a norm."""
    t = {}
    for i in range(2):
        t[f"model.layers.{i}.mlp.up_proj.weight"] = ("BF16", [1024, 1536], noise(1024 * 1536, i))
        t[f"model.layers.{i}.input_layernorm.weight"] = ("BF16", [1536], noise(1536, 9 + i))
    return st_bytes(t)


PLAIN = plain()
CONFIG = json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}).encode()


def folder(name, raw, config=CONFIG):
    write(f"{WORK}/{name}/config.json", config)
    path = f"{WORK}/{name}/model.safetensors"
    write(path, raw)
    return path


def place(base, tensor, piece, rows, size=MIB):
    a = base + piece * MIB
    return f"{tensor}, {rows}, bytes {a} to {a + size - 1}"


def in_folders():
    path = folder("dir", PLAIN)
    up, norm = offset(PLAIN, UP), offset(PLAIN, "model.layers.0.input_layernorm.weight")
    second = place(up, UP, 1, "rows 341 to 682")
    verify("verify", WORK + "/dir")		# config.json is not whole: that is found each time
    check("good", verify("verify", WORK + "/dir"))
    flip(path, up + MIB + 77)
    text = verify("verify", WORK + "/dir")
    check("a bit", text, second)
    if "same size and time" not in text:
        fail("the sentence has gone", text)
    doc = json.loads(verify("--json", "verify", WORK + "/dir"))
    found = [[f["tensor"], f["rows"], f["offset"], f["bytes"]] for f in doc["findings"]
             if f["code"] == "content_changed"]
    if found != [[UP, "rows 341 to 682", up + MIB, MIB]]:
        fail("JSON", found)
    verify("-s", WORK + "/dir", "scan", want=0)
    doc = json.loads(verify("-s", WORK + "/dir", "--json", "whose", path, want=0))
    if doc["blobs"][0]["damage"] != [{"tensor": UP, "rows": "rows 341 to 682",
                                      "offset": up + MIB, "bytes": MIB}]:
        fail("whose --json", doc)
    text = verify("-s", WORK + "/dir", "whose", path, want=0)
    if f"\n  damaged in {second}\n" not in text:
        fail("whose", text)
    check("a bit, again", verify("verify", WORK + "/dir"), second)
    flip(path, norm + 5)
    check("two bits", verify("verify", WORK + "/dir"),
          f"model.layers.0.input_layernorm.weight, values 0 to 1535, bytes {norm} to {norm + 3071}",
          second)
    flip(path, up + 2 * MIB + 1)	# neighbours are one place, up to the end of the tensor
    check("neighbours", verify("verify", WORK + "/dir"),
          f"model.layers.0.input_layernorm.weight, values 0 to 1535, bytes {norm} to {norm + 3071}",
          place(up, UP, 1, "rows 341 to 1023", 2 * MIB))
    flip(path, up + MIB + 77, norm + 5, up + 2 * MIB + 1)
    check("as it was", verify("verify", WORK + "/dir"))
    flip(path, 2)
    text = verify("verify", WORK + "/dir")
    check("the header", text, f"its header, bytes 0 to {offset(PLAIN, 'model.layers.0.mlp.up_proj.weight') - 1}")
    flip(path, 2)
    # Somebody writes another one: that is no damage, and its own sums are kept.
    raw = st_bytes({UP: ("BF16", [600, 1024], noise(600 * 1024, 5))})
    write(path, raw)
    os.utime(path, ns=(1, 1))
    text = verify("verify", WORK + "/dir")
    check("another", text)
    if "changed_since" not in text:
        fail("a file that was written is not told", text)
    flip(path, offset(raw, UP) + MIB + 1)
    check("another, damaged", verify("verify", WORK + "/dir"),
          place(offset(raw, UP), UP, 1, "rows 512 to 599", 88 * 2048))


def never_good():
    """The first verify finds it damaged, so nobody knows where; and nothing is made up."""
    name = hashlib.sha256(PLAIN).hexdigest()
    store = f"{WORK}/never"
    layers(store, {"model": PLAIN})
    flip(f"{store}/blobs/sha256-{name}", len(PLAIN) - 9)
    text = verify("-s", store, "verify")
    check("never good", text)
    if "where is not known, since it was never verified while it was good" not in text:
        fail("it is not said that nobody knows", text)


def guessed():
    """A flipped bit of an exponent is seen in the values: that is said, and called a guess."""
    store = WORK + "/guess"
    t = {f"model.layers.{i}.mlp.up_proj.weight": ("BF16", [256, 512], noise(256 * 512, i))
         for i in range(4)}
    raw = {name: st_bytes({name: what}) for name, what in t.items()}
    layers(store, raw)		# a blob each, as Ollama has them
    whole = WORK + "/guess2"
    layers(whole, {"model": st_bytes(t)})
    blob = f"{store}/blobs/sha256-{hashlib.sha256(raw[UP]).hexdigest()}"
    flip(blob, offset(raw[UP], UP) + 2 * (77 * 512 + 3) + 1, bit=0x40)
    one = f"{whole}/blobs/sha256-{hashlib.sha256(st_bytes(t)).hexdigest()}"
    flip(one, offset(st_bytes(t), UP) + 2 * (200 * 512) + 1, bit=0x40)
    for where, row in ((store, 77), (whole, 200)):
        text = verify("-s", where, "verify", db="guess.db")
        check("a guess", text)
        if not re.search(f"; probably in {UP}, row {row}: its largest value is [0-9.]+e[+]3[0-9], in the "
                         r"layers around it 0.[0-9]+ \(a guess, since it was never verified", text):
            fail("no guess", text)
        found = json.loads(verify("-s", where, "--json", "verify", db="guess.db"))["findings"]
        found = [f for f in found if f["code"] == "digest_mismatch"]
        if [(f["tensor"], f["rows"], f["bytes"]) for f in found] != [(UP, f"row {row}", None)]:
            fail("the guess in JSON", found)
    flip(blob, offset(raw[UP], UP) + 2 * (77 * 512 + 3) + 1, bit=0x40)
    flip(blob, offset(raw[UP], UP) + 2 * 512, bit=1)
    text = verify("-s", store, "verify", db="guess.db")
    if "probably" in text:
        fail("a guess at nothing", text)


MEDIA = "application/vnd.ollama.image."


def layers(store, blobs, kind="tensor"):
    doc = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
           "layers": []}
    for name, raw in {"config": b'{"model_format":"safetensors"}', "config.json": CONFIG,
                      **blobs}.items():
        digest = hashlib.sha256(raw).hexdigest()
        write(f"{store}/blobs/sha256-{digest}", raw)
        entry = {"digest": "sha256:" + digest, "size": len(raw)}
        if name == "config":
            doc["config"] = {"mediaType": "application/vnd.docker.container.image.v1+json", **entry}
        else:
            doc["layers"].append({"mediaType": MEDIA + ("json" if name == "config.json" else kind),
                                  "name": name, **entry})
    write(f"{store}/manifests/registry.ollama.ai/library/big/latest", json.dumps(doc).encode())


def in_ollama():
    store = WORK + "/ollama"
    raw, at = gguf_bytes({
        "blk.0.ffn_up.weight": (8, [1024, 2048], random.Random(1).randbytes(2048 * 32 * 34)),
        "blk.0.ffn_norm.weight": (0, [1024], bytes(4096)),
        "blk.0.ffn_up_exps.weight": (8, [1024, 512, 4], random.Random(2).randbytes(2048 * 32 * 34)),
    })
    layers(store, {"model": raw}, "model")
    blob = f"{store}/blobs/sha256-{hashlib.sha256(raw).hexdigest()}"
    other = WORK + "/other"
    shutil.copytree(store, other)
    verify("-s", store, "verify")
    up, experts = at["blk.0.ffn_up.weight"], at["blk.0.ffn_up_exps.weight"]
    want = (place(up, "blk.0.ffn_up.weight", 0, "rows 0 to 963"),
            place(experts, "blk.0.ffn_up_exps.weight", 1, "experts 1 to 3"))
    flip(blob, up, experts + MIB)
    check("GGUF", verify("-s", store, "verify"), *want)
    # The same blob in a store that nobody verified is known by its digest.
    flip(blob.replace(store, other), up + 3)
    check("a copy", verify("-s", other, "verify"), want[0])
    flip(blob, up, experts + MIB)
    check("healed", verify("-s", store, "verify"))
    flip(blob.replace(store, other), up + 3)
    # Cut: the tensor that it ends in; grown: the rest is still compared.
    s = os.stat(blob)
    os.truncate(blob, experts + 34 * 32 * 700)
    os.utime(blob, ns=(s.st_atime_ns, s.st_mtime_ns))
    text = verify("-s", store, "verify")
    if not re.search(r"size_mismatch .*; it ends in blk.0.ffn_up_exps.weight, without experts 1 to 3", text):
        fail("a cut is not traced", text)
    check("cut", text)
    shutil.copy(blob.replace(store, other), blob)
    with open(blob, "ab") as f:
        f.write(b"more")
    text = verify("-s", store, "verify")
    check("grown", text)
    flip(blob, experts + MIB // 2)
    check("grown and damaged", verify("-s", store, "verify"),
          place(experts, "blk.0.ffn_up_exps.weight", 0, "experts 0 to 1"))


def in_gguf():
    """A file alone, which has no digest but that of the verify before; and a deep look."""
    raw, at = gguf_bytes({"blk.0.attn_q.weight": (1, [1024, 1024], noise(1 << 20, 11)),
                          "output_norm.weight": (0, [1024], struct.pack("<f", 1) * 1024)})
    path = WORK + "/alone/model.gguf"
    write(path, raw)
    verify("verify", path)
    q, norm = at["blk.0.attn_q.weight"], at["output_norm.weight"]
    flip(path, q + MIB, norm + 8)
    want = (place(q, "blk.0.attn_q.weight", 1, "rows 512 to 1023"),
            f"output_norm.weight, values 0 to 1023, bytes {norm} to {norm + 4095}")
    check("GGUF alone", verify("verify", path), *want)
    check("GGUF alone, deep", verify("verify", "--deep", path), *want)


def in_cache():
    """One file, two revisions: verified through the one, damaged for both."""
    repo = WORK + "/hub/models--org--tiny"
    name = hashlib.sha256(PLAIN).hexdigest()
    write(f"{repo}/blobs/{name}", PLAIN)
    for revision in ("1" * 40, "2" * 40):
        os.makedirs(f"{repo}/snapshots/{revision}")
        os.symlink(f"../../blobs/{name}", f"{repo}/snapshots/{revision}/model.safetensors")
    verify("-s", WORK + "/hub", "verify", db="hub.db")
    flip(f"{repo}/blobs/{name}", offset(PLAIN, UP) + 9)
    want = place(offset(PLAIN, UP), UP, 0, "rows 0 to 341")
    check("cache", verify("-s", WORK + "/hub", "verify", db="hub.db"), want, want)
    verify("-s", WORK + "/hub", "scan", want=0, db="hub.db")
    text = verify("-s", WORK + "/hub", "whose", f"{repo}/blobs/{name}", want=0, db="hub.db")
    if text.count(f"  damaged in {want}\n") != 1:
        fail("whose in a cache", text)


def packed():
    """A weight with its scales is one tensor, and its scales say so."""
    name = "model.layers.0.mlp.up_proj"
    raw = st_bytes({
        name + ".weight": ("U32", [4096, 256], random.Random(3).randbytes(4096 * 1024)),
        name + ".scales": ("BF16", [4096, 32], noise(4096 * 32, 4)),
        name + ".biases": ("BF16", [4096, 32], noise(4096 * 32, 5)),
        "model.layers.0.mlp.experts.down_proj": ("BF16", [8, 512, 512], noise(8 * 512 * 512, 6)),
    })
    config = {**json.loads(CONFIG), "quantization": {"group_size": 64, "bits": 4}}
    path = folder("packed", raw, json.dumps(config).encode())
    verify("verify", WORK + "/packed")
    weight, scales = offset(raw, name + ".weight"), offset(raw, name + ".scales")
    experts = offset(raw, "model.layers.0.mlp.experts.down_proj")
    flip(path, weight + 3 * MIB, scales + 100, experts + 5 * 512 * 1024 + 7)
    check("packed", verify("verify", WORK + "/packed"),
          place(weight, name + ".weight", 3, "rows 3072 to 4095"),
          place(scales, name + ".weight", 0, "rows 0 to 4095 of its scales", 4096 * 64),
          place(experts, "model.layers.0.mlp.experts.down_proj", 2, "experts 4 to 5"))
    flip(path, experts)
    if "rows 0 to 341" in verify("verify", WORK + "/packed"):
        fail("rows of another shape")


def many():
    """A finding for each of the first places, and how many there are."""
    raw = st_bytes({f"t{i:03}": ("BF16", [64, 64], noise(4096, i)) for i in range(60)})
    path = folder("many", raw)
    verify("verify", WORK + "/many")
    flip(path, *(offset(raw, f"t{i:03}") for i in range(0, 60, 2)))
    found = damage(verify("verify", WORK + "/many"))
    if len(found) != 24 or not re.search(r"t046, .*; there are 6 more places, 246 kB in all$", found[-1]):
        fail("thirty places:", found)


def tampered():
    """Sums that somebody wrote into the file, or a file of a version without them."""
    path = folder("odd", PLAIN)
    verify("verify", WORK + "/odd", db="odd.db")
    flip(path, offset(PLAIN, UP) + 1)
    for pieces in (b"", b"\xff" * 40, bytes(100000), "text", -1, 1e300):
        sql = sqlite3.connect(f"{WORK}/odd.db.audits.db")
        sql.execute("UPDATE sums SET pieces = ?", (pieces,))
        sql.commit()
        sql.close()
        text = verify("verify", WORK + "/odd", db="odd.db")
        check("tampered", text)
        if "where is not known" not in text:
            fail("no word about where", text)


def large():
    """2 GB with a few bytes in it: a bit is found to tensor and piece."""
    if shutil.disk_usage(WORK).free < 4 << 30:
        print("too little room: no file of 2 GB")
        return
    n = 16
    rows, cols = 16384, 4096
    size = rows * cols * 2
    head = {f"model.layers.{i}.mlp.up_proj.weight":
            {"dtype": "BF16", "shape": [rows, cols], "data_offsets": [i * size, (i + 1) * size]}
            for i in range(n)}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path = folder("large", struct.pack("<Q", len(text)) + text)
    os.truncate(path, 8 + len(text) + n * size)
    verify("verify", WORK + "/large", db="large.db")
    base = 8 + len(text) + 11 * size
    at = base + 100 * MIB + 12345
    page = (base + 100 * MIB + 4095) // 4096 * 4096
    flip(path, at, bit=16)
    check("2 GB", verify("verify", WORK + "/large", db="large.db"),
          place(base, "model.layers.11.mlp.up_proj.weight", 100, "rows 12800 to 12927") +
          f"; {at // 4096 * 4096 - page} bytes from byte {page} on are zero")
    os.remove(path)


for case in (in_folders, never_good, guessed, in_ollama, in_gguf, in_cache, packed, many, tampered, large):
    case()
