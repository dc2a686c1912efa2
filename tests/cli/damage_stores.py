"""damage_stores.py - what can be wrong with a store beside the tensors in it: manifests,
links, indexes, lists of sums. Rows of damage.py."""
import hashlib
import json
import os
import shutil

from damage_make import MEDIA, read, write
from damage_rows import cut, flip, row

DOWN = "model.layers.2.mlp.down_proj.weight"

# ---- Ollama's manifests ----


def manifest(text, kind="store", **keys):
    row(kind, "the manifest: " + text)(lambda p: p.manifest(lambda d: d.update(**keys)))


manifest("schemaVersion 1", schemaVersion=1)
manifest("no schemaVersion", schemaVersion=None)
manifest("the media type of an index",
         mediaType="application/vnd.docker.distribution.manifest.list.v2+json")
manifest("no list of layers", layers={})


def layer(text, kind="store", **keys):
    row(kind, "a layer: " + text)(
        lambda p: p.manifest(lambda d: d["layers"][3].update(**keys)))


layer("a negative size", size=-1)
layer("a size of 1e300", size=1e300)
layer("a size of 2^53 - 1", size=2 ** 53 - 1)
layer("a word for its size", size="12")
layer("a digest of sha512", digest="sha512:" + "ab" * 64)
layer("a digest cut off", digest="sha256:abcdef")
layer("a digest with a path in it", digest="sha256:../../../../etc/passwd")
layer("no media type", mediaType=None)
layer("called a config", mediaType="application/vnd.docker.container.image.v1+json")


@row("store", "the manifest's config of another media type")
def _(p):
    p.manifest(lambda d: d["config"].update(mediaType=MEDIA + "params"))


@row("store", "a layer listed twice")
def _(p):
    p.manifest(lambda d: d["layers"].append(d["layers"][3]))


@row("store", "two system layers")
def _(p):
    p.manifest(lambda d: d["layers"].extend(
        {"mediaType": MEDIA + "system", **p.add(t)} for t in (b"Be short.", b"Be long.")))


@row("store", "the system layer is weights")
def _(p):
    p.manifest(lambda d: d["layers"].append(
        {"mediaType": MEDIA + "system", **p.add(read(p.layer_file(DOWN)))}))


@row("store", "the template layer is weights")
def _(p):
    p.manifest(lambda d: d["layers"].append(
        {"mediaType": MEDIA + "template", **p.add(bytes(64))}))


@row("store", "the messages layer is no JSON")
def _(p):
    p.manifest(lambda d: d["layers"].append({"mediaType": MEDIA + "messages", **p.add(b"[{]")}))


@row("store", "the messages layer is no list")
def _(p):
    p.manifest(lambda d: d["layers"].append({"mediaType": MEDIA + "messages", **p.add(b"{}")}))


def config_blob(p, change):
    """Another config with right digest and size."""
    doc = json.loads(read(p.manifest_path()))
    config = json.loads(read(p.blob_path(doc["config"]["digest"])))
    change(config, [l["digest"] for l in doc["layers"]])
    p.manifest(lambda d: d["config"].update(p.add(json.dumps(config).encode())))


@row("store", "the config's rootfs names a layer of another model")
def _(p):
    config_blob(p, lambda c, ids: c.update(
        rootfs={"type": "layers", "diff_ids": ids[:-1] + ["sha256:" + "0" * 64]}))


@row("store", "the config's rootfs names no digests")
def _(p):
    config_blob(p, lambda c, ids: c.update(rootfs={"type": "layers", "diff_ids": [7, "x"]}))


@row("store", "the config says that tensors are a GGUF file")
def _(p):
    config_blob(p, lambda c, _: c.update(model_format="gguf"))


@row("store-gguf", "the config says that a GGUF file is tensors")
def _(p):
    config_blob(p, lambda c, _: c.update(model_format="safetensors"))


@row("store-gguf", "two layers are models")
def _(p):
    other = read(p.layer_file("model")) + bytes(32)
    p.manifest(lambda d: d["layers"].append({"mediaType": MEDIA + "model", **p.add(other)}))


@row("store-gguf", "a layer is a model and another a tensor")
def _(p):
    head = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  '
    blob = len(head).to_bytes(8, "little") + head + bytes(4)
    p.manifest(lambda d: d["layers"].append({"mediaType": MEDIA + "tensor", "name": "a",
                                             **p.add(blob)}))


@row("store-gguf", "the model's layer is a safetensors file")
def _(p):
    head = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  '
    p.manifest(lambda d: d["layers"][0].update(
        p.add(len(head).to_bytes(8, "little") + head + bytes(4))))


def named(text, to):
    """The model's manifest at another place."""
    def change(p):
        path = p.manifest_path()
        write(os.path.join(os.path.dirname(path), to), read(path))
        os.remove(path)
    row("store-gguf", text, without=["orphan", "young"])(change)


named("a manifest under a name with a blank", "latest copy")
named("a manifest under a name with a tilde", "latest~")
named("a manifest beside its folder", "../stray")


# ---- Hugging Face's caches ----

SHARD = "model-00002-of-00003.safetensors"


@row("hub", "one bit of a large blob flipped, its time kept")
def _(p):
    flip(p.blob(SHARD))


@row("hub", "one bit of a small blob flipped, its time kept")
def _(p):
    flip(p.blob("tokenizer.json"))


@row("hub", "a large blob cut off")
def _(p):
    cut(p.blob(SHARD), -7)


@row("hub", "a large blob gone")
def _(p):
    os.remove(p.blob(SHARD))


@row("hub", "config.json's blob gone")
def _(p):
    os.remove(p.blob("config.json"))


@row("hub", "the folder of blobs gone")
def _(p):
    shutil.rmtree(p.repo("blobs"))


@row("hub", "a shard's link gone, though the index names it")
def _(p):
    os.remove(p.snapshot(SHARD))


@row("hub", "a link to a file of another repository")
def _(p):
    write(p.file("models--org--other/blobs/" + "c" * 64), b"x")
    os.remove(p.snapshot(SHARD))
    os.symlink("../../../models--org--other/blobs/" + "c" * 64, p.snapshot(SHARD))


@row("hub", "a link to another file's blob")
def _(p):
    os.remove(p.snapshot(SHARD))
    os.symlink(os.readlink(p.snapshot("config.json")), p.snapshot(SHARD))


@row("hub", "a blob with another one's bytes")
def _(p):
    write(p.blob(SHARD), read(p.blob("model-00001-of-00003.safetensors")))


@row("hub", "refs/main means a revision without a snapshot")
def _(p):
    write(p.repo("refs/main"), "c" * 40)


@row("hub", "refs/main is empty")
def _(p):
    write(p.repo("refs/main"), "")


@row("hub", "refs/pr/1 has a path in it")
def _(p):
    write(p.repo("refs/pr/1"), "../../..")


@row("hub", "a blob that nothing links to", notes=["orphan"])
def _(p):
    path = p.repo("blobs/" + "d" * 64)
    write(path, b"x")
    os.utime(path, (1e9, 1e9))


@row("hub", "a download that did not end", notes=["partial"])
def _(p):
    write(p.repo("blobs/" + "d" * 64 + ".incomplete"), b"x")


@row("hub-copies", "one bit of the weights flipped, the time kept", before=True)
def _(p):
    flip(p.snapshot("model.safetensors"))


@row("hub-copies", "the weights cut off")
def _(p):
    cut(p.snapshot("model.safetensors"), -7)


# ---- image layouts ----

@row("layout", "oci-layout is no JSON")
def _(p):
    write(p.file("oci-layout"), b"{")


@row("layout", "oci-layout is of version 2")
def _(p):
    write(p.file("oci-layout"), b'{"imageLayoutVersion":"2.0.0"}')


@row("layout", "oci-layout states no version")
def _(p):
    write(p.file("oci-layout"), b"{}")


def index(text, change, **options):
    row("layout", "index.json: " + text, **options)(
        lambda p: p.change(p.file("index.json"), change))


index("schemaVersion 1", lambda d: d.update(schemaVersion=1))
index("no list of manifests", lambda d: d.update(manifests={}))
index("another size of the manifest", lambda d: d["manifests"][0].update(size=7))
index("a size of the manifest that is none", lambda d: d["manifests"][0].update(size="7"))
index("a digest that is none", lambda d: d["manifests"][0].update(digest="sha256:xyz"))
index("a digest with a path in it",
      lambda d: d["manifests"][0].update(digest="sha256:../../../etc/passwd"))
index("a digest of sha512",
      lambda d: d["manifests"].append(dict(d["manifests"][0], digest="sha512:" + "ab" * 64)))


@row("layout", "the manifest: a layer with a digest of sha512")
def _(p):
    p.manifest(lambda d: d["layers"][0].update(digest="sha512:" + "ab" * 64))


@row("layout", "the manifest: another size of a layer")
def _(p):
    p.manifest(lambda d: d["layers"][0].update(size=7))


@row("layout", "the manifest: one bit flipped in a word, its time kept")
def _(p):
    path = p.blob_path(p.index()["digest"])
    flip(path, read(path).index(b"model.gguf") + 2)


@row("layout", "the config's blob gone")
def _(p):
    os.remove(p.blob_path(json.loads(read(p.blob_path(p.index()["digest"])))["config"]["digest"]))


@row("layout", "an index in the index with other bytes than its name says")
def _(p):
    path = p.blob_path(p.nest()["digest"])
    write(path, read(path).replace(b'"v1"', b'"v2"'))


@row("layout", "an index in the index gone")
def _(p):
    os.remove(p.blob_path(p.nest()["digest"]))


@row("layout", "an index in the index with another size")
def _(p):
    p.nest()
    p.change(p.file("index.json"), lambda d: d["manifests"][0].update(size=1))


@row("layout", "the manifest listed as an index, too")
def _(p):
    p.change(p.file("index.json"), lambda d: d["manifests"].append(dict(
        d["manifests"][0], mediaType="application/vnd.oci.image.index.v1+json")))


@row("layout", "a blob that nothing names", notes=["orphan"])
def _(p):
    path = p.blob_path(p.add(b"stray")["digest"])
    os.utime(path, (1e9, 1e9))


@row("layout", "a blob that nothing names, of a layout in a folder", notes=["orphan"])
def _(p):
    path = p.blob_path(p.add(b"stray")["digest"])
    os.utime(path, (1e9, 1e9))
    os.rename(p.path, p.path + ".away")
    os.makedirs(p.path)
    os.rename(p.path + ".away", p.path + "/inner")


# ---- lists of sums beside files ----

def sha256(path):
    return hashlib.sha256(read(path)).hexdigest()


def sums(p, name="SHA256SUMS", line="{}  {}\n", files=None):
    write(p.file(name), "".join(line.format(sha256(p.file(f)), f)
                                for f in files or sorted(os.listdir(p.path))))


@row("plain", "one bit of the weights flipped, SHA256SUMS beside them")
def _(p):
    sums(p)
    flip(p.file("model.safetensors"))


@row("plain", "generation_config.json changed, sums as BSD writes them beside it")
def _(p):
    sums(p, "checksums.txt", "SHA256 ({1}) = {0}\n")
    write(p.file("generation_config.json"), b"{}")


@row("plain", "one bit of the weights flipped, FILE.sha256 beside them")
def _(p):
    sums(p, "model.safetensors.sha256", "{}", ["model.safetensors"])
    flip(p.file("model.safetensors"))


@row("plain", "one bit of the weights flipped after a download that kept its ETag")
def _(p):
    path = p.file("model.safetensors")
    write(p.file(".cache/huggingface/download/model.safetensors.metadata"),
          f"{'e' * 40}\n{sha256(path)}\n{os.path.getmtime(path) + 5}\n")
    flip(path)


@row("plain", "a list of sums that is none")
def _(p):
    write(p.file("SHA256SUMS"), b"see the web page\n")


@row("plain", "a list of sums with a line cut off")
def _(p):
    sums(p)
    write(p.file("SHA256SUMS"), read(p.file("SHA256SUMS"))[:-40])


@row("plain", "a list of sums that is empty")
def _(p):
    write(p.file("model.safetensors.sha256"), b"")


@row("plain", "a list of sums that is no text")
def _(p):
    write(p.file("SHA256SUMS"), bytes(100))


@row("plain", "two lists of sums that differ")
def _(p):
    sums(p)
    write(p.file("model.safetensors.sha256"), "a" * 64)


@row("plain", "a list of sums names a file that is not here", notes=["sums_other"])
def _(p):
    write(p.file("SHA256SUMS"), "a" * 64 + "  other.safetensors\n")


@row("plain", "a list of sums names files elsewhere", notes=["sums_other"])
def _(p):
    write(p.file("SHA256SUMS"), "".join("a" * 64 + f"  {n}\n" for n in (
        "/etc/passwd", "../../../etc/passwd", "x/../../y")))


@row("gguf", "one bit of the weights flipped, FILE.sha256 beside it")
def _(p):
    sums(p, "model.gguf.sha256", "{} *{}\r\n", ["model.gguf"])
    flip(p.file("model.gguf"))


@row("gguf", "one bit of the weights flipped, openssl's sums beside it")
def _(p):
    sums(p, "checksum.sha256", "SHA2-256({1})= {0}\n", ["model.gguf"])
    flip(p.file("model.gguf"))
