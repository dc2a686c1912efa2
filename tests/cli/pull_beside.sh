#!/bin/sh
# pull beside others who take away, verify and pull, behind a kill, and on a full disk: nothing is
# lost, nothing half is to be seen, and what came is used.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry
registry_start A
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
lib=$T/demo/manifests/registry.ollama.ai/library
registry_put "$A_URL" "$T/demo" "$lib/demo/int4" ns/demo int4
server_start P proxy.py "$A_URL" --rate 250000		# the 578 kB take two seconds
S=$T/store
manifest=$S/manifests/registry.ollama.ai/library/two/latest
mkdir -p "$S/blobs" "$S/manifests"
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }

# every blob is what its name says
whole() {
	(cd "$S/blobs" && for b in sha256-*; do echo "${b#sha256-}  $b"; done | sha256sum -c --quiet) ||
		fail "a blob is wrong: $1"
}

# until a pull has begun to load something
wait_for_bytes() {
	for _ in $(seq 200); do
		[ -z "$(find "$S/.tbtui/pull" -type f -size +0 2>/dev/null)" ] || return 0
		sleep 0.02
	done
	cat "$T/pull" >&2
	fail "nothing comes"
}

pull_begins() {
	# not through a function: a signal is for the program, not for a shell around it
	"$TBTUI" --db "$T/index.db" -s "$S" pull "http://$P/ns/demo:int4" "$@" >"$T/pull" 2>&1 &
	pid=$!
	wait_for_bytes
}

pull_ends() {
	wait $pid || { cat "$T/pull" >&2; fail "$1"; }
	whole "$1"
	cmp "$manifest" "$lib/demo/int4" || fail "$1: no manifest"
}

# ---- what was pulled can go at once ----
expect 0 tb pull "http://$A/ns/demo:int4" one
expect 0 tb rm one --yes
has '44 files: moved'
expect 0 tb undo 1 --yes

# ---- what was there is taken away while the rest comes: rm spares it, others do not know ----
rm "$(ls -S "$S"/blobs/* | head -1)"
pull_begins two
expect 0 tb rm one --yes
has 'left alone: 42 files, .* a download is under way'
rm "$S"/blobs/*
pull_ends "a pull while blobs go away"
expect 0 tb verify
has 'clean: 1 model'

# ---- prune, verify, scan, undo: none of them has to wait, nor takes what comes ----
rm -rf "$S/blobs" "$S/manifests" "$S/.tbtui"
mkdir -p "$S/blobs" "$S/manifests"
pull_begins two
for words in "prune --yes" "prune --yes --all" "verify" "scan" "blobs" "undo --list" "stores" "doctor"; do
	# shellcheck disable=SC2086
	timeout 20 "$TBTUI" --db "$T/index.db" -s "$S" $words >"$T/out" 2>"$T/err" </dev/null
	got=$?
	[ $got -le 2 ] || fail "$words: $got"
	case $words in		# the others as far as there is time
	prune*) kill -0 $pid 2>/dev/null || fail "the pull has ended before $words" ;;
	*) kill -0 $pid 2>/dev/null || break ;;
	esac
done
pull_ends "a pull beside prune"
expect 0 tb verify
has 'clean: 1 model'

# ---- killed: nothing is to be seen, and the next one goes on ----
rm -rf "$S/blobs" "$S/manifests" "$S/.tbtui"
mkdir -p "$S/blobs" "$S/manifests"
pull_begins two
sleep 0.5
kill -9 $pid
wait $pid 2>/dev/null
[ "$(ls "$S/blobs" | wc -l)" = 0 ] && [ ! -e "$manifest" ] || fail "half a model behind a kill"
expect 0 tb pull "http://$P/ns/demo:int4" two --dry-run
has ' of that lie there from a pull that did not end$'
expect 0 tb pull "http://$P/ns/demo:int4" two --json
moved=$(sed -n 's/.*"bytes_moved":\([0-9]*\).*/\1/p' "$T/out")
[ "$moved" -lt 500000 ] || fail "of 578 kB $moved came again"
whole "behind a kill"
[ -z "$(find "$S/.tbtui" -type f -size +0)" ] || fail "something is left over"

# ---- cancelled, or told to end: what is kept is said, and the latter ends by its signal ----
for signal in INT:2 TERM:143; do
	rm -rf "$S/blobs" "$S/manifests" "$S/.tbtui"
	mkdir -p "$S/blobs" "$S/manifests"
	pull_begins two
	sleep 0.3
	kill -"${signal%:*}" $pid
	wait $pid
	[ $? = "${signal#*:}" ] || fail "a pull ends otherwise by $signal"
	grep -q 'B came, which is kept: the same command goes on with it$' "$T/pull" ||
		{ cat "$T/pull" >&2; fail "nothing is kept"; }
	[ "$(ls "$S/blobs" | wc -l)" = 0 ] && [ ! -e "$manifest" ] || fail "half a model behind $signal"
done

# ---- a disk that is full from the beginning, or gets full while bytes come ----
mkdir -p "$T/small"
cat >"$T/full.sh" <<'END'
mount -t tmpfs -o size="$3"k none "$2" || exit 77
mkdir "$2/blobs" "$2/manifests"
[ "$4" = 0 ] || {	# the room was enough when the pull began
	for _ in $(seq 500); do
		[ -z "$(find "$2/.tbtui/pull" -type f -size +0 2>/dev/null)" ] || break
		sleep 0.02
	done
	cat /dev/zero >"$2/other" 2>/dev/null
} &
"$1" --db "$2/../small.db" -s "$2" pull "$5" two >"$2/../out" 2>"$2/../err"
got=$?
wait
find "$2/blobs" "$2/manifests" -type f >"$2/../left"
[ "$4" = 0 ] && exit $got
rm "$2/other"
"$1" --db "$2/../small.db" -s "$2" pull "$5" two --json >"$2/../again" 2>&1 || exit 5
exit $got
END
if unshare -rm true 2>/dev/null; then
	unshare -rm sh "$T/full.sh" "$TBTUI" "$T/small" 300 0 "http://$A/ns/demo:int4"
	[ $? = 2 ] || fail "a disk that is too small is no failure"
	err_has 'free|space'
	[ ! -s "$T/left" ] || fail "half a model on a small disk"
	unshare -rm sh "$T/full.sh" "$TBTUI" "$T/small" 20480 1 "http://$P/ns/demo:int4"
	got=$?
	[ $got = 2 ] || { cat "$T/out" "$T/err" "$T/again" >&2; fail "a disk that gets full: $got"; }
	err_has 'the disk is full'
	[ ! -s "$T/left" ] || fail "half a model on a full disk"
	grep -q '"blobs":43' "$T/again" || fail "the pull does not go on when there is room"
	# one that cannot be written to says so before anything is loaded
	mkdir -p "$T/fixed/blobs" "$T/fixed/manifests"
	# shellcheck disable=SC2016
	expect 2 unshare -rm sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
		exec "$2" --db "$1/../fixed.db" -s "$1" pull "$3"' - "$T/fixed" "$TBTUI" "http://$A/ns/demo:int4"
	err_has 'fixed.*[Rr]ead-only'
fi
