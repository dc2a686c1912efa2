#!/bin/sh
# pull: a model from a stock registry into a store: whole, with right bytes, or not at all.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry
registry_start A
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
lib=$T/demo/manifests/registry.ollama.ai/library
for tag in int4 int8; do
	registry_put "$A_URL" "$T/demo" "$lib/demo/$tag" ns/demo $tag
done
S=$T/store
name=$A/ns/demo:int4
manifest=$S/manifests/$A/ns/demo/int4
mkdir -p "$S/blobs" "$S/manifests"
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }
requests() { grep -c "GET /v2/ns/demo/$1" "$A_LOG"; }
count() { ls "$S/blobs" | wc -l; }

# every blob is what its name says, and the manifest's bytes are the registry's
whole() {
	(cd "$S/blobs" && for b in sha256-*; do echo "${b#sha256-}  $b"; done | sha256sum -c --quiet) ||
		fail "a blob is wrong: $1"
}

# ---- before: what would come, and nothing is made ----
expect 0 tb pull --dry-run "http://$name"
has "^$name: 578 kB in 43 blobs, from http://$name\$"
has '^578 kB in 43 blobs would be loaded$'
[ "$(find "$S" | wc -l)" = 3 ] || fail "a dry run makes something"

# ---- the model ----
expect 0 tb pull "http://$name"
has "^$name: 578 kB in 43 blobs, in $S\$"
has '^578 kB loaded from '
cmp "$manifest" "$lib/demo/int4" || fail "the manifest has other bytes"
whole "the first pull"
expect 0 tb ls
has "^$name "
[ "$(count)" = 43 ] || fail "not 43 blobs"
[ -z "$(find "$S/.tbtui" -type f -size +0)" ] || fail "something is left in .tbtui"

# What it has hashed is known: nobody hashes it again who need not.
hashed() {
	expect 0 tb ls --json
	has "\"name\":\"$1\",.*\"state\":\"hashed\""
}
hashed "$name"
expect 0 tb pull --dry-run --json "http://$name"
has '"bytes_to_load":0,.*"bytes_to_check":0,'
expect 2 tb verify --since 1h
has '^1 model, all found good since .*; nothing read$'
expect 0 tb verify
has 'clean: 1 model'

# ---- what is there is not loaded again ----
before=$(requests blobs)
expect 0 tb pull "http://$name" --json
has '"current":true,"blobs":43,"bytes":578054,"blobs_loaded":0,"bytes_loaded":0,"bytes_moved":0'
expect 0 tb pull "http://$name" mine
has "^mine:latest: 578 kB in 43 blobs, in $S\$"
cmp "$S/manifests/registry.ollama.ai/library/mine/latest" "$manifest" || fail "another manifest"
[ "$(requests blobs)" = "$before" ] || fail "blobs were loaded again"

# ---- what was there and unknown is hashed once ----
rm "$T"/index.db*
expect 0 tb pull --dry-run --json "http://$name"
has '"bytes_to_check":578054,'
expect 0 tb pull "http://$name"
expect 0 tb pull --dry-run --json "http://$name"
has '"bytes_to_check":0,'
hashed "$name"

# ---- what a pull that was killed at its very end left is not kept ----
one=$(ls "$S"/blobs/* | head -1)
mkdir -p "$S/.tbtui/pull"
cp "$one" "$S/.tbtui/pull/${one##*sha256-}.done"
expect 0 tb pull "http://$name"
[ -z "$(find "$S/.tbtui" -type f -size +0)" ] || fail "what is in its place is kept twice"

# ---- what is damaged is found, though its size is right, and replaced; what is missing comes ----
big=$(ls -S "$S"/blobs/* | head -1)
gone=$(ls -S "$S"/blobs/* | sed -n 2p)
printf X | dd of="$big" bs=1 seek=1000 conv=notrunc 2>/dev/null
cp "$big" "$T/damaged"
rm "$gone"
expect 0 tb pull "http://$name"
has '^1 damaged blob was replaced; "tbtui undo 1" has what was there$'
whole "a mended store"
[ "$(requests blobs)" = $((before + 2)) ] || fail "more than two blobs came"
expect 0 tb undo 1 --yes
cmp "$big" "$T/damaged" || fail "undo does not bring back what was there"
expect 0 tb pull "http://$name"
whole "mended again"
# one of another size, and one that is a folder
: >"$big"
rm "$gone"
mkdir "$gone"
expect 0 tb pull "http://$name"
has '^2 damaged blobs were replaced'
whole "a store with an empty blob and a folder"

# ---- a name that is taken ----
expect 2 tb pull "http://$A/ns/demo:int8" "$name"
err_has 'another model of that name; --replace'
cmp "$manifest" "$lib/demo/int4" || fail "replaced without being asked"
expect 0 tb pull --dry-run "http://$A/ns/demo:int8" "$name"
has '^the store has another model of that name'
expect 0 tb pull --replace "http://$A/ns/demo:int8" "$name" --json
has '"replaced":\{"'
cmp "$manifest" "$lib/demo/int8" || fail "not replaced"
cmp "$manifest".replaced-* "$lib/demo/int4" || fail "what was replaced is not kept"

# ---- wrong names, and the registry's own words ----
expect 2 tb pull "http://$A/ns/demo:nope"
err_has "$A: ns/demo:nope: not there: \"manifest unknown\"; there is int4, int8"
expect 2 tb pull "http://$A/ns/nope"
err_has 'ns/nope:latest: not there: "manifest unknown"'
expect 2 tb pull 'a b'
err_has 'not a name in a registry'
expect 2 tb pull "docker://http://$A/a/b/c"
err_has 'say behind it what it shall be called'
expect 2 tb pull "$name"
err_has "no TLS there; .*--insecure, or write \"registry $A plain\" into the configuration\$"
expect 2 tb pull "http://192.0.2.1/ns/demo"
err_has 'all in between can read and change .* --insecure'
expect 2 tb pull --insecure "https://$name"
err_has 'are not one thing'
digest=sha256:$(sha256sum "$lib/demo/int4" | cut -d' ' -f1)
expect 0 tb pull "http://$A/ns/demo@$digest" --json
has "\"name\":\"$A/ns/demo:$(echo "$digest" | cut -c8-19)\".*\"digest\":\"$digest\""

# ---- --insecure is plain HTTP, and says so ----
expect 0 tb pull --insecure "$name" other
err_has 'tbtui: --insecure: plain HTTP'

# ---- a blob that is damaged in the registry: nothing of the model is to be seen ----
rm -rf "$S"
mkdir -p "$S/blobs" "$S/manifests"
hex=$(basename "$big" | cut -c8-)
data=$A_DIR/docker/registry/v2/blobs/sha256/$(echo "$hex" | cut -c1-2)/$hex/data
cp "$data" "$T/good"
printf X | dd of="$data" bs=1 seek=1000 conv=notrunc 2>/dev/null
expect 2 tb pull "http://$A/ns/demo:int4"
err_has "$hex|digest"
[ "$(count)" = 0 ] && [ ! -e "$manifest" ] || fail "half a model is in the store"
cp "$T/good" "$data"
expect 0 tb pull "http://$A/ns/demo:int4" --json
has '"blobs_loaded":43,"bytes_loaded":578054,"bytes_moved":(1[0-9]|[0-9])[0-9][0-9][0-9][0-9],'
whole "after a blob that was wrong"

# ---- two at once: each blob comes once, one model is there ----
rm -rf "$S/blobs" "$S/manifests" "$S/.tbtui"
mkdir -p "$S/blobs" "$S/manifests"
before=$(requests blobs)
for i in 1 2 3; do
	tb pull "http://$name" >"$T/out$i" 2>&1 &
	eval "pid$i=$!"
done
wait "$pid1" || { cat "$T"/out?; fail "one of three pulls"; }
wait "$pid2" || { cat "$T"/out?; fail "one of three pulls"; }
wait "$pid3" || { cat "$T"/out?; fail "one of three pulls"; }
whole "three pulls at once"
cmp "$manifest" "$lib/demo/int4" || fail "no manifest of three pulls"
[ "$(requests blobs)" -le $((before + 60)) ] || fail "three pulls load everything three times"

# ---- a store that cannot be written to ----
if [ "$(id -u)" != 0 ]; then
	chmod a-w "$S" "$S/blobs" "$S/manifests" "$S/.tbtui"
	expect 2 tb pull "http://$A/ns/demo:int8"
	err_has 'Permission denied'
	chmod u+w "$S" "$S/blobs" "$S/manifests" "$S/.tbtui"
fi

# ---- TLS: who answers is looked at, unless that was forbidden, which is said loudly ----
server_stop A
registry_start B tls
registry_put "$B_URL" "$T/demo" "$lib/demo/int8" ns/demo int8
expect 2 tb pull "$B/ns/demo:int8"
err_has 'certificate is not to be trusted'
expect 0 tb pull --quiet --tls-skip-verify "$B/ns/demo:int8"
err_has 'NOBODY CHECKS WHO ANSWERS'
SSL_CERT_FILE=$NET_CA expect 0 tb pull "$B/ns/demo:int8" again
whole "TLS"
