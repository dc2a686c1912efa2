#!/bin/sh
# OCI image layouts: which images are models, what is in them, and whether their bytes are
# what their names say.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

STORE=$T/images
L=$STORE/one
mkdir -p "$L/blobs/sha256"
echo '{"imageLayoutVersion":"1.0.0"}' >"$L/oci-layout"

# keep: $T/blob becomes a blob; HASH and SIZE.
keep() {
	HASH=$(sha256sum <"$T/blob" | cut -d' ' -f1)
	SIZE=$(($(wc -c <"$T/blob")))
	mv "$T/blob" "$L/blobs/sha256/$HASH"
}

# descriptor TYPE [ANNOTATION VALUE]
descriptor() {
	printf '{"mediaType":"%s","digest":"sha256:%s","size":%d' "$1" "$HASH" "$SIZE"
	[ $# -eq 1 ] || printf ',"annotations":{"%s":"%s"}' "$2" "$3"
	printf '}'
}

# image CONFIG LAYERS: a manifest.
image() {
	printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' \
		application/vnd.oci.image.manifest.v1+json "$1" "$2" >"$T/blob"
	keep
}

title=org.opencontainers.image.title
ref=org.opencontainers.image.ref.name
manifest=application/vnd.oci.image.manifest.v1+json

printf '{}' >"$T/blob"
keep
empty=$(descriptor application/vnd.oci.empty.v1+json)

# An artifact of files, as ORAS makes it.
st w 4 4 1 >"$T/blob"
keep
WEIGHTS=$HASH
layers=$(descriptor application/octet-stream $title files/model.safetensors)
echo '{"model_type":"small"}' >"$T/blob"
keep
layers=$layers,$(descriptor application/octet-stream $title config.json)
image "$empty" "$layers"
FILES=$HASH
images=$(descriptor $manifest $ref files)

# A model as Ollama keeps it.
printf '{"model_format":"safetensors","file_type":"int4"}' >"$T/blob"
keep
config=$(descriptor application/vnd.docker.container.image.v1+json)
st v 4 4 2 >"$T/blob"
keep
image "$config" "$(descriptor application/vnd.ollama.image.tensor)"
images=$images,$(descriptor $manifest)
OLLAMA=$HASH

# A program's image is none of ours; an index in the index is looked into.
printf layer >"$T/blob"
keep
image "$empty" "$(descriptor application/vnd.oci.image.layer.v1.tar+gzip)"
printf '{"schemaVersion":2,"manifests":[%s]}' "$images,$(descriptor $manifest $ref tool)" >"$T/blob"
keep
printf '{"schemaVersion":2,"manifests":[%s]}' \
	"$(descriptor application/vnd.oci.image.index.v1+json)" >"$L/index.json"

run 0 scan
has '^added +oci:one:files$'
has "^added +oci:one@$(echo "$OLLAMA" | cut -c1-12)$"
has '^2 models: 2 added'
run 0 --json ls
has '"name":"oci:one:files","kind":"oci-tensors"'
has_not '"name":"oci:one:tool"'
run 0 show oci:one:files
has '^architecture +small$'
has "^tensor +[0-9]+ B +model.safetensors +sha256:$WEIGHTS"
run 0 tensors oci:one:files
has '^w +F32 +4 x 4'
run 0 tensors "$L/blobs/sha256/$OLLAMA"
has '^v +F32'
run 2 tensors "$L"
err_has 'holds 2 models'
# by folder and name, of layouts that are in no store
run 0 tensors "oci:$L:files"
has '^w +F32 +4 x 4'
(cd "$STORE" && "$TBTUI" --db "$T/none.db" -s "$T" show oci:one:files >"$T/out") || fail "by its folder"
has '^architecture +small$'
run 0 tensors "oci:$L@sha256:$OLLAMA"
has '^v +F32'
run 2 tensors "oci:$L:nothing"
err_has 'the layout has no model "nothing"'
run 2 tensors "oci:$L"
err_has 'holds 2 models; name one of them'
run 0 verify
has '^note +not_model +oci:one:tool: a container image'
has '^clean: 2 models, 3 manifests, 9 blobs, .* 0 errors'
flip "$L/blobs/sha256/$WEIGHTS" 100
run 1 verify
has "^error +digest_mismatch +oci:one:files: sha256:$WEIGHTS "
flip "$L/blobs/sha256/$WEIGHTS" 100

# A manifest is a blob as well: spaces change nothing but its digest.
cp "$L/blobs/sha256/$FILES" "$T/manifest"
printf ' ' >>"$L/blobs/sha256/$FILES"
run 1 verify
has "^error +digest_mismatch +oci:one:files: sha256:$FILES "
printf '{' >"$L/blobs/sha256/$FILES"
run 1 verify
has '^error +manifest_bad +oci:one@'
cp "$T/manifest" "$L/blobs/sha256/$FILES"
mv "$L/blobs/sha256/$WEIGHTS" "$T/weights"
run 1 verify
has "^error +blob_missing +oci:one:files: sha256:$WEIGHTS is missing"
truncate -s 60 "$T/weights"
cp "$T/weights" "$L/blobs/sha256/$WEIGHTS"
run 1 verify
has '^error +size_mismatch +oci:one:files: .* has 60 bytes, the manifest says'
cp "$L/index.json" "$T/index.json"
printf '[]' >"$L/index.json"
run 1 verify
has '^error +manifest_bad +oci:one@index.json'

# What is wrong is told once, however often it is listed, and a circle has an end.  (Who
# has listed this one's digest in it must have searched for long: a file of that name will do.)
index=application/vnd.oci.image.index.v1+json
HASH=$(printf 'a circle' | sha256sum | cut -d' ' -f1)
SIZE=1
again=$(descriptor $index)
printf junk >"$T/blob"
circle=$HASH
keep
junk=$(descriptor $manifest)
HASH=$circle
printf '{"schemaVersion":2,"manifests":[%s,%s,%s,%s]}' "$again" "$junk" "$again" "$junk" \
	>"$L/blobs/sha256/$HASH"
printf '{"schemaVersion":2,"manifests":[%s,%s]}' "$again" "$again" >"$L/index.json"
run 1 verify
[ "$(grep -c manifest_bad "$T/out")" -eq 1 ] || fail "told more than once, or not at all"

need_shared
L=$STORE/two
mkdir -p "$L/blobs/sha256"
echo '{"imageLayoutVersion":"1.0.0"}' >"$L/oci-layout"
printf '{}' >"$T/blob"
keep
empty=$(descriptor application/vnd.oci.empty.v1+json)
cp "$TBTUI_SHARED/data/models/stories260K/stories260K-f16.gguf" "$T/blob"
keep
image "$empty" "$(descriptor application/vnd.cncf.model.weight.v1.raw org.cncf.model.filepath tiny.gguf)"
printf '{"schemaVersion":2,"manifests":[%s]}' "$(descriptor $manifest $ref v1)" >"$L/index.json"
run 0 show "$L"
has '^kind +oci-gguf$'
has '^architecture +llama$'
run 0 generate -n 3 -p 'Once upon' oci:two:v1
exit 0
