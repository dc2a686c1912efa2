#!/bin/sh
# verify: every kind of damage is found and named, the rest is still checked, and
# nothing checked is not clean.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

# fresh: two models that share blobs, in a new store.
fresh() {
	rm -rf "$STORE" "$T"/index.db* "$T"/audits.db*
	model "$STORE" one latest 100
	ONE=$OWN
	model "$STORE" two latest 200
}

mkdir -p "$STORE/blobs"
run 2 verify
has '^empty: 0 models'
run 2 --json verify
has '"clean":false'
run 2 verify nobody
err_has nobody

# No index is needed.
fresh
run 0 verify
has '^clean: 2 models, 2 manifests, 7 blobs, .* 0 errors, 0 warnings, 2 notes'
run 0 --json verify
has '"checked":\{"models":2,"manifests":2,"blobs":7,"bytes":[0-9]+\},"clean":true,.*"seconds":[0-9.e-]+'
has '^"findings":\[\{"severity":"note","code":"not_run",'
run 0 verify one
has '^clean: 1 model, 1 manifest, 5 blobs'

# One bit, and the time restored.
flip "$OWN" 300
run 1 verify
has "^error +digest_mismatch +two:latest: sha256:${OWN##*sha256-} "
has "expected sha256:${OWN##*sha256-}"
has '^damage: 2 models, 2 manifests, 7 blobs, .* 1 error'
has 'its name says; damaged in model.layers.10.mlp.up_proj.weight, rows 0 to 15, bytes 104 to 615$'
has_not 'error .*one:latest'
run 1 --json verify
has '"tensor":"model.layers.10.mlp.up_proj.weight","offset":[1-9][0-9]+,"expected"'
run 0 verify one
run 0 scan
run 0 ls
has '^one:latest .* hashed '
has '^two:latest .* damaged '
flip "$OWN" 300
run 0 verify
run 0 ls
has '^two:latest .* hashed '

# A shared blob is damage to both, and is hashed once.
flip "$COMMON" 200
run 1 --json verify
has '"blobs":7,'
has '"code":"digest_mismatch","model":"one:latest","blob":"sha256:[0-9a-f]+"'
has '"code":"digest_mismatch","model":"two:latest"'
[ "$(grep -o '"tensor":"model.embed_tokens.weight"' "$T/out" | wc -l)" -eq 2 ] ||
	fail "the shared tensor is not named twice"

# In the header: the structure is named, too.
fresh
flip "$OWN" 9
run 1 verify
has 'structure_bad'
has 'digest_mismatch'
run 1 --json verify
has '"code":"structure_bad",.*"tensor":"model.layers.10.mlp.up_proj.weight","offset":null'
has '"code":"digest_mismatch",.*"tensor":"model.layers.10.mlp.up_proj.weight","offset":null'

# Cut, emptied, longer than the manifest says.
fresh
size=$(($(wc -c <"$OWN")))
truncate -s $((size - 5)) "$OWN"
truncate -s 0 "$ONE"
echo more >>"$COMMON"
run 1 verify
has "^error +size_mismatch +two:latest: .* has $((size - 5)) bytes, the manifest says $size"
has '^error +size_mismatch +one:latest: .* has 0 bytes'
[ "$(grep -c size_mismatch "$T/out")" -eq 4 ] || fail "the shared blob is not damage to both"
has '^damage: .* 4 errors'

# Gone.
fresh
rm "$OWN"
run 1 verify
has "^error +blob_missing +two:latest: sha256:${OWN##*sha256-} is missing; it holds the tensor model.layers.10"
has '^damage: 2 models, 2 manifests, 6 blobs'
run 1 verify two
run 0 verify one
# Two layers of one blob: told once, and its size is not said beside that.
fresh
sed -i 's|\(.*\)\({"mediaType":"[^"]*tensor".*}\)\]|\1\2,\2]|' "$MANIFEST"
rm "$OWN"
run 1 verify
[ "$(grep -c "^error" "$T/out")" -eq 1 ] || fail "not told once"

# A manifest cut in half, one that is no JSON, one with a layer of an unknown type.
fresh
half=$(($(wc -c <"$MANIFEST") / 2))
truncate -s $half "$MANIFEST"
run 1 verify
has '^error +manifest_bad +two:latest: '
has '^note +unclear .* belongs to no model that could be read, perhaps to one that could not'
has_not orphan
has '^damage: 2 models, 2 manifests, 7 blobs, .* 1 error,'
printf '\033[31mnone' >"$MANIFEST"
run 1 verify
has_not "$(printf '\033')"
fresh
sed -i 's/image.json/image.\\u001b[2Jnew/' "$MANIFEST"
run 1 verify
has '^error +incomplete +two:latest: config.json: not there$'
has '^models: .*1 incomplete'
has '^note +unknown_media +two:latest: '
has_not "$(printf '\033')"
run 0 scan
run 0 --json ls
has '"name":"two:latest",.*"state":"incomplete"'

# A container image among the models is none: said, not listed, and its blobs are used.
fresh
printf 'a file system' >"$T/blob"
blob "$STORE"
ROOTFS=$STORE/blobs/sha256-${DIGEST#sha256:}
mkdir -p "$STORE/manifests/registry.ollama.ai/library/tool"
printf '{"schemaVersion":2,"config":%s,"layers":[%s]}' "$config" \
	"{\"mediaType\":\"application/vnd.docker.image.rootfs.diff.tar.gzip\",\"digest\":\"$DIGEST\",\"size\":$SIZE}" \
	>"$STORE/manifests/registry.ollama.ai/library/tool/latest"
run 0 verify
has '^note +not_model +tool:latest: a container image, no model'
has_not unknown_media
has '^clean: 2 models, 3 manifests, 8 blobs, .* 3 notes'
has '^models: 2 hashed$'
for again in 1 2; do
	run 0 scan
	has '^2 models: . added, 0 changed, 0 removed, . unchanged'
	has ' 0 orphans'
done
has ' 2 unchanged'
run 0 ls
has_not tool
run 0 whose "$ROOTFS"
has '^  tool:latest$'
flip "$ROOTFS" 3
run 1 verify
has '^error +digest_mismatch +tool:latest: '

# Space is no damage: an orphan, a partial download, what belongs to nobody, a FIFO.
fresh
printf orphan >"$T/blob"
blob "$STORE"
: >"$STORE/blobs/${DIGEST#sha256:}-partial"
: >"$STORE/blobs/sha256-${DIGEST#sha256:}-partial-3"
mkfifo "$STORE/blobs/pipe"
ln -s circle "$STORE/blobs/circle"
run 0 verify
has "^note +orphan +$DIGEST .* belongs to no model$"
has '^note +partial '
has '^note +leftover .*pipe'
has '^clean: .* 7 notes'
run 0 --json verify
has '"severity":"note","code":"orphan","model":null,"blob":"sha256:'

# A blob on its way is no orphan yet, whatever lists them.
touch "$STORE/blobs/sha256-${DIGEST#sha256:}"
run 0 verify
has "^note +young +$DIGEST .* but is less than an hour old$"
has_not 'orphan'
run 0 scan
has ' 0 orphans .* 4 leftovers'
run 0 blobs --orphans
has_not "$DIGEST"
run 0 blobs --left
has ' partial '
run 0 blobs
has "^$DIGEST +young "
touch -d '2 hours ago' "$STORE/blobs/sha256-${DIGEST#sha256:}"
run 0 scan
has ' 1 orphan '
run 0 blobs --orphans
has "^$DIGEST +blob "

# What nobody uses is hashed when a manifest that cannot be read may use it, and --deep.
fresh
flip "$OWN" 300
truncate -s $half "$MANIFEST"
run 1 verify
has '^error +manifest_bad +two:latest: '
has "^error +digest_mismatch +sha256:${OWN##*sha256-}, which belongs to no model whose manifest"
has_not 'digest_mismatch +one:latest'
has '^damage: 2 models, 2 manifests, 7 blobs, .* 2 errors'
run 0 verify one
has '^clean: .* 5 blobs'
rm "$MANIFEST"
run 0 verify
has '^clean: .* 5 blobs'
run 1 verify --deep
has "^error +digest_mismatch +sha256:${OWN##*sha256-}, which belongs to no model, does not"
has '^damage: .* 7 blobs, .* 1 error,'
run 1 --json verify --deep
has '"code":"digest_mismatch","model":null,"blob":"sha256:'
flip "$OWN" 300
run 0 verify --deep

# A blob's time is that of its last use: somebody who uses it meanwhile is no damage.
fresh
{ le64 72; printf %-72s '{"w":{"dtype":"F32","shape":[8388608],"data_offsets":[0,33554432]}}'; } >"$T/blob"
truncate -s $((80 + 33554432)) "$T/blob"
blob "$STORE"
BUSY=$STORE/blobs/sha256-${DIGEST#sha256:}
sed "s/\"layers\":\[/&$(layer tensor w | sed 's,/,\\/,g'),/" "$MANIFEST" >"$T/manifest"
mv "$T/manifest" "$MANIFEST"
while [ -f "$BUSY" ]; do touch -c "$BUSY"; done &
run 0 verify --deep two
has '^clean: 1 model, 1 manifest, 6 blobs'
mv "$BUSY" "$BUSY.gone"
wait

# A FIFO in the place of a blob does not hang anything.
fresh
rm "$OWN"
mkfifo "$OWN"
run 1 verify
has '^error +blob_unreadable +two:latest: '

# A blob of several tensors: the first, and how many.
fresh
head='{"a":{"dtype":"F32","shape":[4],"data_offsets":[16,32]},"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
{ le64 ${#head}; printf '%s' "$head"; bytes 32 1; } >"$T/blob"
blob "$STORE"
sed -i "s|\"layers\":\[|\"layers\":[$(layer tensor a),|" "$MANIFEST"
flip "$STORE/blobs/sha256-${DIGEST#sha256:}" $((8 + ${#head} + 20))
run 1 verify
has "^error +digest_mismatch +two:latest: $DIGEST .*; it holds 2 tensors, from b on$"
run 1 verify --report "$T/tensors.csv" --format csv
grep -q "^\"error\",\"digest_mismatch\",\"two:latest\",\"$DIGEST\",\"b\",\"$((8 + ${#head}))\"," \
	"$T/tensors.csv" || fail "no tensor in csv"

# Two tensors in one blob overlap; a shape that does not fit its bytes.
fresh
head='{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}'
{ le64 ${#head}; printf '%s' "$head"; bytes 24 1; } >"$T/blob"
blob "$STORE"
sed -i "s|\"layers\":\[|\"layers\":[$(layer tensor a),|" "$MANIFEST"
run 1 verify
has '^error +structure_bad +two:latest: '
has '^damage: 2 models, 2 manifests, 8 blobs'

# Several at once: each is found, each is counted.
fresh
flip "$OWN" 300
rm "$ONE"
printf x >"$STORE/blobs/foreign"
run 1 verify
has digest_mismatch
has blob_missing
has leftover
has '2 errors, 0 warnings, 3 notes'

# Reports: all formats, hostile names escaped, replaced atomically.
fresh
MANIFEST=$STORE/manifests/registry.ollama.ai/library/evil/latest
mkdir -p "${MANIFEST%/*}"
printf '{"schemaVersion":2,"layers":[{"mediaType":"=<b>\\"x\\",|y","digest":"%s","size":6}]}' \
	"sha256:0000000000000000000000000000000000000000000000000000000000000000" >"$MANIFEST"
for format in text json csv md html; do
	run 1 verify --report "$T/report.$format" --format $format
	has blob_missing
	[ -s "$T/report.$format" ] || fail "no report as $format"
done
grep -q '"code":"blob_missing"' "$T/report.json" || fail json
grep -q '^"severity","code","model",' "$T/report.csv" || fail csv
grep -qF "\"'=<b>\"\"x\"\",|y\"" "$T/report.csv" || fail "csv is not escaped"
grep -q '<bdi>=&lt;b&gt;&quot;x&quot;,|y</bdi>' "$T/report.html" || fail "html is not escaped"
grep -q 'unknown type =\\<b\\>"x",\\|y' "$T/report.md" &&
	grep -q '`=<b>"x",\\|y`' "$T/report.md" || fail "md is not escaped"
ls -A "$T" | grep -q tbtui-tmp && fail "a temporary file was left"
run 2 verify --format pdf
run 2 verify --report /proc/nowhere/report.csv --format csv
err_has 'there is no folder /proc/nowhere'

# Where a report goes is known before anything is read; nothing is overwritten unasked.
run 2 audit show 1000000
runs=$("$TBTUI" --db "$T/index.db" audit --json | grep -o '"run":' | wc -l)
echo mine >"$T/mine.md"
run 2 verify --report "$T/mine.md"
err_has 'mine.md exists already. Replace it\?'
[ "$(cat "$T/mine.md")" = mine ] || fail "a file was overwritten"
run 2 verify --report "$T/report.pdf"
err_has 'no report is written as .pdf; end it with .txt'
run 2 verify --report "$T/new/report.md"
err_has "there is no folder $T/new"
[ ! -e "$T/new" ] || fail "a folder was made"
run 2 verify --report "$T"
err_has 'is a folder'
[ "$("$TBTUI" --db "$T/index.db" audit --json | grep -o '"run":' | wc -l)" -eq "$runs" ] ||
	fail "it was verified all the same"
run 1 verify --yes --report "$T/mine.md"
grep -q '^# Verify report' "$T/mine.md" || fail "the ending does not say the format"
run 1 verify --report "$T/by-ending.HTM"
grep -q '<!DOCTYPE html>' "$T/by-ending.HTM" || fail "the ending does not say the format"
run 2 verify --since yesterday

# --since leaves out what was found good and was not touched, nothing else.
fresh
run 0 verify
run 2 verify --since 1h
has '^skipped: 2 models, 2 manifests, 0 blobs, 0 B '
has '^models: 2 hashed$'
has '^2 models, all found good since 20[0-9-]*T[0-9:]*Z; nothing read$'
has_not clean
run 2 --json verify --since 1h
has '"clean":false'
has '"state":"skipped"'
has '"recorded":0,"skipped":7'
run 0 audit list
has ' skipped '
touch "$OWN"
run 0 verify --since 1h
has '^clean: 2 models, 2 manifests, 1 blob'
has '^6 files found good since .*, not read again$'
flip "$ONE" 300
run 2 verify --since 1h
run 1 verify --since 0s

# A Hugging Face cache names its large files by what is in them.
HUB=$T/hub/models--org--tiny
mkdir -p "$HUB/blobs" "$HUB/refs" "$HUB/snapshots/abc"
st w 4 4 3 >"$T/blob"
SUM=$(sha256sum <"$T/blob" | cut -d' ' -f1)
mv "$T/blob" "$HUB/blobs/$SUM"
printf abc >"$HUB/refs/main"
ln -s "../../blobs/$SUM" "$HUB/snapshots/abc/model.safetensors"
echo '{}' >"$HUB/snapshots/abc/config.json"
STORE=$T/hub
run 0 verify
# one of both has no digest: that is not clean yet
has '^recorded: 1 model, 0 manifests, 2 blobs'
has '^models: 1 structure$'
has '^1 file read and recorded; the next verify compares$'
run 0 verify
has '^models: 1 hashed$'
flip "$HUB/blobs/$SUM" 100
run 1 verify
has "^error +digest_mismatch +hf:org/tiny: sha256:$SUM "

# Shards and their index: what differs is damage, a wrong total is not.
D=$T/shards
mkdir "$D"
st w 4 4 1 >"$D/model-00001-of-00002.safetensors"
st v 4 4 2 >"$D/model-00002-of-00002.safetensors"
index() {
	printf '{"metadata":{"total_size":%s},"weight_map":{"w":"%s","v":"model-0000%s-of-00002.safetensors"}}' \
		"$1" model-00001-of-00002.safetensors "$2" >"$D/model.safetensors.index.json"
}
STORE=$D
index 128 2
run 0 verify
has ' 0 errors, 0 warnings'
index 129 2
run 0 verify
has '^warning +index_size .* have 129 bytes, they have 128'
run 0 show "$D"
has '^model.safetensors.index.json says that the tensors have 129 bytes'
index 128 1
run 1 verify
has '^error +index_bad .*tensor v: .* which lacks it'
has '^error +index_bad .*00002-of-00002.safetensors: not named in'
index 128 3
run 1 verify
has '^error +index_bad .*shard model-00003-of-00002.safetensors, named in .*, is missing'

# What nobody says the bytes of is read and recorded by the first verify, and compared by
# the next: a directory, a single safetensors file.
state() {
	run 0 scan
	run 0 --json ls
	has "\"state\":\"$1\""
	run 0 ls
	has " $1 "
}
D=$T/dir
mkdir "$D"
st w 4 4 1 >"$D/model.safetensors"
echo '{"model_type":"small"}' >"$D/config.json"
for STORE in "$D" "$D/alone"; do
	WEIGHTS=$D/model.safetensors FILES=2
	if [ "$STORE" != "$D" ]; then
		mkdir "$STORE"
		WEIGHTS=$STORE/weights.safetensors FILES=1
		st w 4 4 1 >"$WEIGHTS"
	fi
	state never
	run 0 verify
	has "^recorded: 1 model, 0 manifests, $FILES blob.*, [1-9]"
	has '^models: 1 structure$'
	has "^$FILES files? read and recorded; the next verify compares$"
	has_not clean
	state structure
	run 0 --json verify
	has '"state":"clean",.*"recorded":0,"skipped":0,'
	has '^"models":\[\{.*"state":"hashed"'
	state hashed
	run 2 verify --since 1h
	has '^1 model, all found good'
	state hashed
	flip "$WEIGHTS" 100
	run 1 verify
	has '^error +content_changed .* the same size and time'
	has '^models: 1 damaged$'
	state damaged
	run 1 verify
	has '^error +content_changed '
	cp -p "$WEIGHTS" "$T/copy"
	mv "$T/copy" "$WEIGHTS"
	run 1 verify
	has '^error +content_changed '
	flip "$WEIGHTS" 100
	run 0 verify
	state hashed
	flip "$WEIGHTS" 100
	touch "$WEIGHTS"
	run 0 scan
	run 0 --json ls
	has '"state":"never",.*"changed":true'
	run 0 ls
	has ' changed '
	run 0 verify
	has '^note +changed_since '
	has '^models: 1 structure$'
	has '^1 file read and recorded'
	run 0 verify
	has '^clean: .* [01] note'
	state hashed
done
for format in csv md html; do
	run 0 verify --report "$T/states.$format" --format $format
	grep -q hashed "$T/states.$format" || fail "no state in a report as $format"
done
grep -q '^"state","hashed","weights.safetensors",' "$T/states.csv" || fail "state in csv"

# By whatever path one comes to it, it is the same file.
cp "$D/model.safetensors" "$T/spelled.safetensors"
ln -s spelled.safetensors "$T/link.safetensors"
run 0 verify "$T/link.safetensors"
has '^recorded: '
run 0 verify "$T/spelled.safetensors"
has '^models: 1 hashed$'
flip "$T/spelled.safetensors" 100
run 1 verify "$D/../spelled.safetensors"
has '^error +content_changed '

# Renamed, it is the same file: its damage does not become what it should be.
STORE=$T/renamed
mkdir -p "$STORE/one"
cp "$D/model.safetensors" "$D/config.json" "$STORE/one"
if [ "$(stat -c %W "$STORE/one/config.json")" -gt 0 ]; then
	run 0 verify
	flip "$STORE/one/model.safetensors" 100
	run 0 mv one two
	run 1 verify
	has '^error +content_changed .*two/model.safetensors'
	mv "$STORE/two" "$STORE/three"
	run 1 verify
	has '^error +content_changed .*three/model.safetensors'
	flip "$STORE/three/model.safetensors" 100
	mv "$STORE/three" "$STORE/four"
	run 0 verify
	has '^models: 1 hashed$'
	# and a new file of the same size and time is not, even where it gets the same inode
	touch -r "$STORE/four/model.safetensors" "$T/stamp"
	rm "$STORE/four/model.safetensors"
	st w 4 4 2 >"$STORE/four/other.safetensors"
	touch -r "$T/stamp" "$STORE/four/other.safetensors"
	run 0 verify
	has '^1 file read and recorded'
fi

# What has rotted is no copy of what it was.
cp "$D/model.safetensors" "$T/copy"
cp "$T/copy" "$D/alone/weights.safetensors"
cp "$T/copy" "$T/third.safetensors"
three() {
	expect "$1" "$TBTUI" --db "$T/index.db" -s "$D" -s "$D/alone" -s "$T/third" "$2" ${3:-}
}
mkdir "$T/third"
mv "$T/third.safetensors" "$T/third"
three 0 verify
three 0 scan
three 0 blobs --duplicates
has '/dir/model.safetensors$'
flip "$D/model.safetensors" 100
three 1 verify
three 0 blobs --duplicates
has ' 2 copies$'
has_not '/dir/model.safetensors$'
flip "$D/model.safetensors" 100

# A file of no tensors is a file all the same; a model none of whose bytes can be read is
# not clean.
{ le64 2; printf '{}'; } >"$D/alone/weights.safetensors"
STORE=$D/alone
run 0 verify
has ', 1 blob, 10 B '
STORE=$T/hollow
mkdir -p "$STORE"
: >"$STORE/weights.safetensors"
run 1 verify
STORE=$D
WEIGHTS=
rm -r "$D/alone"
printf '\377\377\377\177' | dd of="$D/model.safetensors" bs=1 conv=notrunc 2>/dev/null \
	seek=$(($(wc -c <"$D/model.safetensors") - 4))
run 0 verify --deep
has '^warning +nonfinite .*w holds 1 value that is NaN'
# Scales are floats of 8 bits, whatever the file calls them.
for q in nvfp4 mxfp4 mxfp8; do
	S=$T/src-$q
	D=$T/dst-$q
	mkdir "$S"
	st model.layers.0.mlp.up_proj.weight 4 64 1 >"$S/model.safetensors"
	echo '{"model_type":"small"}' >"$S/config.json"
	run 0 quantize "$S" "$D/" -q $q --policy uniform
	STORE=$D
	run 0 verify --deep
	has_not nonfinite
	head=$(tr -d '\0' <"$D/model.safetensors" | grep -ao '"[^"]*scales":{[^}]*}')
	n=$(od -An -tu8 -N8 "$D/model.safetensors")
	at=$(echo "$head" | sed 's/.*offsets":\[\([0-9]*\),.*/\1/')
	printf '\377' | dd of="$D/model.safetensors" bs=1 conv=notrunc seek=$((8 + n + at + 1)) 2>/dev/null
	run 0 verify --deep
	has "^warning +nonfinite .*up_proj.scales holds 1 value that is NaN.* at byte $((8 + n + at + 1)) "
done
D=$T/dir
STORE=$D
truncate -s 90 "$D/model.safetensors"
run 1 verify
has '^error +model_bad|^error +structure_bad'

# Where nothing can be kept, what was found is still said; not even a place for it is needed.
nowhere() {
	expect 1 "$TBTUI" --db "$D/model.safetensors/index.db" -s "$D" "$@"
}
nowhere verify
has '^error +'
has '^damage: 1 model'
err_has 'this run cannot be kept: .*model.safetensors'
has 'tbtui heal --dry-run'
nowhere verify --report "$T/unkept.json" --format json
grep -q '"findings"' "$T/unkept.json" || fail "no report"
nowhere audit check "$T/unkept.json"
exit 0
