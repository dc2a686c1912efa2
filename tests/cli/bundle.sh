# Models travel as one archive: it says itself what is in it, any tar unpacks it, what is
# damaged is named, and only what is whole becomes a model again.
. "${srcdir:-.}/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
TBTUI_NOW=1750000000
export TBTUI_NOW

# A store with two models of one blob more than they share, and a folder.
S=$T/one
mkdir -p "$T/hf" "$S"
st model.layers.0.mlp.up_proj.weight 8 8 1 >"$T/hf/model.safetensors"
echo '{"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":1}' \
	>"$T/hf/config.json"
echo '{"a":1}' >"$T/hf/tokenizer_config.json"
expect 0 "$TBTUI" -s "$S" import "$T/hf" small
expect 0 "$TBTUI" -s "$S" cp small other/again:v2
blobs=$(ls "$S/blobs" | grep -c '^sha256-')

expect 0 "$TBTUI" -s "$S" export small other/again:v2 "$T/hf" "$T/b.tar"
has "3 models in $((blobs + 5)) files"
expect 0 "$TBTUI" bundle list "$T/b.tar"
has '^small:latest  ollama-tensors  '
has '^hf  safetensors-dir  '
expect 0 "$TBTUI" bundle verify "$T/b.tar"
has "all $((blobs + 5)) files"
expect 0 "$TBTUI" --json bundle verify "$T/b.tar"
has '"ok":true'
[ ! -e "$T/c.tar" ] || fail "c.tar"

# Any tar unpacks it, sha256sum checks it, and what comes out is a store.
mkdir "$T/un"
tar xf "$T/b.tar" -C "$T/un" || fail "tar does not read it"
(cd "$T/un" && sha256sum --quiet -c tbtui-bundle.sha256) || fail "sums"
expect 0 "$TBTUI" -s "$T/un" show small:latest
for f in config.json model.safetensors tokenizer_config.json; do
	cmp "$T/hf/$f" "$T/un/files/hf/$f" || fail "$f"
done

# Through pipes, and the same bytes at the same time of day.
"$TBTUI" -s "$S" export small other/again:v2 "$T/hf" - >"$T/c.tar" || fail "to a pipe"
cmp "$T/b.tar" "$T/c.tar" || fail "a pipe gets other bytes"
"$TBTUI" bundle verify - <"$T/c.tar" >"$T/out.txt" || fail "from a pipe"
expect 2 "$TBTUI" -s "$S" export small "$T/c.tar"
err_has 'exists already|--yes'
expect 0 "$TBTUI" -s "$S" export -f small "$T/c.tar"

# A second store: manifests and blobs as they were.
mkdir "$T/two"
cat "$T/b.tar" | "$TBTUI" -s "$T/two" import - >"$T/out.txt" 2>"$T/err" || fail "import: $(cat "$T/err")"
for m in library/small/latest other/again/v2; do
	cmp "$S/manifests/registry.ollama.ai/$m" "$T/two/manifests/registry.ollama.ai/$m" ||
		fail "manifest $m"
done
expect 0 "$TBTUI" -s "$T/two" show hf
for f in "$S"/blobs/sha256-*; do
	cmp "$f" "$T/two/blobs/$(basename "$f")" || fail "$f"
done
[ -z "$(ls -A "$T/two" | grep tmp)" ] || fail "something is left: $(ls -A "$T/two")"
expect 2 "$TBTUI" -s "$T/two" import "$T/b.tar"
err_has 'small:latest: exists already'
expect 0 "$TBTUI" -s "$T/two" import -f "$T/b.tar"
# One of them, by another name; a folder as a folder.
expect 0 "$TBTUI" -s "$T/two" import "$T/c.tar" third:x
has '^third:x in '
expect 2 "$TBTUI" -s "$T/two" import "$T/b.tar" third:y
err_has 'holds 3 models'
expect 0 "$TBTUI" export "$T/hf" "$T/d.tar"
expect 0 "$TBTUI" import "$T/d.tar" "$T/dir/"
for f in config.json model.safetensors tokenizer_config.json; do
	cmp "$T/hf/$f" "$T/dir/$f" || fail "$f in $T/dir"
done
expect 2 "$TBTUI" import "$T/d.tar" "$T/dir/"
err_has 'exists already'
expect 2 "$TBTUI" import "$T/c.tar" "$T/dir2/"
err_has 'is a model of a store'
[ ! -e "$T/dir2" ] || fail "dir2"

# flip FILE OFFSET: a byte becomes another.
flip() {
	byte=$(dd if="$1" bs=1 skip="$2" count=1 2>/dev/null | od -An -tu1 | tr -d ' ')
	printf "\\$(printf %03o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# A byte of each block is another: it is seen, by its member, and nothing comes in.
size=$(($(wc -c <"$T/c.tar")))
at=0
while [ "$at" -lt "$size" ]; do
	cp "$T/c.tar" "$T/bad.tar"
	flip "$T/bad.tar" "$at"
	"$TBTUI" bundle verify "$T/bad.tar" >"$T/out" 2>"$T/err" && fail "byte $at: not seen"
	[ -s "$T/out" ] || [ -s "$T/err" ] || fail "byte $at: nothing said"
	at=$((at + 509))
done
blob=$(tar tf "$T/c.tar" | grep blobs/ | head -1)
where=$(LC_ALL=C grep -abo "$blob" "$T/c.tar" | tail -n +2 | head -1 | cut -d: -f1)
cp "$T/c.tar" "$T/bad.tar"
flip "$T/bad.tar" $((where + 512))
expect 1 "$TBTUI" bundle verify "$T/bad.tar"
has "^$blob: its bytes are damaged"
has 'damaged; [0-9]+ of [0-9]+ files are as they should be'
cp "$T/c.tar" "$T/head.tar"
flip "$T/head.tar" $((where + 130))
expect 1 "$TBTUI" bundle verify "$T/head.tar"
has "^$blob: its header is damaged"
[ "$(wc -l <"$T/out")" -eq 2 ] || fail "more than one member is said to be damaged"
mkdir "$T/three"
expect 2 "$TBTUI" -s "$T/three" import "$T/bad.tar"
err_has "$blob: its bytes are damaged"
# Cut anywhere: the member is named, and nothing is left of it.
for part in 3 5 7 9; do
	head -c $((size * part / 10)) "$T/c.tar" >"$T/cut.tar"
	expect 1 "$TBTUI" bundle verify "$T/cut.tar"
	has ': the bundle is cut'
	expect 2 "$TBTUI" -s "$T/three" import "$T/cut.tar"
	err_has 'the bundle is cut'
done
[ -z "$(find "$T/three" -type f)" ] || fail "left: $(find "$T/three" -type f)"

# What no bundle has: links, paths, doubles, sizes that lie, members nobody listed.
command -v python3 >/dev/null || exit 0
cat >"$T/forge.py" <<'PY'
import hashlib, io, json, sys, tarfile

src, out, how = sys.argv[1:4]
with tarfile.open(src) as t:
    members = [(m.name, t.extractfile(m).read()) for m in t]
doc = json.loads(members[0][1])
data = dict(members[1:-1])
blob = next(m for m in doc["members"] if m["path"].startswith("blobs/"))
def sha(b):
    return hashlib.sha256(b).hexdigest()
def entry(path, b):
    doc["members"].append({"path": path, "size": len(b), "sha256": sha(b)})
    doc["members"].sort(key=lambda m: m["path"])
    data[path] = b
infos = {}
if how == "up":
    entry("files/../x/evil", b"x")
elif how == "abs":
    entry("/tmp/evil", b"x")
elif how == "hidden":
    entry("files/a/.profile", b"x")
elif how == "deep":
    entry("files/a/b/c", b"x")
elif how == "lies":
    blob["size"] += 1
elif how == "huge":
    blob["size"] = 1 << 52
elif how == "twice":
    doc["members"].insert(0, dict(doc["members"][0]))
elif how == "othername":
    blob["path"] = "blobs/sha256-" + "0" * 64
elif how == "unlisted":
    data["files/a/extra"] = b"x"
elif how == "link":
    infos[blob["path"]] = tarfile.SYMTYPE
elif how == "gone":
    doc["members"].remove(blob)
    del data[blob["path"]]
elif how == "version":
    doc["bundle"] = 2
text = json.dumps(doc).encode()
sums = sha(text) + "  tbtui-bundle.json\n" + "".join(f"{m['sha256']}  {m['path']}\n" for m in doc["members"])
with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as t:
    for name, b in [("tbtui-bundle.json", text), *sorted(data.items()), ("tbtui-bundle.sha256", sums.encode())]:
        i = tarfile.TarInfo(name)
        i.size = len(b)
        if name in infos:
            i.type, i.linkname, i.size = infos[name], "/etc/passwd", 0
        t.addfile(i, io.BytesIO(b))
PY
expect 0 python3 "$T/forge.py" "$T/c.tar" "$T/same.tar" same
expect 0 "$TBTUI" bundle verify "$T/same.tar"
for how in up abs hidden deep lies huge twice othername unlisted link gone version; do
	expect 0 python3 "$T/forge.py" "$T/c.tar" "$T/forged.tar" $how
	"$TBTUI" -s "$T/three" import "$T/forged.tar" >"$T/out" 2>"$T/err" && fail "$how: came in"
	grep -q forged.tar "$T/err" || grep -q free "$T/err" || fail "$how: $(cat "$T/err")"
	"$TBTUI" bundle verify "$T/forged.tar" >"$T/out" 2>"$T/err" && fail "$how: said to be right"
	[ -z "$(find "$T/three" -type f)" ] || fail "$how: left $(find "$T/three" -type f)"
done
expect 2 "$TBTUI" bundle verify "$T/hf/config.json"
err_has 'is no bundle'

# A damaged model does not leave.
for f in "$S"/blobs/sha256-*; do
	flip "$f" 20
	break
done
expect 2 "$TBTUI" -s "$S" export small "$T/e.tar"
[ ! -e "$T/e.tar" ] || fail "a damaged model was exported"
