"""A layout with all that belongs to an image: copy_images.py LAYOUT

An index "multi" of two images; a signature whose subject it is, and an attestation of that; a
signature under cosign's tag of one of the images.  Prints "WHAT DIGEST" lines.
"""
import hashlib
import json
import os
import sys

layout = sys.argv[1]
blobs = os.path.join(layout, "blobs", "sha256")
os.makedirs(blobs)
INDEX = "application/vnd.oci.image.index.v1+json"
IMAGE = "application/vnd.oci.image.manifest.v1+json"


def keep(data, kind, **more):
    digest = hashlib.sha256(data).hexdigest()
    with open(os.path.join(blobs, digest), "wb") as f:
        f.write(data)
    return dict({"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}, **more)


def document(kind, **doc):
    return keep(json.dumps(dict({"schemaVersion": 2, "mediaType": kind}, **doc)).encode(), kind)


def image(config, layer, **more):
    return document(IMAGE, config=keep(config, "application/vnd.oci.image.config.v1+json"),
                    layers=[keep(layer, "application/vnd.oci.image.layer.v1.tar")], **more)


def artifact(kind, payload, **more):
    return document(IMAGE, artifactType=kind, config=keep(b"{}", "application/vnd.oci.empty.v1+json"),
                    layers=[keep(payload, "application/octet-stream")], **more)


def bare(d):
    return {k: d[k] for k in ("mediaType", "digest", "size")}


amd = image(b'{"architecture":"amd64","os":"linux"}', b"amd" * 70000)
arm = image(b'{"architecture":"arm64","os":"linux"}', b"arm" * 50000)
multi = document(INDEX, manifests=[dict(amd, platform={"architecture": "amd64", "os": "linux"}),
                                   dict(arm, platform={"architecture": "arm64", "os": "linux"})])
signature = artifact("application/vnd.example.signature", b"signed", subject=bare(multi),
                     annotations={"org.example.signer": "me"})
witness = artifact("application/vnd.example.attestation", b"seen", subject=bare(signature))
cosign = image(b"{}", b"cosigned")
named = "org.opencontainers.image.ref.name"
tag = amd["digest"].replace(":", "-") + ".sig"
with open(os.path.join(layout, "index.json"), "w") as f:
    json.dump({"schemaVersion": 2, "manifests": [
        dict(multi, annotations={named: "multi"}), signature, witness,
        dict(cosign, annotations={named: tag})]}, f)
with open(os.path.join(layout, "oci-layout"), "w") as f:
    f.write('{"imageLayoutVersion":"1.0.0"}')
for name, d in (("multi", multi), ("amd", amd), ("arm", arm), ("signature", signature),
                ("witness", witness), ("cosign", cosign)):
    print(name, d["digest"])
