#!/bin/sh
# heal: what is damaged or missing comes from wherever it is, is looked at before it takes its
# place, and what was there can come back.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

GOOD=$T/good

# fresh: two models in a store, and a good copy of all of it elsewhere.
fresh() {
	rm -rf "$STORE" "$GOOD" "$T"/index.db* "$T"/audits.db*
	model "$STORE" one latest 100
	ONE=$OWN
	model "$STORE" two latest 200
	cp -a "$STORE" "$GOOD"
}
# state FOLDER...: all that is in them, with contents and times.
state() {
	find "$@" -name .tbtui -prune -o -type f -printf '%p %s %T@ ' -exec sha256sum {} \;
}
# same PATH: the file is what it is in the good copy.
same() {
	cmp "$1" "$GOOD${1#"$STORE"}" || fail "$1 is not healed"
}

mkdir -p "$STORE/blobs"
run 2 heal
run 2 --json heal

fresh
run 0 heal
has '^[0-9]+ files of 2 models looked at: nothing to heal$'
run 2 heal nobody
err_has nobody
run 2 heal --from "$T/nothing" one
err_has nothing

# Without a source: told, and nothing is done.
flip "$OWN" 300
state "$STORE" >"$T/before"
run 1 heal
has "^two:latest: sha256:${OWN##*sha256-} does not have the bytes that it should$"
has 'not healed: no source has its bytes, of [0-9]+ files and [0-9]+ models; "tbtui heal --from DIR" or --remote looks elsewhere$'
run 0 heal one
run 1 --json heal two
has '"actions":\[\],"bytes_freed":0,"undo":null,"undos":\[\],"unhealed":\[\{"action":"heal","model":"two:latest","blob":"sha256:[0-9a-f]+","path":".*","bytes":616,"wrong":"bytes","why":"no source'
state "$STORE" | cmp - "$T/before" || fail "it was changed"
[ ! -e "$STORE/.tbtui" ] || fail "a quarantine for nothing"

# What a dry run says is what happens: of a store, a folder, a file.
for from in "$GOOD" "$GOOD/blobs" "$GOOD/blobs/${OWN##*/}"; do
	fresh
	flip "$OWN" 300
	cp -p "$OWN" "$T/bad"
	state "$STORE" "$GOOD" >"$T/before"
	run 0 --json heal --dry-run --from "$from"
	sed 's/"dry_run":true/"dry_run":false/; s/"undo.*//' "$T/out" >"$T/plan"
	state "$STORE" "$GOOD" | cmp - "$T/before" || fail "a dry run has changed something"
	run 0 --json heal --from "$from"
	has '"dry_run":false,.*"undo":1,"undos":\[1\],"unhealed":\[\]'
	sed 's/"undo.*//' "$T/out" | cmp - "$T/plan" || fail "not what was announced"
	same "$OWN"
	cmp "$T/bad" "$STORE/.tbtui/1/0" || fail "the bad file is not kept"
	state "$GOOD" >"$T/after"
	grep -F "$GOOD/" "$T/before" | cmp - "$T/after" || fail "a source was changed"
	run 0 verify
	run 0 heal
	run 0 --json stores
	has '"quarantine":616,'
	run 0 stores
	has ' 616 B +-$'
done

# It can be undone, and done again; what had been missing is missing again then.
fresh
flip "$OWN" 300
rm "$ONE"
state "$STORE" >"$T/before"
run 0 heal --from "$GOOD"
run 0 undo --list
has ' heal '
run 0 --yes undo 1
state "$STORE" | cmp - "$T/before" || fail "undo does not bring back what was there"
run 1 verify
run 0 heal --from "$GOOD"
same "$OWN"
same "$ONE"
n=$(ls "$STORE/.tbtui" | grep -E '^[0-9]+$' | tail -1)
run 0 --yes undo --empty "$n"
run 0 verify

# Another store among those looked into; another model of the same store.
fresh
flip "$OWN" 300
expect 0 "$TBTUI" --db "$T/index.db" -s "$STORE" -s "$GOOD" heal
has ' from /.*/good/blobs/.* \(model\)$'
has '^healed 1 of 1$'
has 'tbtui undo 1'
same "$OWN"

# A blob that two models share, and that is missing, is one damage: of neither is more unknown.
fresh
rm "$COMMON"
run 0 heal --from "$GOOD"
same "$COMMON"
has '^healed 1 of 1$'
grep -q 'No digest says' "$T/out" && fail "the other model is told of apart"

# Missing, cut, emptied, zeroed, longer; several at once, and a blob that two models share.
fresh
rm "$ONE"
truncate -s -5 "$OWN"
truncate -s 0 "$COMMON"
run 0 heal --from "$GOOD"
has 'is not there$'
has 'has not the size that it should$'
has '^healed 3 of 3$'
same "$ONE"
same "$OWN"
same "$COMMON"
run 0 verify
fresh
dd if=/dev/zero of="$OWN" bs=1 count=400 conv=notrunc 2>/dev/null
printf x >>"$ONE"
rm -r "$STORE/blobs"
run 0 heal --from "$GOOD"
same "$OWN"
same "$ONE"
run 0 verify

# A source that is damaged as well is none; a name alone is believed by nobody.
fresh
flip "$OWN" 300
cp "$GOOD/blobs/${OWN##*/}" "$T/other"
flip "$GOOD/blobs/${OWN##*/}" 301
state "$STORE" >"$T/before"
run 1 heal --from "$GOOD"
state "$STORE" | cmp - "$T/before" || fail "damage was healed with damage"
run 0 heal --from "$GOOD" --from "$T/other"

# A link to where nothing is may lead to a disk that comes back.
fresh
rm "$OWN"
ln -s "$T/away/blob" "$OWN"
run 1 heal --from "$GOOD"
has 'not healed: there is a link that leads nowhere'
[ -L "$OWN" ] || fail "the link is gone"

# What lies in the quarantine is a source.
fresh
mkdir -p "$STORE/.tbtui/7"
mv "$OWN" "$STORE/.tbtui/7/0"
run 0 heal
has 'tbtui/7/0 \(quarantine\)$'
same "$OWN"

# One tensor of a file comes from a folder that has it.
fresh
flip "$OWN" 300
mkdir "$T/twin"
st model.layers.10.mlp.up_proj.weight 16 8 201 >"$T/twin/extra.safetensors"
mv "$T/twin/extra.safetensors" "$T/twin/model.safetensors"
echo '{"model_type":"small"}' >"$T/twin/config.json"
# the same tensor behind another one, so that no file is equal
head='{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"model.layers.10.mlp.up_proj.weight":{"dtype":"F32","shape":[16,8],"data_offsets":[8,520]}}'
while [ $((${#head} % 8)) -ne 0 ]; do head="$head "; done
{
	le64 ${#head}
	printf '%s12345678' "$head"
	tail -c 512 "$T/twin/model.safetensors"
} >"$T/twin/m"
mv "$T/twin/m" "$T/twin/model.safetensors"
run 0 --json heal --dry-run --from "$T/twin"
has '"ranges":\[\{"tensor":"model.layers.10.mlp.up_proj.weight","offset":[0-9]+,"bytes":512,"source":".*twin/model.safetensors"'
run 0 heal --from "$T/twin"
has '^    the tensor model.layers.10.mlp.up_proj.weight, 512 B, from '
same "$OWN"
run 0 verify
# ... of which the model must be the one that it was: here it is another one's.
fresh
flip "$OWN" 300
flip "$T/twin/model.safetensors" $((${#head} + 8 + 8 + 100))
run 1 heal --from "$T/twin"
rm -r "$T/twin"

# A file of a folder: what a verify has recorded, and not what was written since.
STORE=$T/folder
mkdir -p "$STORE/tiny"
st w 16 16 5 >"$STORE/tiny/model.safetensors"
echo '{"architectures":["LlamaForCausalLM"],"model_type":"small"}' >"$STORE/tiny/config.json"
touch -d '3 days ago' "$STORE"/tiny/*
cp -a "$STORE" "$T/kept"
flip "$STORE/tiny/model.safetensors" 300
run 2 heal --from "$T/kept"
err_has 'nobody knows'
flip "$STORE/tiny/model.safetensors" 300
run 0 verify
run 0 heal
flip "$STORE/tiny/model.safetensors" 300
run 0 heal --from "$T/kept"
has '^healed 1 of 1$'
cmp "$STORE/tiny/model.safetensors" "$T/kept/tiny/model.safetensors" || fail "not healed"
[ "$(stat -c %Y "$STORE/tiny/model.safetensors")" = "$(stat -c %Y "$T/kept/tiny/model.safetensors")" ] ||
	fail "it has another time"
run 0 verify
st w 16 16 6 >"$STORE/tiny/model.safetensors"
cp "$STORE/tiny/model.safetensors" "$T/new"
run 0 heal --from "$T/kept"
cmp "$STORE/tiny/model.safetensors" "$T/new" || fail "a new version was taken back"
STORE=$T/store

# Cut, or gone, after it was recorded: the model cannot be read then, and a verify in between
# does not take that for what it should be.
mkdir -p "$T/folder/two"
for i in 1 2; do
	st w$i 16 16 $i >"$T/folder/two/model-0000$i-of-00002.safetensors"
done
echo '{"weight_map":{"w1":"model-00001-of-00002.safetensors","w2":"model-00002-of-00002.safetensors"}}' \
	>"$T/folder/two/model.safetensors.index.json"
echo '{"architectures":["LlamaForCausalLM"],"model_type":"small"}' >"$T/folder/two/config.json"
touch -d '3 days ago' "$T"/folder/two/*
rm -rf "$T/kept"
cp -a "$T/folder" "$T/kept"
STORE=$T/folder
run 0 verify
truncate -s -100 "$STORE/two/model-00001-of-00002.safetensors"
rm "$STORE/two/model-00002-of-00002.safetensors"
echo '{"architectures":["LlamaForCausalLM"],"model_type":"other"}' >"$STORE/two/config.json"
run 1 verify
run 1 heal
has_not config.json
has 'model-00001-of-00002.safetensors has not the size that it should$'
has 'model-00002-of-00002.safetensors is not there$'
run 0 heal --from "$T/kept"
has '^healed 2 of 2$'
diff -r -x .tbtui -x config.json "$T/kept/two" "$STORE/two" || fail "not healed"
grep -q other "$STORE/two/config.json" || fail "what somebody wrote was taken back"
run 0 verify
# What was never recorded is told, and not said to be whole.
rm "$T/index.db" "$T/audits.db"
truncate -s -100 "$STORE/two/model-00001-of-00002.safetensors"
run 1 heal two
has '^No digest says what should be there: '
STORE=$T/store

# A cache of Hugging Face: a blob that its links lead to.
HUB=$T/hub
REPO=$HUB/models--org--tiny
mkdir -p "$REPO/blobs" "$REPO/snapshots/1111" "$REPO/refs"
st w 16 16 9 >"$T/w"
HASH=$(sha256sum <"$T/w" | cut -d' ' -f1)
cp "$T/w" "$REPO/blobs/$HASH"
ln -s "../../blobs/$HASH" "$REPO/snapshots/1111/model.safetensors"
echo '{"model_type":"small"}' >"$REPO/snapshots/1111/config.json"
flip "$REPO/blobs/$HASH" 300
expect 0 "$TBTUI" --db "$T/hub.db" -s "$HUB" heal hf:org/tiny --from "$T/w"
cmp "$T/w" "$REPO/blobs/$HASH" || fail "not healed"
rm "$REPO/blobs/$HASH"
expect 0 "$TBTUI" --db "$T/hub.db" -s "$HUB" heal --from "$T/w"
cmp "$T/w" "$REPO/blobs/$HASH" || fail "not healed"

# An OCI layout, whose manifests are blobs as well: first that, then what it lists.
L=$T/oci/one
mkdir -p "$L/blobs/sha256"
echo '{"imageLayoutVersion":"1.0.0"}' >"$L/oci-layout"
keep() {
	HASH=$(sha256sum <"$T/blob" | cut -d' ' -f1)
	LEN=$(($(wc -c <"$T/blob")))
	mv "$T/blob" "$L/blobs/sha256/$HASH"
}
printf '{}' >"$T/blob"
keep
config="{\"mediaType\":\"application/vnd.oci.empty.v1+json\",\"digest\":\"sha256:$HASH\",\"size\":2}"
st w 16 16 1 >"$T/blob"
keep
WEIGHTS=$L/blobs/sha256/$HASH
layer="{\"mediaType\":\"application/octet-stream\",\"digest\":\"sha256:$HASH\",\"size\":$LEN,\"annotations\":{\"org.opencontainers.image.title\":\"model.safetensors\"}}"
printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' \
	application/vnd.oci.image.manifest.v1+json "$config" "$layer" >"$T/blob"
keep
LIST=$L/blobs/sha256/$HASH
printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s","digest":"sha256:%s","size":%d}]}' \
	application/vnd.oci.image.manifest.v1+json "$HASH" "$LEN" >"$L/index.json"
rm -rf "$T/kept"
cp -a "$T/oci" "$T/kept"
flip "$WEIGHTS" 300
STORE=$T/oci
run 0 heal --from "$T/kept"
has '^healed 1 of 1$'
flip "$WEIGHTS" 300
printf broken >"$LIST"
run 1 heal --from "$T/kept"
err_has 'run heal again for what it lists$'
run 0 heal --from "$T/kept"
diff -r -x .tbtui "$T/oci" "$T/kept" || fail "the layout is not healed"
STORE=$T/store

# Folders with what is no file in them, and without an end; what is no file at all.
fresh
flip "$OWN" 300
mkdir -p "$T/odd/deep"
mkfifo "$T/odd/pipe"
ln -s .. "$T/odd/deep/up"
ln -s loop "$T/odd/loop"
ln -s /dev/zero "$T/odd/zero"
cp "$GOOD/blobs/${OWN##*/}" "$T/odd/deep/$(printf 'a\033[31mb')"
expect 0 timeout 60 "$TBTUI" --db "$T/index.db" -s "$STORE" heal --from "$T/odd"
has_not "$(printf '\033')"
same "$OWN"
run 2 heal --from "$T/odd/pipe"
err_has 'not a regular file'
run 2 heal --from /dev/zero
err_has 'not a regular file'

# A store that nobody may write to is told, and not half healed.
if [ "$(id -u)" -ne 0 ]; then
	fresh
	flip "$OWN" 300
	chmod a-w "$STORE" "$STORE/blobs"
	run 1 heal --from "$GOOD"
	has 'not healed: '
	chmod u+w "$STORE" "$STORE/blobs"
fi

# Nobody has to say that a folder, plain or quantized, was made of a model of a store.
mkdir "$T/made"
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
for q in keep int8; do
	expect 0 "$TBTUI" -s "$T/demo" quantize demo:bf16 "$T/made/$q" -q $q
done
rm -rf "$T/kept"
cp -a "$T/made" "$T/kept"
expect 1 "$TBTUI" --db "$T/made.db" -s "$T/demo" -s "$T/made" verify
flip "$T/made/keep/model.safetensors" 20000
flip "$T/made/int8/model.safetensors" 20000
expect 0 "$TBTUI" --db "$T/made.db" -s "$T/demo" -s "$T/made" heal keep int8
has '^    the tensor [a-z0-9_.]+, [0-9.]+ kB, from .*/demo/blobs/sha256-[0-9a-f]+ \(model\)$'
has '^healed 2 of 2$'
diff -r -x .tbtui "$T/made" "$T/kept" || fail "not healed by tensors"

# What is no file at all is put aside like one.
for make in mkdir mkfifo; do
	fresh
	rm "$OWN"
	$make "$OWN"
	run 0 heal --from "$GOOD"
	has '^healed 1 of 1$'
	same "$OWN"
	run 0 undo
	[ ! -f "$OWN" ] && [ -e "$OWN" ] || fail "what was there is not back: $make"
	rm -rf "$OWN"
done

# A manifest that cannot be read is told; its model is not among the healed.
fresh
printf broken >"$MANIFEST"
run 1 heal --from "$GOOD"
has '^two:latest: .*'
has '^No digest says what should be there: '

# Killed at any moment: as before or as after.
fresh
flip "$OWN" 300
cp -p "$OWN" "$T/bad"
for i in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$STORE/.tbtui"
	cp -p "$T/bad" "$OWN"
	"$TBTUI" --db "$T/index.db" -s "$STORE" heal --from "$GOOD" >"$T/out" 2>&1 &
	pid=$!
	sleep 0.00$i
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	cmp -s "$OWN" "$T/bad" || cmp "$OWN" "$GOOD/blobs/${OWN##*/}" ||
		fail "between before and after"
	run 0 heal --from "$GOOD"
	same "$OWN"
done

# Stores in a folder that is looked into: what one of them holds heals another, under a number
# that none of them had.
STORE=$T/stores/a
fresh
cp -a "$STORE" "$T/stores/b"
STORE=$T/stores
run 0 rm -y --young "$STORE"/b/manifests/*/*/two/latest
cp -p "$OWN" "$T/was"
chmod u+w "$OWN"
printf bad >"$OWN"
run 0 heal "$MANIFEST"
has 'b/.tbtui/1/[0-9]* \(quarantine\)'
has '"tbtui undo 2"'
cmp "$OWN" "$T/was" || fail "not healed from what another store holds"
exit 0
