#!/bin/sh
# Models go to registries: what is sent and what is not, what is there afterwards, and nothing half.
. "${srcdir:-.}/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
. "$srcdir/tests/net/lib.sh"

net_needs docker-registry curl
model "$STORE" small v1 1
FIRST=$MANIFEST
FIRST_OWN=$OWN
model "$STORE" small v2 20
SECOND=$MANIFEST
registry_start A

digest() {
	echo "sha256:$(sha256sum <"$1" | cut -d' ' -f1)"
}

# there URL REPO TAG FILE: the registry has that manifest, byte for byte, and all of its blobs
there() {
	curl -sf -o "$T/there" -H 'Accept: application/vnd.docker.distribution.manifest.v2+json' \
		-H 'Accept: application/vnd.oci.image.manifest.v1+json' "$1/v2/$2/manifests/$3" || fail "no manifest $2:$3"
	cmp "$4" "$T/there" || fail "$2:$3 is not what was pushed"
	for d in $(grep -o 'sha256:[0-9a-f]*' "$4"); do
		[ "sha256:$(curl -sfL "$1/v2/$2/blobs/$d" | sha256sum | cut -d' ' -f1)" = "$d" ] ||
			fail "$2: blob $d"
	done
}

# absent URL REPO TAG
absent() {
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$1/v2/$2/manifests/$3")" = 404 ] ||
		fail "$2:$3 is there"
}

# Before: only questions.
run 0 push small:v1 "$A_URL/me/small:v1" --dry-run
has "^http://$A/me/small:v1: 5 of 5 blobs to send, 1\.[0-9] kB"
absent "$A_URL" me/small v1
if grep -q 'POST' "$A_LOG"; then fail "a dry run sends"; fi

run 0 push small:v1 "$A_URL/me/small:v1"
has '^5 blobs sent, .*; 0 taken from another repository, 0 there already$'
has "^manifest $(digest "$FIRST")$"
there "$A_URL" me/small v1 "$FIRST"

# Again: nothing. Another of which most is there: the rest.
run 0 push small:v1 "$A_URL/me/small:v1"
has 'is there already, with this manifest'
run 0 push small:v2 "$A_URL/me/small:v2" --json
has '"blobs":5,.*"blobs_sent":2,"blobs_mounted":0,"blobs_there":3,'
there "$A_URL" me/small v2 "$SECOND"

# What another repository of the same registry got from here is taken from there.
run 0 push small:v1 "$A_URL/you/small:v1"
has '^0 blobs sent, 0 B; 5 taken from another repository, 0 there already$'
there "$A_URL" you/small v1 "$FIRST"

# A tag that means something else stays, unless it is said.
run 2 push small:v2 "$A_URL/me/small:v1"
err_has "another model is there under that name: manifest $(digest "$FIRST"), 1\.[0-9] kB. Replace it"
there "$A_URL" me/small v1 "$FIRST"
run 0 push small:v2 "$A_URL/me/small:v1" --replace --json
has "\"replaced\":\"$(digest "$FIRST")\""
there "$A_URL" me/small v1 "$SECOND"

# Names that no registry takes, before anything is sent.
run 2 push small:v1 "$A_URL/Me/Small:V1"
err_has "small letters alone; push it as $A/me/small:V1"
run 2 push small:v1
err_has 'only Ollama pushes to its library; say where to'
run 2 push small:v1 "$A_URL/me/small@$(digest "$FIRST")"
err_has 'under a tag'
run 2 push nobody:v1 "$A_URL/me/small:v1"
run 2 push small:v1 "http://192.0.2.1/me/small:v1"
err_has 'without TLS'

# A damaged blob is not sent, and then nothing refers to it; nor is one that is cut short.
flip "$FIRST_OWN" 200
rm -rf "$STORE/.tbtui"
run 2 push small:v1 "$A_URL/bad/small:v1"
err_has "$FIRST_OWN: is damaged: its SHA-256 is .*so it was not sent; \"tbtui verify\" says more"
absent "$A_URL" bad/small v1
[ "$(curl -s -o /dev/null -w '%{http_code}' "$A_URL/v2/bad/small/blobs/sha256:${FIRST_OWN##*sha256-}")" = 404 ] ||
	fail "the registry has the damaged blob"
flip "$FIRST_OWN" 200
cp "$FIRST_OWN" "$T/whole"
truncate -s 100 "$FIRST_OWN"
run 2 push small:v1 "$A_URL/bad/small:v1"
err_has "$FIRST_OWN: is damaged: it has 100 bytes, not"
absent "$A_URL" bad/small v1
cp "$T/whole" "$FIRST_OWN"

# Long blobs go in pieces; what breaks is gone on with, or begun anew.
st model.long.weight 100 1000 3 >"$T/blob"
blob "$STORE"
LONG=$DIGEST
mkdir -p "$STORE/manifests/registry.ollama.ai/library/long"
THIRD=$STORE/manifests/registry.ollama.ai/library/long/v1
printf '{"schemaVersion":2,"config":%s,"layers":[%s]}' "$config" "$(layer tensor model.long.weight)" >"$THIRD"
run 0 push long:v1 "$A_URL/me/long:v1" --chunk 100k
there "$A_URL" me/long v1 "$THIRD"
[ "$(grep -c '"PATCH /v2/me/long' "$A_LOG")" -eq 5 ] || fail "not five pieces"

server_start P proxy.py "$A_URL" --plan "$T/plan"
for faults in '{"match":"PATCH","do":"deaf","at":50000,"skip":2},{"match":"PUT .*/blobs/","do":"close"},
	{"match":"HEAD","do":"reset"},{"match":"PUT .*/manifests/","do":"status","status":503}' \
	'{"match":"PATCH","do":"lost","skip":1},{"match":"POST","do":"status","status":503},
	{"match":"PATCH","do":"status","status":404,"skip":3},{"match":"PUT .*/manifests/","do":"lost"}'
do
	n=$((${n:-0} + 1))
	echo "[$faults]" >"$T/plan"
	rm -rf "$STORE/.tbtui"
	run 0 push long:v1 "http://$P/try/long$n:v1" --chunk 100k
	there "$A_URL" "try/long$n" v1 "$THIRD"
done
echo '[{"match":"PUT .*/blobs/","do":"status","status":403,"times":0}]' >"$T/plan"
rm -rf "$STORE/.tbtui"
run 2 push long:v1 "http://$P/try/never:v1"
absent "$A_URL" try/never v1
# a server that gives out addresses at which nothing is, is not asked for ever
echo '[{"match":"(PUT|PATCH|GET) .*/uploads/","do":"status","status":404,"times":0}]' >"$T/plan"
: >"$A_LOG"
run 2 push long:v1 "http://$P/try/never:v1" --streams 1
[ "$(grep -c '"POST ' "$A_LOG")" -eq 3 ] || fail "$(grep -c '"POST ' "$A_LOG") sessions"
server_stop P

# Ollama's own differs: whole blobs, or pieces, go elsewhere.
for uploads in redirect direct; do	# "plain" is below
	mkdir "$T/$uploads"
	server_start O ollama_registry.py "$T/$uploads" --uploads $uploads
	run 0 push long:v1 "http://$O/me/long:v1" --chunk 150k
	cmp "$THIRD" "$T/$uploads/manifests/registry.ollama.ai/me/long/v1" || fail "manifest, $uploads"
	[ "$(digest "$T/$uploads/blobs/sha256-${LONG#sha256:}")" = "$LONG" ] || fail "blob, $uploads"
	server_stop O
done

# After a kill the registry is asked how far it is, and what is there was hashed again.
head -c 12000000 /dev/zero >"$T/blob"
blob "$STORE"
HUGE=$DIGEST
FOURTH=${THIRD%/*}/v2
printf '{"schemaVersion":2,"config":%s,"layers":[%s]}' "$config" "$(layer tensor model.huge.weight)" >"$FOURTH"
mkdir "$T/kill"
server_start O ollama_registry.py "$T/kill"
patches() {
	grep -c '"PATCH' "$O_LOG"
}
"$TBTUI" --db "$T/index.db" -s "$STORE" push long:v2 "http://$O/me/long:v2" --chunk 50k >"$T/out" 2>&1 &
PID=$!
while [ "$(patches)" -lt 40 ] && kill -0 $PID; do sleep 0.02; done
kill -9 $PID
wait $PID 2>/dev/null
KILLED=$(patches)
[ "$KILLED" -lt 230 ] || skip "too fast to be killed in time"
[ ! -e "$T/kill/blobs/sha256-${HUGE#sha256:}" ] || fail "a blob before its end"
ls "$STORE/.tbtui/push/${HUGE#sha256:}"-*.upload >"$T/out" || fail "nowhere to go on"
run 0 push long:v2 "http://$O/me/long:v2" --chunk 50k
cmp "$FOURTH" "$T/kill/manifests/registry.ollama.ai/me/long/v2" || fail "manifest after a kill"
[ "$(digest "$T/kill/blobs/sha256-${HUGE#sha256:}")" = "$HUGE" ] || fail "blob after a kill"
[ "$(patches)" -le 250 ] || fail "$(patches) pieces for 240: $KILLED before the kill"
if ls "$STORE"/.tbtui/push/*.upload 2>/dev/null; then fail "something is left over"; fi
