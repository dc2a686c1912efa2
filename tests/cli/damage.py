"""damage.py TBTUI WORK TABLE - damages small models in every way that is known, and tells
how `verify` finds it.  The table is compared with the committed one; with TBTUI_UPDATE set
it is written instead.  Models that are whole must raise no alarm."""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time

import damage_stores  # noqa: F401 (their rows)
import damage_values  # noqa: F401
from damage_make import (MEDIA, PLACES, TBTUI, WHOLE, WORK, U32, place, read, st_bytes, st_load,
                         write)
from damage_rows import ROWS, append, cut, flip, rename, row

TABLE = sys.argv[3]
DOWN = "model.layers.2.mlp.down_proj.weight"
failed = []


# ---- what verify says ----

def verify(root, *options):
    r = subprocess.run([TBTUI, "--db", f"{root}.db", "-s", root, "--json", "verify", *options],
                       capture_output=True, check=False)
    if r.returncode not in (0, 1, 2):
        sys.exit(f"verify of {root}: {r.returncode} {r.stderr.decode()}")
    return r.returncode, json.loads(r.stdout)["findings"] if r.stdout else []


def alarms(findings):
    return [f for f in findings if f["severity"] != "note"]


def check_whole(path, *options):
    status, findings = verify(path, *options)
    if alarms(findings) or status != 0:
        failed.append(f"{path} {options} is whole, but: {status} {alarms(findings)[:3]}")
    for end in ("", "-wal", "-shm"):
        for name in (f"{path}.db{end}", f"{os.path.dirname(path)}/audits.db{end}"):
            if os.path.exists(name):
                os.remove(name)


# ---- the rows ----

# A store, a blob a tensor.

@row("store", "one bit of a blob flipped, its time kept")
def _(p):
    flip(p.layer_file(DOWN))


@row("store", "one bit of a blob's header flipped")
def _(p):
    flip(p.layer_file(DOWN), 9)


@row("store", "a blob's pages wiped")
def _(p):
    path = p.layer_file(DOWN)
    raw = read(path)
    write(path, raw[:8192] + bytes(8192) + raw[16384:])


@row("store", "a blob cut off")
def _(p):
    cut(p.layer_file(DOWN), -5)


@row("store", "a blob emptied")
def _(p):
    cut(p.layer_file(DOWN), 0)


@row("store", "a blob longer than it should be")
def _(p):
    append(p.layer_file(DOWN), b"more")


@row("store", "a blob gone")
def _(p):
    os.remove(p.layer_file(DOWN))


@row("store", "the folder of blobs gone")
def _(p):
    shutil.rmtree(p.file("blobs"))


@row("store", "the manifest states another size")
def _(p):
    p.manifest(lambda d: d["layers"][3].update(size=d["layers"][3]["size"] + 1))


@row("store", "the manifest cut in half")
def _(p):
    cut(p.manifest_path(), os.path.getsize(p.manifest_path()) // 2)


@row("store", "the manifest empty")
def _(p):
    cut(p.manifest_path(), 0)


@row("store", "the manifest is a folder")
def _(p):
    os.rename(p.manifest_path(), p.manifest_path() + ".away")
    path = p.manifest_path().removesuffix(".away")
    os.remove(path + ".away")
    os.makedirs(path)


@row("store", "layers `[]`")
def _(p):
    p.manifest(lambda d: d.update(layers=[]))


@row("store", "layers `null`")
def _(p):
    p.manifest(lambda d: d.update(layers=None))


@row("store", "a manifest without config")
def _(p):
    p.manifest(lambda d: d.pop("config"))


@row("store", "a tensor's layer dropped")
def _(p):
    p.drop(DOWN)


@row("store", "the head's layer dropped")
def _(p):
    p.drop("lm_head.weight")


@row("store", "all layers of one block dropped")
def _(p):
    p.manifest(lambda d: d.update(layers=[
        l for l in d["layers"] if ".layers.1." not in l.get("name", "")]))


@row("store", "config.json's layer dropped")
def _(p):
    p.drop("config.json")


@row("store", "the tokenizer's layer dropped")
def _(p):
    p.drop("tokenizer.json")


@row("store", "a layer with another tensor's blob of the same size")
def _(p):
    other = p.layer(DOWN.replace("2", "1"))["digest"]
    p.manifest(lambda d: next(l for l in d["layers"] if l.get("name") == DOWN).update(digest=other))


@row("store", "two layers with each other's blobs")
def _(p):
    a, b = (p.layer(DOWN.replace("2", n))["digest"] for n in "13")

    def swap(d):
        for layer in d["layers"]:
            layer["digest"] = {a: b, b: a}.get(layer["digest"], layer["digest"])
    p.manifest(swap)


@row("store", "a tensor's layer of an unknown media type")
def _(p):
    p.manifest(lambda d: next(l for l in d["layers"] if l.get("name") == DOWN).update(
        mediaType="application/x-unknown"))


@row("store", "a layer with another name than its tensor")
def _(p):
    p.manifest(lambda d: next(l for l in d["layers"] if l.get("name") == DOWN).update(
        name=DOWN + "x"))


@row("store", "a tensor with another name than its layer")
def _(p):
    p.tensors(DOWN, lambda t, _: rename(t, DOWN, DOWN + "x"))


@row("store", "a tensor with its rows and columns swapped")
def _(p):
    p.tensors(DOWN, lambda t, _: t.update({DOWN: (t[DOWN][0], t[DOWN][1][::-1], t[DOWN][2])}))


@row("store", "two tensors of a blob overlap")
def _(p):
    head = (b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},'
            b'"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}')
    p.replace(DOWN, struct.pack("<Q", len(head)) + head + bytes(24))


@row("store", "config.json is no JSON")
def _(p):
    p.replace("config.json", b'{"model_type":')


@row("store", "tokenizer.json is an empty object")
def _(p):
    p.replace("tokenizer.json", b"{}")


@row("store", "the config blob is no JSON")
def _(p):
    def change(doc):
        doc["config"].update(p.add(b"no JSON"))
    p.manifest(change)


@row("store", "the params layer is no JSON")
def _(p):
    p.manifest(lambda d: d["layers"].append({"mediaType": MEDIA + "params", **p.add(b"{]")}))


# Quantized tensors in a store.

def part_gone(part):
    def change(t, _):
        del t[DOWN + part]
    return lambda p: p.tensors(DOWN, change)


row("store-packed", "scales missing")(part_gone(".scale"))
row("store-packed", "biases missing")(part_gone(".bias"))
row("store-packed", "codes missing")(part_gone(""))


def meta(**keys):
    def change(_, m):
        for k, v in keys.items():
            for name in [n for n in m if n.endswith(k)]:
                m[name] = v
    return lambda p: p.tensors(DOWN, change)


row("store-packed", "group size 0")(meta(group_size="0"))
row("store-packed", "group size of no number")(meta(group_size="junk"))
row("store-packed", "another group size than its shapes")(meta(group_size="32"))
row("store-packed", "a quantization that nobody knows")(meta(quant_type="zork7"))


@row("store-packed", "scales of another shape")
def _(p):
    def change(t, _):
        dtype, shape, raw = t[DOWN + ".scale"]
        t[DOWN + ".scale"] = (dtype, [shape[0] // 2, shape[1]], raw[:len(raw) // 2])
    p.tensors(DOWN, change)


@row("store-experts", "a group of experts dropped")
def _(p):
    p.manifest(lambda d: d["layers"].remove(next(
        l for l in d["layers"] if ".1." in l.get("name", "") and "experts" in l["name"])))


# A directory.

@row("plain", "one bit of the weights flipped, the time kept", before=True)
def _(p):
    flip(p.file("model.safetensors"))


@row("plain", "one bit of the header flipped")
def _(p):
    flip(p.file("model.safetensors"), 20)


@row("plain", "the weights cut off")
def _(p):
    cut(p.file("model.safetensors"), -100)


@row("plain", "the weights empty")
def _(p):
    cut(p.file("model.safetensors"), 0)


@row("plain", "more bytes behind the weights")
def _(p):
    append(p.file("model.safetensors"), b"more")


@row("plain", "a tensor missing")
def _(p):
    p.tensors(lambda t: t.pop(DOWN))


@row("plain", "a tensor renamed")
def _(p):
    p.tensors(lambda t: rename(t, DOWN, DOWN + "x"))


@row("plain", "all tensors of the last block missing")
def _(p):
    p.tensors(lambda t: [t.pop(n) for n in list(t) if ".layers.3." in n])


@row("plain", "the head missing")
def _(p):
    p.tensors(lambda t: t.pop("lm_head.weight"))


@row("plain", "config.json gone")
def _(p):
    os.remove(p.file("config.json"))


@row("plain", "config.json cut off")
def _(p):
    cut(p.file("config.json"), -20)


@row("plain", "config.json empty")
def _(p):
    cut(p.file("config.json"), 0)


def config(text, **keys):
    row("plain", "config.json: " + text)(lambda p: p.config(**keys))


config("another hidden size", hidden_size=192)
config("another width of the feed-forward part", intermediate_size=512)
config("more layers than there are", num_hidden_layers=6)
config("fewer layers than there are", num_hidden_layers=3)
config("another number of heads", num_attention_heads=8)
config("another number of key heads", num_key_value_heads=1)
config("another vocabulary", vocab_size=512)
config("no hidden size", hidden_size=None)
config("no number of layers", num_hidden_layers=None)
config("a negative number of layers", num_hidden_layers=-4)
config("a word for a number", hidden_size="128")
row("plain", "config.json: a hidden size of 1e99")(lambda p: p.raw_number("hidden_size", "1e99"))
row("plain", "config.json: a base of rotation of 1e99")(
    lambda p: p.raw_number("rope_theta", "1e99"))


@row("plain", "tokenizer.json cut off")
def _(p):
    cut(p.file("tokenizer.json"), -100)


@row("plain", "tokenizer.json empty")
def _(p):
    cut(p.file("tokenizer.json"), 0)


@row("plain", "tokenizer.json gone")
def _(p):
    os.remove(p.file("tokenizer.json"))


@row("plain", "tokenizer_config.json broken")
def _(p):
    cut(p.file("tokenizer_config.json"), -10)


@row("plain", "the chat template broken")
def _(p):
    c = json.loads(read(p.file("tokenizer_config.json")))
    c["chat_template"] = "{% for m in messages %}{{ m.content }"
    write(p.file("tokenizer_config.json"), json.dumps(c))


@row("plain", "generation_config.json broken")
def _(p):
    cut(p.file("generation_config.json"), -5)


@row("plain", "generation_config.json empty")
def _(p):
    cut(p.file("generation_config.json"), 0)


# Quantized tensors in a directory.

BASE = DOWN.removesuffix(".weight")
row("packed", "scales missing")(lambda p: p.tensors(lambda t: t.pop(BASE + ".scales")))
row("packed", "biases missing")(lambda p: p.tensors(lambda t: t.pop(BASE + ".biases")))
row("packed", "codes missing")(lambda p: p.tensors(lambda t: t.pop(BASE + ".weight")))


def quantization(text, **keys):
    def change(p):
        q = json.loads(read(p.file("config.json")))["quantization"]
        q.update({k: v for k, v in keys.items()})
        for module in [m for m in q.values() if isinstance(m, dict)]:
            module.update({k: v for k, v in keys.items()})
        p.config(quantization=q)
    row("packed", text)(change)


quantization("config.json: group size 0", group_size=0)
quantization("config.json: a word for the group size", group_size="junk")
quantization("config.json: 7 bits", bits=7)
quantization("config.json: bits 1e99", bits=1e99)
quantization("config.json: a mode that nobody knows", mode="zork7")


@row("experts", "one expert's scales missing")
def _(p):
    p.tensors(lambda t: t.pop(next(n for n in t if n.endswith("scales"))))


@row("experts", "config.json: another number of experts")
def _(p):
    p.config(num_local_experts=8)


# Shards.

@row("shards", "a shard missing")
def _(p):
    os.remove(p.file("model-00002-of-00003.safetensors"))


@row("shards", "a shard and the index missing")
def _(p):
    os.remove(p.file("model-00002-of-00003.safetensors"))
    os.remove(p.file("model.safetensors.index.json"))


@row("shards", "the index missing")
def _(p):
    os.remove(p.file("model.safetensors.index.json"))


@row("shards", "the index cut off")
def _(p):
    cut(p.file("model.safetensors.index.json"), -10)


@row("shards", "the index has a tensor in another shard")
def _(p):
    index = json.loads(read(p.file("model.safetensors.index.json")))
    where = index["weight_map"]
    where[DOWN] = next(f for f in sorted(where.values()) if f != where[DOWN])
    write(p.file("model.safetensors.index.json"), json.dumps(index))


@row("shards", "a tensor missing in a shard and in the index")
def _(p):
    index = json.loads(read(p.file("model.safetensors.index.json")))
    p.tensors(lambda t: t.pop(DOWN), index["weight_map"].pop(DOWN))
    write(p.file("model.safetensors.index.json"), json.dumps(index))


@row("shards", "a shard's copy under another number")
def _(p):
    shutil.copy(p.file("model-00001-of-00003.safetensors"),
                p.file("model-00002-of-00003.safetensors"))


# A GGUF file.

@row("gguf", "one bit of the weights flipped, the time kept", before=True)
def _(p):
    flip(p.file("model.gguf"))


@row("gguf", "cut off")
def _(p):
    cut(p.file("model.gguf"), -100000)


@row("gguf", "empty")
def _(p):
    cut(p.file("model.gguf"), 0)


@row("gguf", "a megabyte behind the end")
def _(p):
    p.gguf(lambda g: setattr(g, "more", b"x" * (1 << 20)))


@row("gguf", "a count of tensors too small")
def _(p):
    p.gguf(lambda g: setattr(g, "count", len(g.tensors) - 1))


@row("gguf", "a count of tensors of 0")
def _(p):
    p.gguf(lambda g: setattr(g, "count", 0))


@row("gguf", "a count of tensors too large")
def _(p):
    p.gguf(lambda g: setattr(g, "count", len(g.tensors) + 1))


@row("gguf", "a count of keys too small")
def _(p):
    p.gguf(lambda g: setattr(g, "key_count", len(g.keys) - 1))


@row("gguf", "a tensor missing")
def _(p):
    p.gguf(lambda g: g.tensors.remove(g.find("blk.2.ffn_down.weight")))


@row("gguf", "a tensor renamed")
def _(p):
    p.gguf(lambda g: g.find("blk.2.ffn_down.weight").__setitem__(0, "blk.2.ffn_dawn.weight"))


@row("gguf", "a tensor with its dimensions swapped")
def _(p):
    p.gguf(lambda g: g.find("blk.2.ffn_down.weight")[1].reverse())


def key(text, name, value=None):
    def change(g):
        if value is None:
            del g.keys[name]
        else:
            g.keys[name] = value
    row("gguf", text)(lambda p: p.gguf(change))


key("block_count too large", "llama.block_count", (U32, 6))
key("block_count too small", "llama.block_count", (U32, 3))
key("no block_count", "llama.block_count")
key("another embedding_length", "llama.embedding_length", (U32, 256))
key("another feed_forward_length", "llama.feed_forward_length", (U32, 512))
key("another head_count_kv", "llama.attention.head_count_kv", (U32, 1))
key("another vocab_size", "llama.vocab_size", (U32, 200))
key("no architecture", "general.architecture")
key("no tokens", "tokenizer.ggml.tokens")
key("no kind of tokenizer", "tokenizer.ggml.model")


@row("gguf", "fewer tokens than the embedding has rows")
def _(p):
    def change(g):
        kind, (elem, tokens) = g.keys["tokenizer.ggml.tokens"]
        g.keys["tokenizer.ggml.tokens"] = (kind, (elem, tokens[:-20]))
    p.gguf(change)


@row("gguf", "the chat template broken")
def _(p):
    def change(g):
        kind, text = g.keys["tokenizer.chat_template"]
        g.keys["tokenizer.chat_template"] = (kind, text[:-5])
    p.gguf(change)


# A GGUF file in a store, and in an image layout.

@row("store-gguf", "one bit of the weights flipped, the time kept")
def _(p):
    flip(p.layer_file("model"))


@row("store-gguf", "the model's layer dropped")
def _(p):
    p.manifest(lambda d: d["layers"].pop(0))


@row("store-gguf", "the model's layer of an unknown media type")
def _(p):
    p.manifest(lambda d: d["layers"][0].update(mediaType="application/x-unknown"))


@row("store-gguf", "the model's blob gone")
def _(p):
    os.remove(p.layer_file("model"))


@row("store-gguf", "the params layer with another blob")
def _(p):
    p.manifest(lambda d: d["layers"][1].update(p.add(b"temperature")))


@row("layout", "the manifest's blob gone")
def _(p):
    os.remove(p.blob_path(p.index()["digest"]))


@row("layout", "the manifest's blob cut in half")
def _(p):
    path = p.blob_path(p.index()["digest"])
    cut(path, os.path.getsize(path) // 2)


@row("layout", "the weights gone")
def _(p):
    os.remove(p.layer_file())


@row("layout", "one bit of the weights flipped, the time kept")
def _(p):
    flip(p.layer_file())


@row("layout", "the folder of blobs gone")
def _(p):
    shutil.rmtree(p.file("blobs"))


@row("layout", "index.json broken")
def _(p):
    cut(p.file("index.json"), -10)


# ---- the table ----

NAMES = {
    "store": "A store, a blob a tensor", "store-packed": "A store, quantized tensors",
    "store-experts": "A store, groups of experts", "store-gguf": "A store, a GGUF file",
    "plain": "A directory", "packed": "A directory, quantized tensors",
    "experts": "A directory, quantized experts", "shards": "A directory, shards",
    "gguf": "A GGUF file", "layout": "An image layout",
    "hub": "A cache of Hugging Face", "hub-copies": "A cache of Hugging Face without links",
}


def look(n, kind, text, fn, deep, before, without, notes):
    p, root = place(kind, n)
    options = ["--deep"] if deep else []
    if before:
        status, findings = verify(root, *options)
        if status != 0 or alarms(findings):
            failed.append(f"{text}: not whole before: {findings[:2]}")
    fn(p)
    status, findings = verify(root, *options)
    if os.environ.get("TBTUI_DAMAGE_SHOW"):
        print(f"{status} {text}")
        for f in findings:
            print(f"    {f['severity']} {f['code']}: {f['message']}"[:230])
    codes = sorted({f["code"] for f in findings
                    if f["severity"] != "note" or f["code"] in notes})
    failed.extend(f"{text}: {f['message']}" for f in findings if f["code"] in without)
    if not codes:
        failed.append(f"{text}: not found")
    subprocess.run(["chmod", "-R", "u+rwX", root], check=False)
    shutil.rmtree(root)
    return f"| {text}{' (`--deep`)' if deep else ''} | {' '.join(f'`{c}`' for c in codes)} | {status} |"


def table():
    head = """# What `verify` finds

Every kind of damage that is known, done to a small model, and the codes of the findings
that `tbtui verify` gives then, with its exit status.  This table is written by its test:
`make check TESTS=tests/cli/damage.sh` compares, and with `TBTUI_UPDATE=1` in the
environment writes.  The same models undamaged give no error and no warning.
"""
    out, n = [head], 0
    for kind, name in NAMES.items():
        out.append(f"\n## {name}\n\n| damage | found as | exit |\n|---|---|---|")
        for r in ROWS:
            if r[0] == kind:
                n += 1
                out.append(look(n, *r))
    out.append(f"\n{n} kinds of damage, {n - sum('not found' in f for f in failed)} found.\n")
    return "\n".join(out)


def check_many():
    """A header can name more that lacks than anybody reads: some are told, the rest counted."""
    for form, names in (("F32", "x%d.weight.scale"), ("U32", "model.layers.%d.x.weight")):
        p, root = place("plain", form)
        extra = {names % i: (form, [1, 1], bytes(4)) for i in range(30000)}
        write(p.path + "/model.safetensors",
              st_bytes({**st_load(p.path + "/model.safetensors")[0], **extra}))
        start = time.monotonic()
        status, findings = verify(root)
        took = time.monotonic() - start
        about = [f for f in findings if f["code"] == "incomplete"]
        if status != 1 or len(about) != 65 or "29936 more" not in str(about) or took > 30:
            failed.append(f"30,000 parts of {names}: {status}, {len(about)} findings, {took:.0f} s")
        shutil.rmtree(root)


def check_sums():
    """Whose sums lie beside it is hashed at the first look, in whatever way they are written."""
    ways = (("SHA256SUMS", "{}  {}\n", "# sums\n\n"), ("sha256sums.txt", "{} *{}\r\n", ""),
            ("x.sha256", "SHA256 ({1}) = {0}\n", "MD5 (model.safetensors) = " + "0" * 32 + "\n"),
            ("Sha256Sum", "{0}  ./{1}\n", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n"))
    for n, (name, line, before) in enumerate(ways):
        p, root = place("plain", f"sums{n}")
        odd = {"a\nb.json": "a\\nb.json", "c\\d.json": "c\\\\d.json"} if n == 0 else {}
        for other in odd:
            write(p.file(other), b"{}")
        text = before
        for f in sorted(os.listdir(p.path)):
            digest = hashlib.sha256(read(p.file(f))).hexdigest()
            text += "\\" * (f in odd) + line.format(digest, odd.get(f, f))
        write(p.file(name), text)
        r = subprocess.run([TBTUI, "--db", f"{root}.db", "-s", root, "verify"], capture_output=True,
                           check=False)
        # a list that is called .txt is one of the model's files, and nobody says its digest
        want = b"models: 1 structure" if name.endswith(".txt") else b"models: 1 hashed"
        if r.returncode != 0 or want not in r.stdout:
            failed.append(f"sums as {line!r}: {r.returncode} {r.stdout.decode()}")
        shutil.rmtree(root)


def check_unchecked():
    """What could not be looked at has no state, and is not called fine."""
    p, root = place("layout", "unchecked")
    p.manifest(lambda d: d["layers"][0].update(digest="sha512:" + "ab" * 64))
    r = subprocess.run([TBTUI, "--db", f"{root}.db", "-s", root, "--json", "verify"],
                       capture_output=True, check=False)
    doc = json.loads(r.stdout)
    states = [m["state"] for m in doc["models"]]
    if r.returncode != 2 or doc["clean"] or states != ["never"]:
        failed.append(f"a digest of sha512: {r.returncode} {doc['clean']} {states}")
    shutil.rmtree(root)


check_many()
check_sums()
check_unchecked()
for whole in sorted(os.listdir(WHOLE)):
    check_whole(WHOLE + whole)
    check_whole(WHOLE + whole, "--deep")
shared = os.environ.get("TBTUI_SHARED")
if shared and os.path.isdir(shared + "/data/models"):
    os.symlink(shared + "/data/models", WORK + "/models")
    check_whole(WORK + "/models")
    check_whole(WORK + "/models", "--deep")
text = table()
if os.environ.get("TBTUI_UPDATE"):
    write(TABLE, text)
elif read(TABLE).decode() != text:
    want, got = read(TABLE).decode().splitlines(), text.splitlines()
    failed += [f"no longer: {line}" for line in want if line not in got]
    failed += [f"instead: {line}" for line in got if line not in want]
for f in failed:
    print("FAIL:", f)
sys.exit(1 if failed else 0)
