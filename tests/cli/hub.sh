#!/bin/sh
# Folders that other programs keep models in: Hugging Face caches, LM Studio, llama.cpp.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

STORE=$T/hub
REPO=$STORE/models--org--tiny
A=1111111111111111111111111111111111111111
B=2222222222222222222222222222222222222222
mkdir -p "$REPO/blobs" "$REPO/refs/pr" "$REPO/snapshots/$A" "$REPO/snapshots/$B/deep"

# put REVISION NAME: the file $T/blob, under what git calls it; lfs: under its SHA-256.
put() {
	HASH=$({ printf 'blob %d\0' "$(wc -c <"$T/blob")"; cat "$T/blob"; } | sha1sum | cut -d' ' -f1)
	link "$1" "$2" "$HASH"
}
lfs() {
	HASH=$(sha256sum <"$T/blob" | cut -d' ' -f1)
	link "$1" "$2" "$HASH"
}
link() {
	touch -d '2 days ago' "$T/blob"
	cp -p "$T/blob" "$REPO/blobs/$3"
	up=../..
	case $2 in */*) up=../../.. ;; esac
	ln -s "$up/blobs/$3" "$REPO/snapshots/$1/$2"
}

# Two revisions that share their weights, and a GGUF in a folder of one.
st w 4 4 3 >"$T/blob"
lfs $A model.safetensors
WEIGHTS=$HASH
lfs $B model.safetensors
echo '{"model_type":"small"}' >"$T/blob"
put $A config.json
CONFIG=$HASH
echo '{"model_type":"other"}' >"$T/blob"
put $B config.json
printf pictures >"$T/blob"
lfs $A picture.png
printf %s $B >"$REPO/refs/main"
printf %s $A >"$REPO/refs/pr/1"
run 0 scan
has '^added +hf:org/tiny$'
has '^added +hf:org/tiny@111111111111$'
run 0 --json ls
has '"name":"hf:org/tiny","kind":"safetensors-dir","path":".*/snapshots/2222'
has '"exclusive_size":23'
run 0 show hf:org/tiny@pr/1
has '^architecture +small$'
has "model.safetensors +sha256:$WEIGHTS"
run 0 show hf:org/tiny@main
has '^architecture +other$'
run 0 show hf:org/tiny@1111
has '^architecture +small$'
run 0 verify
has '^clean: 2 models, 0 manifests, 3 blobs, .* 2 notes'
run 0 blobs --orphans
has '^0 files'
run 0 whose "$WEIGHTS"
has '^  hf:org/tiny$'
has '^  hf:org/tiny@111111111111$'

# A revision that is a link leads anywhere, and is not followed.
mkdir -p "$T/elsewhere/other"
cp "$T/blob" "$T/elsewhere/other/picture.png"
st w 4 4 3 >"$T/elsewhere/other/model.safetensors"
ln -s "$T/elsewhere" "$REPO/snapshots/outside"
run 0 scan
has '^2 models: 0 added'
rm "$REPO/snapshots/outside"

# Both kinds of names say what the bytes are.
flip "$REPO/blobs/$CONFIG" 3
flip "$REPO/blobs/$WEIGHTS" 100
run 1 verify
has "^error +digest_mismatch +hf:org/tiny@111111111111: gitsha1:$CONFIG "
has "^error +digest_mismatch +hf:org/tiny: sha256:$WEIGHTS "
has '^damage: 2 models, 0 manifests, 3 blobs, .* 3 errors'
flip "$REPO/blobs/$CONFIG" 3
flip "$REPO/blobs/$WEIGHTS" 100
run 0 verify

# A link to nothing is a blob that is missing, told of once a model.
mv "$REPO/blobs/$WEIGHTS" "$T/kept"
run 1 verify
has "^error +blob_missing +hf:org/tiny: sha256:$WEIGHTS is missing"
[ "$(grep -c "$WEIGHTS" "$T/out")" -eq 2 ] || fail "told of more than once a model"
# What is on its way, and what an update left behind.
mv "$T/kept" "$REPO/blobs/$WEIGHTS"
: >"$REPO/blobs/$WEIGHTS.incomplete"
printf old >"$T/blob"
OLD=$(sha256sum <"$T/blob" | cut -d' ' -f1)
mv "$T/blob" "$REPO/blobs/$OLD"
run 0 verify
has "^note +partial .*$WEIGHTS.incomplete"
has "^note +young +sha256:$OLD "
has_not orphan
touch -d '2 hours ago' "$REPO/blobs/$OLD"
run 0 verify
has "^note +orphan +sha256:$OLD "
run 0 scan
run 0 scan
has '0 added, 0 changed, 0 removed, 2 unchanged'
run 0 blobs --left
has 'incomplete +partial '
run 0 blobs --orphans
has "^sha256:$OLD "
has '^1 file,'
run 0 blobs
has_not picture

# A link that leads out of the repository is not followed, a folder behind one neither.
mkdir "$T/secret"
st x 4 4 3 >"$T/secret/model.safetensors"
ln -s "$T/secret" "$REPO/snapshots/$B/folder"
ln -s "$T/secret/model.safetensors" "$REPO/snapshots/$B/model-00002.safetensors"
run 1 verify
has '^error +model_bad +hf:org/tiny: .*model-00002.safetensors: a link that leads out of its rep'
run 1 tensors hf:org/tiny
has '^w '
has_not '^x '
run 0 scan
has_not folder
rm "$REPO/snapshots/$B/model-00002.safetensors"

# LM Studio: PUBLISHER/MODEL/; one that somebody linked from elsewhere is read, and said.
STORE=$T/studio
mkdir -p "$STORE/lmstudio-community/Tiny-MLX" "$STORE/me"
st w 4 4 3 >"$STORE/lmstudio-community/Tiny-MLX/model.safetensors"
echo '{}' >"$STORE/lmstudio-community/Tiny-MLX/config.json"
ln -s "$T/secret" "$STORE/me/linked"
run 0 scan
has '^added +lmstudio-community/Tiny-MLX$'
has '^added +me/linked$'
run 0 verify
has '^note +outside +me/linked: .* leads out of the store, to .*/secret/model.safetensors'
has ' 2 notes'

# llama.cpp: everything in one folder, with notes of its own beside it.
need_shared
STORE=$T/llama.cpp
mkdir "$STORE"
cp "$TBTUI_SHARED/data/models/stories260K/stories260K-f16.gguf" \
	"$STORE/org_tiny-GGUF_tiny-f16.gguf"
echo '{"etag":"x"}' >"$STORE/org_tiny-GGUF_tiny-f16.gguf.json"
echo '{}' >"$STORE/manifest=org=tiny-GGUF=latest.json"
: >"$STORE/org_big-GGUF_big.gguf.downloadInProgress"
run 0 scan
has '^added +org_tiny-GGUF_tiny-f16.gguf$'
has '^1 model: 1 added'
run 0 blobs --left
has 'downloadInProgress +partial '
run 0 verify
has '^recorded: 1 model'
has '^note +partial '
exit 0
