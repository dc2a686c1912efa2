#!/bin/sh
# What rm, prune, cp and mv announce is what they do, and undo takes back.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
command -v python3 >/dev/null || skip "no python3"

# state: every file of the store but the quarantine: name, inode, time, bytes.
state() {
	(cd "$STORE" && find . -name .tbtui -prune -o -type f -printf '%p %i %T@ ' -exec sha256sum {} \;)
}
same() {
	state >"$T/now"
	cmp -s "$T/before" "$T/now" || { diff "$T/before" "$T/now" >&2; fail "the store is not as before: $1"; }
}
# json EXPRESSION: of the last output, as d.
json() {
	python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print($1)" "$T/out"
}
is() {
	[ "$(json "$1")" = "$2" ] || { cat "$T/out" >&2; fail "$1 is $(json "$1"), not $2"; }
}
later() {
	TBTUI_NOW=$(($(date +%s) + 2 * 86400))
	export TBTUI_NOW
}

model "$STORE" one latest 20
one=$MANIFEST own=$OWN
model "$STORE" two latest 40
two=$MANIFEST
run 0 scan
state | LC_ALL=C sort >/dev/null
state >"$T/before"

# A question without a terminal is an error, and a plan changes nothing.
run 2 rm one
err_has 'Take away one:latest .*--yes'
run 0 rm -n one
has 'remove .*one:latest'
has '1 model, 3 files: would go to the quarantine'
has 'left alone: 3 files, .*other models use it'
same "dry run"
[ ! -e "$STORE/.tbtui" ] || fail "a dry run made .tbtui"

# What the dry run says is what happens, and exactly that is free in the end.
run 0 rm -n --json one
cp "$T/out" "$T/plan"
size=$(($(wc -c <"$one") + 2 * $(wc -c <"$own")))
is 'd["bytes_freed"]' $size
is 'sum(a["bytes"] for a in d["actions"])' $size
is 'd["undo"]' None
run 0 rm -y --json one
is 'd["dry_run"]' False
is 'd["undo"]' 1
python3 - "$T/plan" "$T/out" <<'END' || fail "the plan is not what was done"
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
sys.exit(a["actions"] != b["actions"] or a["bytes_freed"] != b["bytes_freed"])
END
[ ! -e "$one" ] && [ ! -e "$own" ] && [ -e "$two" ] && [ -e "$COMMON" ] || fail "not as planned"
[ ! -e "$STORE/manifests/registry.ollama.ai/library/one" ] || fail "an empty folder is left"
held=$(find "$STORE/.tbtui/1" -type f ! -name 'journal.*' -printf '%s\n' | awk '{ s += $1 } END { print s }')
[ "$held" -eq $size ] || fail "$held bytes are held, $size were announced"
run 0 ls
has '^two:latest'
has_not 'one:latest'
run 0 verify
has_not 'orphan'
run 0 undo --list
has '^1 .* done .* rm one:latest '
run 0 undo --list --json
is 'd["operations"][0]["bytes"]' $size
run 0 undo
same "undo"
run 0 ls
has '^one:latest'
run 2 undo
err_has 'nothing to undo'

# A set: what only they share goes once, and is counted once.
run 0 rm -n --json 'o*' two
is 'len(d["actions"])' 9
is 'd["bytes_freed"]' "$(cat "$one" "$two" "$STORE"/blobs/* | wc -c)"
is 'd["left"]' '[]'
# A blob with another name frees nothing.
ln "$own" "$T/elsewhere"
run 0 rm -n --json one
is 'd["bytes_freed"]' $((size - $(wc -c <"$own")))
rm "$T/elsewhere"
run 1 rm 'x*'
run 2 rm nobody
run 2 rm -y "$own"
err_has 'is a blob'

# The name is taken when the model is to come back.
state >"$T/before"
run 0 rm -y one
mkdir -p "${one%/*}"
cp "$two" "$one"
run 2 undo 2
err_has 'one/latest: is there again'
rm "$one"
run 0 undo 2
same "undo after the name was free again"
run 2 undo 2
err_has 'no operation 2'

# What somebody has deleted from the quarantine does not come back, and that is told.
cp -a "$STORE" "$T/kept"
run 0 rm -y one
find "$STORE/.tbtui" -path '*/[0-9]*/1' -delete
run 0 undo
has '2 things are back in place'
has '^not back: 1 thing, 616 B: deleted from the quarantine'
rm -rf "$STORE"
mv "$T/kept" "$STORE"
# A copy may have made blobs after their manifests, which would make them look on their way.
find "$STORE/manifests" -type f -exec chmod u+r {} +
state >"$T/before"

# What lies behind a link stays, and so do the blobs of a model whose manifest does.
mv "$STORE/manifests" "$T/manifests"
ln -s "$T/manifests" "$STORE/manifests"
run 1 rm -n --json one
is 'd["actions"]' '[]'
run 1 rm -y one
run 1 mv one three
run 1 cp one three
rm "$STORE/manifests"
mv "$T/manifests" "$STORE/manifests"
run 2 undo
same "nothing that could not be taken"

# Blobs that a later operation took are missed before they are.
run 0 rm -y one
run 0 rm -y two
run 2 undo 3
err_has 'undo 4 first'
run 0 undo
run 0 undo
same "two undone"

# A name in two stores.
second=$T/second
cp -a "$STORE" "$second"
rm -rf "$second/.tbtui"
expect 2 "$TBTUI" --db "$T/i2.db" -s "$STORE" -s "$second" rm -y one
err_has 'two stores have one of that name'
expect 0 "$TBTUI" --db "$T/i2.db" -s "$STORE" -s "$second" rm -y "$one" "$second/${one#"$STORE"/}"
expect 0 "$TBTUI" --db "$T/i2.db" -s "$STORE" -s "$second" undo
[ -e "$second/${one#"$STORE"/}" ] || fail "only one store has it back"
same "undone in two stores"

# Operations of one number that have nothing to do with one another.
for s in "$STORE" "$second"; do
	expect 0 "$TBTUI" --db "$T/i2.db" -s "$s" undo --empty -y
	echo 100 >"$s/.tbtui/last"
	expect 0 "$TBTUI" --db "$T/i2.db" -s "$s" rm -y "$([ "$s" = "$STORE" ] && echo one || echo two)"
done
for n in '' 101; do
	expect 2 "$TBTUI" --db "$T/i2.db" -s "$STORE" -s "$second" undo $n
	err_has 'both have an operation 101, .*--store'
	[ ! -e "$one" ] || fail "one of two was undone"
done
run 0 undo
same "undone in its store"
expect 0 "$TBTUI" --db "$T/i2.db" -s "$STORE" -s "$second" undo 101

# What was taken away while the question stood there was not asked about.
run 0 rm -y two
cat >"$T/asked.py" <<'END'
import os, pty, subprocess, sys
tbtui, *other = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(tbtui, other[:5] + ["undo", "--empty"])
seen = b""
while b"1 operation " not in seen or not seen.rstrip().endswith(b"]"):
    seen += os.read(fd, 4096)
subprocess.run(other + ["-y"], check=True, stdout=subprocess.DEVNULL)
os.write(fd, b"y\n")
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
expect 0 timeout 60 python3 "$T/asked.py" "$TBTUI" "$TBTUI" --db "$T/index.db" -s "$STORE" rm one
run 0 undo --list --json
is '[o["what"] for o in d["operations"]]' "['rm one:latest']"
run 0 undo
cp -an "$second/blobs" "$second/manifests" "$STORE"
state >"$T/before"

# cp, tag, mv
run 0 cp one three:v1
cmp -s "$one" "${one%/one/*}/three/v1" || fail "the copy is not equal"
run 2 tag one three:v1
err_has 'exists already'
run 2 mv one two
err_has 'exists already'
run 2 mv one One
err_has 'is what it is called already'
run 2 cp one ../../x
run 0 mv three:v1 ns/four
[ ! -e "${one%/one/*}/three" ] && [ -e "$STORE/manifests/registry.ollama.ai/ns/four/latest" ] ||
	fail "not moved"
run 0 undo
[ -e "${one%/one/*}/three/v1" ] && [ ! -e "$STORE/manifests/registry.ollama.ai/ns" ] ||
	fail "not moved back"
run 0 undo
same "cp undone"
run 0 -y undo --empty
run 0 undo --list
has 'nothing to undo'

# prune: orphans, old partial downloads and empty folders; not what is young.
printf orphan >"$T/blob"
blob "$STORE"
orphan=$STORE/blobs/sha256-${DIGEST#sha256:}
partial=$STORE/blobs/sha256-$(printf x | sha256sum | cut -d' ' -f1)-partial
printf part >"$partial"
mkdir -p "$STORE/manifests/registry.ollama.ai/library/empty"
state >"$T/before"
run 0 prune -n
has 'nothing to prune'
has 'left alone: 2 files, .*download is under way'
later
run 0 prune -n --json
is 'sorted(a["action"] for a in d["actions"])' "['clear', 'remove', 'remove']"
is 'd["bytes_freed"]' 10
printf '{' >"${two%/*}/broken"
run 1 prune -n
has 'left alone: 1 file, 6 B: a manifest of its store cannot be read'
has 'two/broken'
rm "${two%/*}/broken"
mv "$STORE/blobs" "$T/blobs"
ln -s "$T/blobs" "$STORE/blobs"
run 0 prune -n
has 'its folder is a link'
rm "$STORE/blobs"
mv "$T/blobs" "$STORE/blobs"
run 2 prune
run 0 prune -y
[ ! -e "$orphan" ] && [ ! -e "$partial" ] && [ ! -e "${one%/one/*}/empty" ] || fail "not pruned"
[ -e "$COMMON" ] || fail "a blob that is used was pruned"
run 0 undo
same "prune undone"
run 0 prune -y
run 0 prune -y
has 'nothing to prune'

# The quarantine: by age, by number, asked each time.
run 2 undo --empty
err_has 'Delete for good'
run 0 undo --empty --older 30d -y
has 'nothing to empty'
run 0 undo --empty --dry-run
has '1 operation: 10 B would be free'
n=$(ls "$STORE/.tbtui" | grep -v last)
run 2 undo --empty -y 99
run 0 undo --empty -y "$n"
has '1 operation: 10 B are free'
[ "$(ls "$STORE/.tbtui")" = last ] || fail "the quarantine is not empty"

# A model that is named by a path is called by its name all the same.
run 0 rm -y "$one"
run 0 undo --list
has ' done .* rm one:latest '
run 0 undo

# An operation that was killed is gone back by the next one.
unset TBTUI_NOW
state >"$T/before"
run 0 rm -y one
n=$(ls "$STORE/.tbtui" | grep -v last)
mv "$STORE/.tbtui/$n/journal.done" "$STORE/.tbtui/$n/journal.begun"
run 0 undo -l
has ' unfinished '
run 0 scan
err_has "operation $n of .* was killed"
run 0 mv two five
run 0 undo
same "what was killed is back"
run 0 rm -y one
n=$(ls "$STORE/.tbtui" | grep -v last)
run 0 verify
err_has '1 operation in the quarantine holds .*undo --list'
mv "$STORE/.tbtui/$n/journal.done" "$STORE/.tbtui/$n/journal.begun"
run 0 undo "$n"
has '1 operation that was killed: dealt with'
same "what was killed is back at once"
run 0 scan
[ ! -s "$T/err" ] || fail "there is nothing to note"

# A store that cannot be read or held keeps no other as it is.
if command -v setpriv >/dev/null && [ "$(id -u)" = 0 ]; then
	alien=$T/alien
	printf orphan >"$T/blob"
	blob "$STORE"
	cp -a "$STORE" "$alien"
	chmod 755 "$T"
	chown -R 65534 "$STORE"
	chmod 700 "$alien/blobs"
	later
	for words in "prune -y" "undo"; do
		# shellcheck disable=SC2086
		expect $([ "$words" = undo ] && echo 0 || echo 1) setpriv --reuid 65534 --regid 65534 \
			--clear-groups "$TBTUI" --db "$T/nobody.db" -s "$alien" -s "$STORE" $words
	done
	expect 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$TBTUI" --db "$T/nobody.db" \
		-s "$alien" -s "$STORE" prune -y --json
	is 'len(d["actions"])' 1
	is '"alien/blobs" in d["unread"][0]' True
	# one that can be read, but not written: the other is done, and that is told
	run 0 undo
	chmod 755 "$alien/blobs"
	expect 2 setpriv --reuid 65534 --regid 65534 --clear-groups "$TBTUI" --db "$T/nobody.db" \
		-s "$alien" -s "$STORE" prune -y
	has '^1 file: moved 6 B'
	err_has 'done in part .*alien/.tbtui: Permission denied'
	# nor what is held
	expect 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$TBTUI" --db "$T/nobody.db" \
		-s "$alien" -s "$STORE" undo --list
	has 'unreadable .*alien'
	has ' done .* prune '
	expect 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$TBTUI" --db "$T/nobody.db" \
		-s "$alien" -s "$STORE" undo --empty -y
	has 'left alone: .*alien/.tbtui'
	has '1 operation: 6 B are free'
	rm -rf "$alien" "$STORE/blobs/sha256-${DIGEST#sha256:}"
	unset TBTUI_NOW
fi

# Folders and files.
STORE=$T/folder
mkdir -p "$STORE/sub/model"
st model.norm.weight 4 4 3 >"$STORE/sub/model/model.safetensors"
printf '{"architectures":["LlamaForCausalLM"]}' >"$STORE/sub/model/config.json"
state >"$T/before"
run 0 scan
run 0 rm -y sub/model
[ ! -e "$STORE/sub/model" ] || fail "the folder is there"
run 0 undo
same "a folder"
run 0 mv sub/model other
[ -e "$STORE/sub/other/config.json" ] || fail "not renamed"
run 2 mv sub/other ../x
run 0 undo
same "a folder's name"

# Two revisions of a Hugging Face model: a blob that both link to stays with the other.
hub=$T/hub
repo=$hub/models--org--name
sha() { printf '%s' "$1" | sha256sum | cut -d' ' -f1; }
mkdir -p "$repo/blobs" "$repo/refs"
for rev in a b; do
	st model.norm.weight 4 4 "$(printf %d "'$rev")" >"$repo/blobs/$(sha $rev)"
	printf '{"architectures":["LlamaForCausalLM"]}' >"$repo/blobs/$(sha both)"
	mkdir -p "$repo/snapshots/$rev$rev"
	ln -s "../../blobs/$(sha $rev)" "$repo/snapshots/$rev$rev/model.safetensors"
	ln -s "../../blobs/$(sha both)" "$repo/snapshots/$rev$rev/config.json"
done
printf aa >"$repo/refs/main"
printf left >"$repo/blobs/$(sha left)"
STORE=$hub
state >"$T/before"
run 0 rm -n --json hf:org/name
is 'sorted(a["path"].split("name/")[1].split("/")[0] for a in d["actions"])' "['blobs', 'refs', 'snapshots']"
is 'd["bytes_freed"]' $(($(wc -c <"$repo/blobs/$(sha a)") + 2))
run 0 rm -y hf:org/name
[ ! -e "$repo/snapshots/aa" ] && [ -e "$repo/snapshots/bb/config.json" ] && [ ! -e "$repo/refs/main" ] &&
	[ -e "$repo/blobs/$(sha left)" ] || fail "not that revision alone"
run 0 rm -n hf:org/name
has 'remove .*/models--org--name  *hf:org/name'
run 0 rm -y hf:org/name
[ ! -e "$repo" ] || fail "the last revision leaves something"
first=$(ls "$STORE/.tbtui" | grep -v last | sort -n | head -1)
run 2 undo "$first"
err_has "needs what operation $((first + 1)) took later"
[ ! -e "$repo" ] || fail "a revision is back without what it links to"
run 0 undo
run 0 undo
same "revisions"
[ -e "$repo/snapshots/aa/model.safetensors" ] || fail "a link does not lead there again"
run 0 prune -n
has 'left alone: 1 file, 4 B: younger'
later
run 0 prune -y
[ ! -e "$repo/blobs/$(sha left)" ] && [ -e "$repo/blobs/$(sha a)" ] || fail "not what nothing leads to"
run 0 undo
same "what nothing leads to"
printf part >"$repo/blobs/$(sha x).incomplete"
unset TBTUI_NOW
run 2 rm -y hf:org/name
err_has 'download is under way'

# A model in several files goes as one.
STORE=$T/files
mkdir -p "$STORE"
for i in 1 2; do
	printf 'GGUF\003\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$STORE/m-0000$i-of-00002.gguf"
done
printf keep >"$STORE/notes.txt"
state >"$T/before"
run 0 rm -y --json "$STORE/m-00001-of-00002.gguf"
is 'len(d["actions"])' 2
[ "$(ls "$STORE")" = notes.txt ] || fail "not both files, or too much"
run 0 undo
same "files"
run 0 rm -y "$STORE/m-00002-of-00002.gguf" "$STORE/m-00001-of-00002.gguf"
has '^1 model, 2 files: moved 48 B'
run 0 undo
same "files that were both named"
mkdir "$STORE/dir" "$STORE/dir-too"
for d in dir dir-too; do
	st model.norm.weight 4 4 3 >"$STORE/$d/model.safetensors"
	printf '{"architectures":["LlamaForCausalLM"]}' >"$STORE/$d/config.json"
done
state >"$T/before"
run 0 rm -n --json "$STORE/dir"
is 'd["actions"][0]["size"]' $(cat "$STORE"/dir/* | wc -c)
is 'd["actions"][0]["bytes"]' $(cat "$STORE"/dir/* | wc -c)
run 0 rm -y --json "$STORE/dir/model.safetensors" dir-too dir
is 'len(d["actions"])' 2
run 0 undo
same "a folder and what is in it"

# What lies in no store that is looked into comes back from where it is held.
mkdir "$T/away"
mv "$STORE/dir" "$T/away"
run 0 rm -y "$T/away/dir"
has "\"tbtui --store $T/away undo [0-9]*\" brings it back"
[ ! -e "$T/away/dir" ] || fail "the folder is there"
expect 0 "$TBTUI" --db "$T/i2.db" --store "$T/away" undo
mv "$T/away/dir" "$STORE"

# An OCI layout: its index is written anew, and the old one is in the quarantine.
STORE=$T/oci
L=$STORE/layout
mkdir -p "$L/blobs/sha256"
echo '{"imageLayoutVersion":"1.0.0"}' >"$L/oci-layout"
keep() {
	HASH=$(sha256sum <"$T/blob" | cut -d' ' -f1)
	mv "$T/blob" "$L/blobs/sha256/$HASH"
}
oci_image() {
	st w 4 4 "$2" >"$T/blob"
	keep
	WEIGHTS=$HASH
	printf '{}' >"$T/blob"
	keep
	printf '{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:%s","size":2},"layers":[{"mediaType":"application/vnd.ollama.image.tensor","digest":"sha256:%s","size":1}]}' "$HASH" "$WEIGHTS" >"$T/blob"
	keep
	printf '{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":1,"annotations":{"org.opencontainers.image.ref.name":"%s"}}' "$HASH" "$1"
}
a=$(oci_image a 1)
b=$(oci_image b 2)
printf '{"schemaVersion":2,"x":"kept","manifests":[%s,%s]}' "$a" "$b" >"$L/index.json"
state >"$T/before"
run 0 rm -n --json oci:layout:a
is 'sorted(a["action"] for a in d["actions"])' "['remove', 'remove', 'rewrite']"
run 0 rm -y oci:layout:a
[ "$(ls "$L/blobs/sha256" | wc -l)" -eq 3 ] || fail "not its blobs alone"
printf '{"schemaVersion":2,"x":"kept","manifests":[%s]}' "$b" | cmp -s - "$L/index.json" || fail "not the index without it"
run 0 rm -n oci:layout:b
run 2 rm -y oci:layout:a
run 0 undo
same "an image"
run 2 rm -y 'oci:layout:*'
err_has 'one model of a layout'

# What no image of a layout names goes with prune, is held in the layout, and comes back; not
# what is young, or where an index or manifest cannot be read.
echo 'nobody names this' >"$T/blob"
keep
orphan=$L/blobs/sha256/$HASH
state >"$T/before"
run 0 prune -y
has 'left alone: 1 file, 18 B: younger than an hour'
same "a young blob of a layout"
later
run 0 prune -n --json
is '[(a["action"], a["path"], a["blob"]) for a in d["actions"]]' "[('remove', '$orphan', 'sha256:$HASH')]"
cp "$L/index.json" "$T/index"
printf '{"manifests":' >"$L/index.json"
run 0 prune -y
has 'nothing to prune'
cp "$T/index" "$L/index.json"
state >"$T/before"
manifest=$L/blobs/sha256/$(sed -n 's/.*"digest":"sha256:\([0-9a-f]*\)".*/\1/p' "$L/index.json")
mv "$manifest" "$T/manifest"
run 0 prune -y
has 'nothing to prune'
mv "$T/manifest" "$manifest"
same "of which nobody knows what it names"
run 0 prune -y --json
is 'd["bytes_freed"]' 18
[ ! -e "$orphan" ] && [ -d "$L/.tbtui" ] || fail "not taken, or not held in its layout"
run 0 undo
same "a pruned layout"
unset TBTUI_NOW

# An index that lists itself, a thousand times, is not gone through a thousand times a thousand
# times: what it may name stays.
python3 - "$L" <<'END'
import hashlib, json, os, sys
top = sys.argv[1]
doc = json.load(open(top + "/index.json"))
def keep(names):
    text = json.dumps({"schemaVersion": 2, "manifests": names}).encode()
    digest = hashlib.sha256(text).hexdigest()
    open(top + "/blobs/sha256/" + digest, "wb").write(text)
    return {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": "sha256:" + digest,
            "size": len(text)}
below = doc["manifests"][1]
for i in range(4):
    below = keep([below] * 1000)
doc["manifests"][1] = below
json.dump(doc, open(top + "/index.json", "w"))
END
expect 0 timeout 60 "$TBTUI" --db "$T/index.db" -s "$STORE" rm -n oci:layout:a
has 'remove .*oci:layout:a'
has '^left alone: 1 file, 2 B: other models use it'

# Who verifies while models come and go sees no damage in what is gone.
STORE=$T/busy
for i in 1 2 3 4 5 6; do
	model "$STORE" "busy$i" latest $((i * 50))
done
(
	for i in 1 2 3 4 5 6 7 8; do
		"$TBTUI" --db "$T/none.db" -s "$STORE" -y rm 'busy[1-4]' >/dev/null 2>&1
		"$TBTUI" --db "$T/none.db" -s "$STORE" undo >/dev/null 2>&1
	done
	: >"$T/ended"
) &
rounds=0
while [ ! -e "$T/ended" ]; do
	"$TBTUI" --db "$T/busy.db" -s "$STORE" verify >"$T/out" 2>"$T/err" || {
		cat "$T/out" "$T/err" >&2
		fail "a false alarm, round $rounds"
	}
	rounds=$((rounds + 1))
done
wait

# A store that cannot be written, and a disk that is full.
if [ "$(id -u)" != 0 ]; then
	chmod a-w "$STORE"
	run 2 rm -y sub/model
	err_has '.tbtui: cannot be made'
	chmod u+w "$STORE"
	same "read-only"
fi
exit 0
