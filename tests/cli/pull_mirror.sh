#!/bin/sh
# pull: mirrors of the configuration are asked first, and believed as little as anybody.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry
registry_start A
registry_start M
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
lib=$T/demo/manifests/registry.ollama.ai/library
for url in "$A_URL" "$M_URL"; do
	registry_put "$url" "$T/demo" "$lib/demo/int4" ns/demo int4
done
registry_put "$A_URL" "$T/demo" "$lib/demo/int8" ns/demo int8
S=$T/store
mkdir -p "$XDG_CONFIG_HOME/tbtui"
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }
fresh() {
	rm -rf "$S"
	mkdir -p "$S/blobs" "$S/manifests"
}
asked() { grep -c '"GET /v2/ns/demo/' "$1"; }
mirror() { echo "registry $A mirror $1" >"$XDG_CONFIG_HOME/tbtui/config"; }

# ---- all of it comes from there ----
fresh
mirror "$M_URL"
before=$(asked "$A_LOG")
expect 0 tb pull "http://$A/ns/demo:int4"
cmp "$S/manifests/$A/ns/demo/int4" "$lib/demo/int4" || fail "another manifest"
[ "$(asked "$A_LOG")" = "$before" ] || fail "the registry was asked beside its mirror"
[ "$(asked "$M_LOG")" -ge 44 ] || fail "the mirror was not asked"

# ---- what it has not comes from the registry ----
expect 0 tb pull "http://$A/ns/demo:int8"
expect 2 tb pull "http://$A/ns/demo:nope"
err_has 'there is int4, int8'
fresh
docker_blobs=$M_DIR/docker/registry/v2/blobs/sha256
lost=$(ls -S "$docker_blobs"/*/*/data | head -1)
cp "$lost" "$T/lost"
rm "$lost"
expect 0 tb pull "http://$A/ns/demo:int4"

# ---- what is wrong there comes once more, from the registry ----
fresh
cp "$T/lost" "$lost"
printf X | dd of="$lost" bs=1 seek=1000 conv=notrunc 2>/dev/null
before=$(asked "$A_LOG")
expect 0 tb pull "http://$A/ns/demo:int4"
[ "$(asked "$A_LOG")" -gt "$before" ] || fail "a wrong blob does not come from the registry"
expect 0 tb verify
has 'clean: 1 model'

# ---- one that does not answer is left alone ----
fresh
server_stop M
expect 0 tb pull "http://$A/ns/demo:int4" --json
has '"blobs_loaded":43.*"seconds":[012]\.'
expect 0 tb verify
has 'clean: 1 model'
