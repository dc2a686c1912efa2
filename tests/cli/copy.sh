#!/bin/sh
# Images from registry to layout to registry: every byte and digest as it was, with all that refers
# to them.
. "${srcdir:-.}/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
. "$srcdir/tests/net/lib.sh"

net_needs docker-registry curl
model "$STORE" small v1 1
registry_start A
registry_start B
L=$T/one
python3 "$srcdir/tests/cli/copy_images.py" "$L" >"$T/digests" || fail "no layout"
while read -r what digest; do
	eval "$what=$digest"
done <"$T/digests"

copy() {
	status=$1
	shift
	expect "$status" "$TBTUI" --db "$T/index.db" -s "$STORE" copy "$@"
}

# manifest URL REPO REFERENCE: its digest
manifest() {
	curl -sf -H 'Accept: application/vnd.docker.distribution.manifest.v2+json' \
		-H 'Accept: application/vnd.oci.image.manifest.v1+json' \
		-H 'Accept: application/vnd.oci.image.index.v1+json' "$1/v2/$2/manifests/$3" >"$T/m" || return
	echo "sha256:$(sha256sum <"$T/m" | cut -d' ' -f1)"
}

# complete URL REPO TAG: all of copy_images.py is there
complete() {
	[ "$(manifest "$1" "$2" "$3")" = "$multi" ] || fail "$2:$3"
	for d in $amd $arm $signature $witness; do
		[ "$(manifest "$1" "$2" "$d")" = "$d" ] || fail "$2@$d"
	done
	[ "$(manifest "$1" "$2" "sha256-${amd#sha256:}.sig")" = "$cosign" ] || fail "cosign's tag in $2"
	# what refers to what, as others find it where there is no list
	manifest "$1" "$2" "sha256-${multi#sha256:}" >/dev/null || fail "nothing refers to $2"
	grep -q "$signature.*vnd.example.signature.*org.example.signer" "$T/m" || fail "no signature of $2"
	manifest "$1" "$2" "sha256-${signature#sha256:}" >/dev/null || fail "nothing refers to the signature"
	grep -q "$witness" "$T/m" || fail "no attestation of $2"
	for f in "$L"/blobs/sha256/*; do
		d=sha256:${f##*/}
		grep -q "$d" "$T/digests" && continue
		[ "sha256:$(curl -sf "$1/v2/$2/blobs/$d" | sha256sum | cut -d' ' -f1)" = "$d" ] || fail "blob $d"
	done
}

# Only asked; then done; then again, which moves nothing.
copy 0 "oci:$L:multi" "docker://$A_URL/me/app:v1" --dry-run
has '^8 blobs to copy, 3.* kB'
if manifest "$A_URL" me/app v1; then fail "a dry run writes"; fi
copy 0 "oci:$L:multi" "docker://$A_URL/me/app:v1"
has '^6 manifests, 3 of signatures and the like$'
has '^8 blobs copied, 3.* kB; 0 taken from another repository, 0 there already$'
complete "$A_URL" me/app v1
copy 0 "oci:$L:multi" "docker://$A_URL/me/app:v1" --json
has '"blobs":0,"bytes":0,'

# To another registry without a file in between; and within one, without a byte.
copy 0 "docker://$A_URL/me/app:v1" "docker://$B_URL/you/app:v2" --json
has '"manifests":6,"referrers":3,"blobs":8,.*"blobs_sent":8,'
complete "$B_URL" you/app v2
copy 0 "docker://$B_URL/you/app@$multi" "docker://$B_URL/us/app:v3"
has '^0 blobs copied, 0 B; 8 taken from another repository, 0 there already$'
complete "$B_URL" us/app v3
copy 0 "docker://$B_URL/us/app:v3" "docker://$B_URL/alone/app:v3" --alone
if manifest "$B_URL" alone/app "$signature"; then fail "--alone takes a signature"; fi

# Back into a layout: the same blobs, and an index that lists the same.
copy 0 "docker://$B_URL/us/app:v3" "oci:$T/two:multi"
ls "$L/blobs/sha256" >"$T/want"
ls "$T/two/blobs/sha256" >"$T/have"
cmp "$T/want" "$T/have" || fail "not the same blobs"
(cd "$T/two/blobs/sha256" && for f in *; do echo "$f  $f"; done | sha256sum -c --quiet) || fail "a wrong blob"
for d in $multi $signature $witness $cosign; do
	grep -q "$d" "$T/two/index.json" || fail "the index does not list $d"
done
copy 0 "oci:$T/two:multi" "docker://$A_URL/back/app:v1"
complete "$A_URL" back/app v1
copy 0 "docker://$B_URL/us/app:v3" "oci:$T/two:multi"
has '^0 blobs copied, 0 B; 0 taken from another repository, 8 there already$'

# A name that means something else stays, unless it is said.
copy 2 "docker://$A_URL/me/app@$arm" "oci:$T/two:multi"
err_has "something else is there under that name: manifest $multi"
copy 0 "docker://$A_URL/me/app@$arm" "oci:$T/two:multi" --replace
grep -q "$arm" "$T/two/index.json" || fail "not replaced"

# A model of a store; and what is asked for wrongly.
copy 0 small:v1 "docker://$A_URL/me/small:v1"
[ "$(manifest "$A_URL" me/small v1)" = "sha256:$(sha256sum <"$MANIFEST" | cut -d' ' -f1)" ] || fail "model"
grep -q "of Docker's kind" "$T/out" && fail "of a registry"
copy 0 small:v1 "oci:$T/three:small"
has "^it is of Docker's kind, kept as it is: skopeo .* \"tbtui export --as oci\" makes one\$"
copy 0 "oci:$T/three" "docker://$B_URL/me/small:v1"
[ "$(manifest "$B_URL" me/small v1)" = "sha256:$(sha256sum <"$MANIFEST" | cut -d' ' -f1)" ] || fail "model"
# and out of a layout into a store again, the same model
run 0 import "oci:$T/three:small" back:v1
cmp "$MANIFEST" "$STORE/manifests/registry.ollama.ai/library/back/v1" || fail "another manifest"
run 2 import "oci:$T/three:small" back:v1
err_has 'back:v1: exists already'
run 0 import "oci:$T/three:small" back:v1 --replace
run 0 export small:v1 "oci:$T/export"
run 0 import "oci:$T/export:small:v1" exported:v1
cmp "$MANIFEST" "$STORE/manifests/registry.ollama.ai/library/exported/v1" || fail "another manifest"
run 2 import "oci:$L:multi" no:v1
mkdir "$T/empty"
rm -rf "$T/hurt"
cp -r "$T/three" "$T/hurt"
flip "$T/hurt/blobs/sha256/${OWN##*sha256-}" 200
expect 2 "$TBTUI" --db "$T/empty.db" -s "$T/empty" import "oci:$T/hurt:small" hurt:v1
err_has 'is damaged: its SHA-256'
[ ! -e "$T/empty/manifests" ] || [ -z "$(find "$T/empty/manifests" -type f)" ] || fail "half a model"
copy 2 small:v1 other:v1
err_has 'tbtui pull'
copy 2 small:v1 "oci:$T/three"
err_has 'say what it shall be called there'
copy 2 "oci:$T/nowhere:x" "oci:$T/three:x"
err_has 'nowhere: is not there'
copy 2 "oci:$L:nothing" "oci:$T/three:x"
err_has 'has no image "nothing"'
mkdir "$T/full"
echo x >"$T/full/x"
copy 2 "oci:$L:multi" "oci:$T/full:x"
err_has 'exists already, and is no OCI image layout'

# Wrong bytes of the source arrive nowhere.
server_start P proxy.py "$A_URL" --plan "$T/plan"
blobs='"match":"GET .*/blobs/"'
echo "[{$blobs,\"do\":\"cut\",\"at\":70000},{$blobs,\"do\":\"status\",\"status\":503},{$blobs,\"do\":\"reset\"}]" >"$T/plan"
copy 0 "docker://http://$P/me/app:v1" "docker://$B_URL/try/app:v1"
complete "$B_URL" try/app v1
echo '[{"match":"GET .*/blobs/","do":"wrong","at":100,"times":0}]' >"$T/plan"
copy 2 "docker://http://$P/me/app:v1" "docker://$B_URL/bad/app:v1"
err_has 'is damaged: its SHA-256'
if manifest "$B_URL" bad/app v1; then fail "a damaged image is there"; fi
copy 2 "docker://http://$P/me/app:v1" "oci:$T/four:x"
err_has 'is damaged: its SHA-256'
[ ! -e "$T/four/index.json" ] || fail "a damaged image is listed"
flip "$L/blobs/sha256/${arm#sha256:}" 50
copy 2 "oci:$L:multi" "docker://$B_URL/bad/app:v1"
err_has "${arm#sha256:}: is damaged"
flip "$L/blobs/sha256/${arm#sha256:}" 50

# What others make of it: Debian's skopeo, in both directions.
command -v skopeo >/dev/null || exit 0
skopeo copy -q --all --preserve-digests --src-tls-verify=false "docker://$B/us/app:v3" "oci:$T/five:multi" || fail "skopeo"
copy 0 "oci:$T/five:multi" "docker://$A_URL/five/app:v1"
[ "$(manifest "$A_URL" five/app v1)" = "$multi" ] || fail "from skopeo"
skopeo copy -q --all --preserve-digests --dest-tls-verify=false "oci:$L:multi" "docker://$A/six/app:v1" || fail "skopeo"
copy 0 "docker://$A_URL/six/app:v1" "oci:$T/six:multi"
has "^manifest $multi$"
skopeo inspect --raw "oci:$T/six:multi" | sha256sum | grep -q "^${multi#sha256:}" || fail "to skopeo"
