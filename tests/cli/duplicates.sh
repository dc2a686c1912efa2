# What is on the disk more than once: over two Ollama stores, a folder, GGUF files with a
# hard link, a Hugging Face cache with its links; and whose a file or digest is.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
S=$TBTUI_SHARED/data/models/stories260K
TBTUI_DB=$T/index.db
export TBTUI_DB
for s in one two; do
	mkdir -p "$T/$s/blobs" "$T/$s/manifests"
done
mkdir "$T/dirs" "$T/gguf"
cp -r "$S/hf-f32" "$T/dirs/hf"
cp "$S/stories260K-f32.gguf" "$T/gguf/a.gguf"
ln "$T/gguf/a.gguf" "$T/gguf/b.gguf"
expect 0 "$TBTUI" -s "$T/one" import "$S/hf-f32" tiny
expect 0 "$TBTUI" -s "$T/two" import "$S/hf-f32" other
tb() {
	"$TBTUI" -s "$T/one" -s "$T/two" -s "$T/dirs" -s "$T/gguf" "$@"
}
expect 0 tb scan

# Blobs are called by their content; a link is no copy; what is in folders is not known yet.
cat >"$T/files.py" <<'PY'
import json, os, sys

got = json.load(open(sys.argv[1]))
spare = 0
for g in got["duplicates"]:
    places = {}
    for p in g["places"]:
        s = os.stat(p["path"])
        assert s.st_size == g["size"]
        assert p["link"] == ((s.st_dev, s.st_ino) in places), p
        places[s.st_dev, s.st_ino] = open(p["path"], "rb").read()
    assert len(places) == g["copies"] > 1
    assert len(set(places.values())) == 1, g["digest"]
    spare += g["size"] * (g["copies"] - 1)
assert spare == got["spare"]
order = [g["size"] * (g["copies"] - 1) for g in got["duplicates"]]
assert order == sorted(order, reverse=True)
paths = " ".join(p["path"] for g in got["duplicates"] for p in g["places"])
for word in sys.argv[3:]:
    assert (word in paths), word
assert len(got["duplicates"]) == int(sys.argv[2]), len(got["duplicates"])
PY
expect 0 tb --json blobs --duplicates
n=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["duplicates"]))' "$T/out")
[ "$n" -gt 47 ] || fail "only $n of two stores' blobs"
python3 "$T/files.py" "$T/out" "$n" /one/ /two/ || fail "other duplicates than there are"
expect 0 tb blobs --duplicates
has '^[0-9.]+ [kM]?B  sha256:[0-9a-f]{64}  2 copies$'
has_not 'gguf/'
cp "$T/gguf/a.gguf" "$T/gguf/c.gguf"
expect 0 tb scan
expect 0 tb blobs --duplicates
err_has 'as large as another one were never hashed: "tbtui verify" finds out'

# Hashed files count, as long as they are what they were.
expect 0 tb verify --deep
expect 0 tb blobs --duplicates
has '^1\.1 MB  sha256:[0-9a-f]{64}  2 copies$'
has "^    $T/gguf/a\.gguf$"
has "^  = $T/gguf/b\.gguf$"
has "^    $T/gguf/c\.gguf$"
[ -s "$T/err" ] && fail "something is still not known: $(cat "$T/err")"
expect 0 tb whose "$T/gguf/b.gguf"
has 'gguf/a\.gguf$'
has 'gguf/c\.gguf$'
cp "$T/gguf/a.gguf" "$T/elsewhere"
expect 0 tb whose "$T/elsewhere"
has 'gguf/c\.gguf$'
expect 0 tb whose "$(sha256sum "$T/elsewhere" | cut -c1-16)"
has 'gguf/c\.gguf$'
printf x >>"$T/gguf/c.gguf"
expect 0 tb scan
expect 0 tb blobs --duplicates
has_not 'gguf/'
expect 0 "$TBTUI" -s "$T/one" blobs --duplicates
has '^0 files more than once on the disk, 0 B beyond one copy of each$'

# A cache whose snapshots are links: each of its blobs is one file.
cache=$T/hub/models--a--b
mkdir -p "$cache/blobs" "$cache/refs" "$cache/snapshots/abc"
for f in config.json model.safetensors; do
	sum=$(sha256sum "$S/hf-f32/$f" | cut -c1-64)
	cp "$S/hf-f32/$f" "$cache/blobs/$sum"
	ln -s "../../blobs/$sum" "$cache/snapshots/abc/$f"
done
printf abc >"$cache/refs/main"
expect 0 "$TBTUI" -s "$T/hub" -s "$T/dirs" scan
expect 0 "$TBTUI" -s "$T/hub" whose "$cache/snapshots/abc/model.safetensors"
expect 0 "$TBTUI" -s "$T/hub" whose "$cache/blobs/$sum"
expect 0 "$TBTUI" -s "$T/hub" -s "$T/dirs" verify --deep
expect 0 "$TBTUI" -s "$T/hub" -s "$T/dirs" blobs --duplicates
has "^    $T/dirs/hf/model\.safetensors$"
expect 0 "$TBTUI" -s "$T/hub" blobs --duplicates
has '^0 files'

# Tensors, by the sums that verify has kept of pieces of files ...
expect 0 "$TBTUI" -s "$T/dirs" -s "$T/gguf" --db "$T/fresh.db" scan
expect 0 "$TBTUI" -s "$T/dirs" -s "$T/gguf" --db "$T/fresh.db" tensors --duplicates
has '^0 tensors'
err_has 'sums or digests are kept'
rm "$T/gguf/c.gguf"
expect 0 tb scan
expect 0 tb verify
expect 0 tb --json tensors --duplicates
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))["duplicates"]
assert d and all(g["digest"].startswith("xxh3:") for g in d), d[:1]
up = [g for g in d if g["places"][0]["tensor"].endswith("layers.2.mlp.up_proj.weight")]
assert len(up) == 1 and up[0]["size"] == 44032 and up[0]["copies"] == 4, up
assert {p["model"] for p in up[0]["places"]} == {"tiny:latest", "other:latest", "hf", "a.gguf", "b.gguf"}
for g in d:
    data = set()
    assert len({p["path"] for p in g["places"]}) > 1' "$T/out" || fail "by sums"
expect 0 tb tensors --duplicates
has '^44\.0 kB  xxh3:[0-9a-f]{32}  [0-9] copies$'
err_has 'bytes were not compared'
# ... and by digests that are kept, which give their name to those that have only sums.
expect 0 tb tensors tiny --digests
expect 0 tb tensors other --digests
expect 0 tb tensors "$T/dirs/hf" --digests
expect 0 tb tensors "$T/gguf/a.gguf" --digests
expect 0 tb tensors --duplicates
has '^44\.0 kB  sha256:[0-9a-f]{64}  4 copies$'
has '^    a\.gguf  blk\.2\.ffn_up\.weight$'
has '^    tiny:latest  model\.layers\.2\.mlp\.up_proj\.weight$'
sum=$(sed -n 's/^44\.0 kB  \(sha256:[0-9a-f]*\).*/\1/p' "$T/out" | head -1)
expect 0 tb whose "$sum"
has "^tensor $sum$"
has '^  hf  model\.layers'
touch -d '2020-01-01' "$T/dirs/hf/model.safetensors"
expect 0 tb scan
expect 0 tb whose "$sum"
has_not '^  hf  model\.layers'
expect 0 tb --json tensors --duplicates
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))["duplicates"]
assert d and all(g["copies"] == 3 or g["copies"] == 2 for g in d)
assert not any(p["model"] == "hf" for g in d for p in g["places"])' "$T/out" || fail "JSON"

expect 2 tb tensors
err_has 'a REF, or --duplicates'
expect 2 tb tensors tiny --duplicates
expect 2 tb blobs --duplicates --orphans
