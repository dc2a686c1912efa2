"""damage_stores.py - what can be wrong with a store beside the tensors in it: manifests,
links, indexes, lists of sums. Rows of damage.py."""
import json
import os

from damage_make import MEDIA, read, write
from damage_rows import row

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
