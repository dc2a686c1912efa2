#!/bin/sh
# Models of a Hugging Face hub, into a cache that `hf` accepts.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
. "$srcdir/tests/net/lib.sh"
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN \
	HF_HUB_OFFLINE
net_needs

A=1111111111111111111111111111111111111111
B=2222222222222222222222222222222222222222
HUB=$T/hub
CACHE=$T/cache
STORE=$CACHE

# with VARIABLE=VALUE STATUS WORD...: run() with that in its environment
with() {
	variable=$1
	want=$2
	shift 2
	expect "$want" env "$variable" "$TBTUI" --db "$T/index.db" -s "$STORE" "$@"
}

# says JSON [REPO]: hub.json of a repository
says() {
	printf '%s\n' "$1" >"$HUB/${2:-org/tiny}/hub.json"
}
REFS="\"refs\": {\"main\": \"$B\", \"v1\": \"$A\", \"refs/pr/1\": \"$A\"}"

mkdir -p "$HUB/org/tiny/$A" "$HUB/org/tiny/$B/deep" "$HUB/org/tiny/$B/original"
st w 400 4 3 >"$HUB/org/tiny/$A/model.safetensors"
echo '{"model_type":"small"}' >"$HUB/org/tiny/$A/config.json"
cp "$HUB/org/tiny/$A/model.safetensors" "$HUB/org/tiny/$B"
echo '{"model_type":"other"}' >"$HUB/org/tiny/$B/config.json"
echo 'a licence' >"$HUB/org/tiny/$B/LICENSE"
echo 'hello' >"$HUB/org/tiny/$B/deep/note.md"
: >"$HUB/org/tiny/$B/deep/empty.json"
head -c 3000 /dev/zero >"$HUB/org/tiny/$B/original/model.safetensors"
says "{$REFS}"
server_start H hub.py "$HUB" --page 2
HF_ENDPOINT=http://$H
export HF_ENDPOINT
REPO=$CACHE/models--org--tiny

# asked PATTERN: how many lines of the servers' log match
asked() {
	grep -Ec -- "$1" "$H_LOG"
}

# What would come, without a trace.
run 0 pull -n hf:org/tiny
has '^hf:org/tiny: .* in 3 files, commit 222222222222$'
has '^.* in 3 files would be loaded$'
has '^left out: 3 files, .*original/model.safetensors'
[ ! -e "$CACHE" ] || fail "a trace of what was only asked for"

# All of it, from several pages of the list, and by the other host without a token.
HF_TOKEN=hf_secret
export HF_TOKEN
run 0 pull hf:org/tiny
has '^hf:org/tiny: .* in 3 files, in .*/snapshots/2222'
[ "$(cat "$REPO/refs/main")" = $B ] || fail "refs/main: $(cat "$REPO/refs/main")"
cmp "$REPO/snapshots/$B/model.safetensors" "$HUB/org/tiny/$B/model.safetensors" || fail "bytes"
cmp "$REPO/snapshots/$B/config.json" "$HUB/org/tiny/$B/config.json" || fail "bytes"
[ "$(readlink "$REPO/snapshots/$B/config.json")" = \
	"../../blobs/$(git hash-object "$REPO/snapshots/$B/config.json")" ] ||
	fail "a link: $(readlink "$REPO/snapshots/$B/config.json")"
[ ! -e "$REPO/snapshots/$B/original" ] || fail "what was not wanted came"
asked '"server": "cdn".*authorization' | grep -qx 0 || fail "the other host saw the token"
asked '"server": "hub".*Bearer hf_secret' | grep -qx 0 && fail "the hub did not see the token"
[ -z "$(find "$REPO/.tbtui" -type f 2>/dev/null)" ] || fail "something is left: $(find "$REPO/.tbtui")"
run 0 ls --json
has '"name":"hf:org/tiny",.*"state":"hashed"'
run 0 pull -n --json hf:org/tiny
has '"bytes_to_check":0,'
run 0 verify
has '^clean: 1 model'
unset HF_TOKEN

# Once more: what was verified is not read, and nothing comes.
n=$(asked resolve)
run 0 pull hf:org/tiny
has '^hf:org/tiny: up to date, '
[ "$(asked resolve)" = "$n" ] || fail "files were asked for again"

# A revision of its own, by a tag, by a name with slashes, by its commit; what is shared does not
# come again.
run 0 --json pull hf:org/tiny@v1
has '"files_to_load":1,'
[ "$(cat "$REPO/refs/v1")" = $A ] || fail "refs/v1"
run 0 pull hf:org/tiny@refs/pr/1
[ "$(cat "$REPO/refs/refs/pr/1")" = $A ] || fail "refs/refs/pr/1"
run 0 pull hf:org/tiny@$A
[ ! -e "$REPO/refs/$A" ] || fail "a commit needs no name"
[ "$(cat "$REPO/refs/main")" = $B ] || fail "main has moved"
run 2 pull hf:org/tiny@v9
err_has 'no such branch, tag or commit: v9.*; there are main, v1$'

# Only what is wanted; folders of a snapshot; an empty file.
run 0 pull hf:org/tiny --include 'deep/'
has 'in 2 files'
[ -f "$REPO/snapshots/$B/deep/empty.json" ] || fail "deep/empty.json"
[ "$(cat "$REPO/snapshots/$B/deep/note.md")" = hello ] || fail "deep/note.md"
run 2 pull hf:org/tiny --include '*.pth'
err_has 'none of its 6 files matches'

# What programs of the hub's own make of it.
python3 "$srcdir/tests/net/hub_hf.py" "$CACHE" org/tiny main $B config.json model.safetensors deep/note.md \
	>"$T/out" 2>&1
case $? in
0 | 77) ;;
*)
	cat "$T/out" >&2
	fail "huggingface_hub does not take it"
	;;
esac

# What is there and damaged comes again, and the old one is kept.
W=$(sha256sum <"$HUB/org/tiny/$B/model.safetensors" | cut -d' ' -f1)
printf x | dd of="$REPO/blobs/$W" bs=1 seek=100 conv=notrunc 2>/dev/null
run 0 pull hf:org/tiny
has '^1 damaged file was replaced; "tbtui undo 1"'
cmp "$REPO/blobs/$W" "$HUB/org/tiny/$B/model.safetensors" || fail "damaged still"
run 0 undo 1
cmp -s "$REPO/blobs/$W" "$HUB/org/tiny/$B/model.safetensors" && fail "undo"
run 0 pull hf:org/tiny
ln -sf ../../blobs/nothing "$REPO/snapshots/$B/config.json"
run 0 pull hf:org/tiny
cmp "$REPO/snapshots/$B/config.json" "$HUB/org/tiny/$B/config.json" || fail "a wrong link stays"
rm "$REPO/blobs/$W"
run 0 pull hf:org/tiny
cmp "$REPO/blobs/$W" "$HUB/org/tiny/$B/model.safetensors" || fail "it was not there"

# Wrong bytes, and fewer, never become a file; what is refused is said.
for wrong in '"wrong": ["model.safetensors"]' '"wrong": ["config.json"]' \
	'"short": {"model.safetensors": 100}'; do
	rm -rf "$CACHE"
	says "{$REFS, $wrong}"
	run 2 pull hf:org/tiny
	[ -z "$(find "$REPO/blobs" "$REPO/snapshots" "$REPO/refs" -mindepth 1)" ] ||
		fail "$wrong: $(find "$CACHE")"
done
says "{$REFS, \"fail\": {\"resolve\": [503, 1], \"tree\": [429, 1]}}"
run 0 pull hf:org/tiny
rm -rf "$CACHE"
says "{$REFS, \"whole\": true, \"uses\": 1}"
run 0 pull hf:org/tiny

# Who may not.
says "{$REFS, \"token\": \"hf_right\"}"
run 2 pull hf:org/tiny
err_has 'a private one; if the name is right, log in'
with HF_TOKEN=hf_wrong 2 pull hf:org/tiny
err_has 'the one shown may not'
with HF_TOKEN=hf_right 0 pull hf:org/tiny
rm -rf "$CACHE"
says "{$REFS, \"token\": \"hf_right\", \"gated\": true}"
run 2 pull hf:org/tiny
err_has 'accepted its terms'
err_has 'is restricted'
with HF_TOKEN=hf_right 0 pull hf:org/tiny
run 2 pull hf:org/other
err_has 'no such repository'
with HF_HUB_OFFLINE=1 2 pull hf:org/tiny
err_has 'HF_HUB_OFFLINE'

# A hub that lies about names, and one that leads its list elsewhere.
rm -rf "$CACHE"
for name in ../../evil /tmp/evil a/../../evil 'a\\..\\evil' 'a\nb' 'a\u0000b' config.json .. a//b; do
	says "{$REFS, \"names\": {\"LICENSE\": \"$name\"}}"
	run 2 pull hf:org/tiny
	err_has 'nothing of it is taken|cannot both be|NUL|character'
	[ ! -e "$CACHE" ] || fail "$name: $(find "$CACHE")"
done
says "{$REFS, \"next\": \"http://localhost:${H#*:}/api/models/x\"}"
with HF_TOKEN=hf_right 2 pull hf:org/tiny
err_has 'another server; nothing was asked there'

# Where it goes when nobody says: the cache that hf would use.
says "{$REFS}"
expect 0 env HF_HOME="$T/hfhome" "$TBTUI" --db "$T/index.db" pull hf:org/tiny
[ -e "$T/hfhome/hub/models--org--tiny/refs/main" ] || fail "HF_HOME"
expect 0 env XDG_CACHE_HOME="$T/xdg" "$TBTUI" --db "$T/index.db" pull hf:org/tiny
[ -e "$T/xdg/huggingface/hub/models--org--tiny/refs/main" ] || fail "XDG_CACHE_HOME"
expect 0 env XDG_CACHE_HOME="$T/xdg" "$TBTUI" --db "$T/index.db" scan
has 'hf:org/tiny'
mkdir -p "$T/full/x"
expect 2 "$TBTUI" --db "$T/index.db" -s "$T/full" pull hf:org/tiny
err_has 'no cache as hf keeps it'

# One of several GGUF.
mkdir -p "$HUB/org/gguf/$A"
says "{\"refs\": {\"main\": \"$A\"}}" org/gguf
for q in Q4_0 Q8_0; do
	printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$HUB/org/gguf/$A/m-$q.gguf"
	echo $q >>"$HUB/org/gguf/$A/m-$q.gguf"
done
run 2 pull hf:org/gguf
err_has 'say which, like hf:org/gguf:Q4_0: Q4_0 \(.*\), Q8_0'
run 0 pull hf:org/gguf:Q8_0
[ "$(ls "$CACHE/models--org--gguf/snapshots/$A")" = m-Q8_0.gguf ] || fail "which"
run 0 ls --json 'hf:org/gguf*'
has '"state":"hashed"'
run 2 show hf:org/gguf
err_has 'did you mean "hf:org/gguf/m-Q8_0\.gguf"\? \(--remote looks'
for name in hf:org/gguf:Q8_0 hf:org/gguf:q8_0 hf:org/gguf:m-Q8_0.gguf "hf:org/gguf@$A:Q8_0" hf:org/gguf@main:Q8_0; do
	run 0 show "$name"
	has "^path +.*/snapshots/$A/m-Q8_0\.gguf\$"
done
for name in hf:org/gguf:Q4_0 hf:org/gguf:8_0 hf:org/gguf@none:Q8_0 hf:org/gguf:; do
	run 2 show "$name"
	grep -q "snapshots/" "$T/err" && fail "$name is another one"
done

# A large one, in parts, killed again and again: what came does not come twice, and no half of it is
# ever seen.
mkdir -p "$HUB/org/large/$A"
says "{\"refs\": {\"main\": \"$A\"}, \"rate\": 2000000}" org/large
head -c 9000000 /dev/urandom >"$T/noise"
{ st w 1 1 3; cat "$T/noise"; } >"$HUB/org/large/$A/model.safetensors"
echo '{}' >"$HUB/org/large/$A/config.json"
L=$CACHE/models--org--large
: >"$H_LOG"
for kb in 1500 3000; do
	"$TBTUI" --db "$T/index.db" -s "$CACHE" pull hf:org/large --streams 4 >"$T/out" 2>&1 &
	pid=$!
	for _ in $(seq 200); do
		[ "$(du -sk "$L/.tbtui/pull" 2>/dev/null | cut -f1)" -gt $kb ] 2>/dev/null && break
		sleep 0.05
	done
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ ! -e "$L/refs/main" ] || fail "too fast to be killed"
	[ -z "$(find "$L/blobs" "$L/snapshots" -type f 2>/dev/null)" ] || fail "half of it is seen"
done
says "{\"refs\": {\"main\": \"$A\"}}" org/large
run 0 --json pull hf:org/large --streams 4
moved=$(sed -n 's/.*"bytes_moved":\([0-9]*\).*/\1/p' "$T/out")
cmp "$L/snapshots/$A/model.safetensors" "$HUB/org/large/$A/model.safetensors" || fail "bytes"
[ "$moved" -lt 7000000 ] || fail "$moved of 9000000 bytes came though 3 MB were there"

# What `hf` began to load is gone on with, and stays; what is no beginning of it does no harm.
says "{\"refs\": {\"main\": \"$A\"}}" org/large
W=$(sha256sum <"$HUB/org/large/$A/model.safetensors" | cut -d' ' -f1)
for begun in good wrong; do
	rm -rf "$L"
	mkdir -p "$L/blobs"
	head -c 8000000 "$HUB/org/large/$A/model.safetensors" >"$L/blobs/$W.0a1b2c3d.incomplete"
	head -c 1000 "$HUB/org/large/$A/model.safetensors" >"$L/blobs/$W.ffffffff.incomplete"
	[ $begun = good ] || printf x | dd of="$L/blobs/$W.0a1b2c3d.incomplete" bs=1 seek=999 \
		conv=notrunc 2>/dev/null
	run 0 --json pull hf:org/large
	moved=$(sed -n 's/.*"bytes_moved":\([0-9]*\).*/\1/p' "$T/out")
	cmp "$L/snapshots/$A/model.safetensors" "$HUB/org/large/$A/model.safetensors" || fail "bytes"
	[ -e "$L/blobs/$W.0a1b2c3d.incomplete" ] || fail "it is gone"
	[ $begun = wrong ] || [ "$moved" -lt 2000000 ] || fail "$moved bytes came"
done

# What another store has of it does not come again, whatever it is called there.
mkdir -p "$T/ollama/blobs" "$T/ollama/manifests"
cp "$HUB/org/large/$A/model.safetensors" "$T/ollama/blobs/sha256-$W"
rm -rf "$L"
expect 0 "$TBTUI" --db "$T/index.db" -s "$CACHE" -s "$T/ollama" --json pull hf:org/large
has '"bytes_moved":3,'
cmp "$L/snapshots/$A/model.safetensors" "$HUB/org/large/$A/model.safetensors" || fail "bytes"
cp -r "$HUB/org/large" "$HUB/org/fork"
printf x | dd of="$L/blobs/$W" bs=1 seek=1999999 conv=notrunc 2>/dev/null
run 0 --json pull hf:org/fork
cmp "$CACHE/models--org--fork/snapshots/$A/model.safetensors" "$HUB/org/large/$A/model.safetensors" ||
	fail "what was damaged elsewhere was taken"

# Two at once: both end well, and what both want comes once or twice, whole.
rm -rf "$L" "$CACHE/models--org--fork"
says "{\"refs\": {\"main\": \"$A\"}, \"rate\": 20000000}" org/large
"$TBTUI" --db "$T/index.db" -s "$CACHE" pull hf:org/large >"$T/first" 2>&1 &
pid=$!
run 0 pull hf:org/large
wait $pid || fail "the other: $(cat "$T/first")"
cmp "$L/snapshots/$A/model.safetensors" "$HUB/org/large/$A/model.safetensors" || fail "bytes"
[ -z "$(find "$L/.tbtui" -type f)" ] || fail "something is left: $(find "$L/.tbtui")"

# No way back from TLS, and certificates are looked at.
net_certificates
server_start S hub.py "$HUB" --pem "$NET/server.pem"
HF_ENDPOINT=https://$S
HF_TOKEN=hf_secret
export HF_TOKEN
rm -rf "$CACHE"
says "{$REFS, \"lfs\": 1000}"
run 2 pull hf:org/tiny
err_has 'certificate'
mkdir -p "$XDG_CONFIG_HOME/tbtui"
echo "registry $S ca $NET_CA" >"$XDG_CONFIG_HOME/tbtui/config"
run 0 pull hf:org/tiny
grep '"server": "cdn"' "$S_LOG" | grep -q Authorization && fail "the other host saw the token"
rm -rf "$CACHE"
says "{$REFS, \"plain\": true}"
run 2 pull hf:org/tiny
err_has 'from https to http'
