#!/bin/sh
# pull of what others keep in registries: lists of images, images that are no models, large blobs, and
# manifests that cannot be right.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry
registry_start A
S=$T/store
mkdir -p "$S/blobs" "$S/manifests"
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }

# Blobs of random bytes, models of them, and lists of these.
cat >"$T/fill.py" <<'PY'
import hashlib, json, os, platform, sys
sys.path.insert(0, sys.argv[1])
from put import Registry
r, out = Registry(sys.argv[2]), sys.argv[3]
OCI, DOCKER = "application/vnd.oci.image.", "application/vnd.docker.distribution.manifest."
GGUF, CONFIG = "application/vnd.ollama.image.model", "application/vnd.docker.container.image.v1+json"

def blob(repo, data, kind):
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    with open(out, "wb") as f:
        f.write(data)
    r.put_blob(repo, digest, out)
    return {"mediaType": kind, "digest": digest, "size": len(data)}

def put(repo, tag, doc, kind):
    text = json.dumps(doc).encode()
    status, _, said = r.ask("PUT", "/v2/%s/manifests/%s" % (repo, tag), text, Content_Type=kind)
    assert status == 201, (tag, status, said)
    return {"mediaType": kind, "digest": "sha256:" + hashlib.sha256(text).hexdigest(), "size": len(text)}

def model(repo, tag, data, layer=GGUF, **more):
    doc = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
           "config": blob(repo, b"{}", CONFIG), "layers": [blob(repo, data, layer)]}
    doc.update(more)
    return put(repo, tag, doc, OCI + "manifest.v1+json")

def index(tag, *images):
    put("ns/m", tag, {"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                      "manifests": [dict(m, platform={"os": o, "architecture": a}) for m, o, a in images]},
        OCI + "index.v1+json")

own = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
ours, theirs, note = (model("ns/m", t, os.urandom(1000 + i)) for i, t in enumerate(("a", "b", "c")))
index("several", (theirs, "linux", "mips"), (ours, "linux", own), (note, "unknown", "unknown"))
index("one", (theirs, "darwin", "mips"), (note, "unknown", "unknown"))
index("others", (theirs, "linux", "mips"), (ours, "darwin", own))
put("ns/m", "lists", {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [
    put("ns/m", "several2", json.loads(r.ask("GET", "/v2/ns/m/manifests/several",
        Accept=OCI + "index.v1+json")[2]), OCI + "index.v1+json")]}, OCI + "index.v1+json")
model("ns/m", "image", os.urandom(500), OCI + "layer.v1.tar+gzip")
big = os.urandom(1 << 20) * 50
model("ns/m", "big", big)
empty = model("ns/m", "empty", b"")
twice = blob("ns/m", os.urandom(700), GGUF)
doc = {"schemaVersion": 2, "mediaType": DOCKER + "v2+json", "config": blob("ns/m", b"{}", CONFIG),
       "layers": [twice, twice]}
put("ns/m", "twice", doc, DOCKER + "v2+json")
doc["layers"] = [twice, dict(twice, size=701)]
put("ns/m", "sizes", doc, DOCKER + "v2+json")
doc["layers"] = [dict(twice, size=701)]
put("ns/m", "longer", doc, DOCKER + "v2+json")
doc["layers"] = [dict(twice, size=699)]
put("ns/m", "shorter", doc, DOCKER + "v2+json")
print(ours["digest"], theirs["digest"])
PY
python3 "$T/fill.py" "$NET_SRC" "$A_URL" "$T/blob" >"$T/digests" || fail "cannot fill the registry"
read -r ours theirs <"$T/digests"

# ---- the one for this machine, or the only one ----
expect 0 tb pull "http://$A/ns/m:several" --json
has "\"name\":\"$A/ns/m:several\".*\"digest\":\"$ours\""
expect 0 tb pull "http://$A/ns/m:one" --json
has "\"digest\":\"$theirs\""
expect 2 tb pull "http://$A/ns/m:others"
err_has "ns/m:others: is a list of several: @$(echo "$theirs" | cut -c1-19)… \\(linux/mips\\), .*ask for one by its digest"
[ ! -e "$S/manifests/$A/ns/m/others" ] || fail "one of several was chosen"
expect 0 tb pull "http://$A/ns/m@$theirs" chosen
expect 2 tb pull "http://$A/ns/m:lists"
err_has 'ns/m:lists: (a list of lists|is a list of several)'
expect 2 tb pull "http://$A/ns/m:image"
err_has 'is no model: its layers are application/vnd.oci.image.layer'

# ---- in parts, side by side ----
server_start P proxy.py "$A_URL"
expect 0 tb pull "http://$P/ns/m:big" big --json
has '"bytes_loaded":52428800,"bytes_moved":52428800'
b=$(ls -S "$S"/blobs/* | head -1)
[ "$(basename "$b")" = "sha256-$(sha256sum "$b" | cut -d' ' -f1)" ] || fail "parts in a wrong order"
grep -qi '"range"' "$P_LOG" || fail "no parts were asked for"

# ---- nothing, the same twice, and what has two sizes ----
expect 0 tb pull "http://$A/ns/m:empty"
expect 0 tb pull "http://$A/ns/m:twice" --json
has '"blobs":2,"bytes":702'
expect 2 tb pull "http://$A/ns/m:sizes"
err_has 'has two sizes in its manifest, 700 and 701'
rm "$S"/blobs/*
for tag in longer shorter; do
	expect 2 tb pull "http://$A/ns/m:$tag"
	err_has 'it has 700 bytes there, not the (701|699) of its manifest'
	[ ! -e "$S/manifests/$A/ns/m/$tag" ] || fail "a model of other sizes"
done
[ "$(ls "$S/blobs" | wc -l)" = 0 ] || fail "half a model is in the store"
