#!/bin/sh
# What downloads that did not end left in a store: told by verify, blobs, doctor and prune, which
# takes it after a day and gives it back, but not while somebody is at it.
. "${srcdir:-.}/tests/cli/lib.sh"
tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
later() {
	TBTUI_NOW=$(($(date +%s) + 172800)) "$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
hex() {
	printf '%064d' "$1"
}

expect 0 tb demo --random "$T/store"
expect 0 later -y prune
P=$T/store/.tbtui/pull
# left LIST NOTE A B: a large half of A, 1 MB of a gigabyte, and B, which is whole
left() {
	mkdir -p "$P"
	{
		echo "tbtui-fetch 1 $2"
		echo "$(hex "$3") 1073741824 model"
		echo "$(hex "$4") 300000 license text"
	} >"$P/$1"
	truncate -s 1073741824 "$P/$(hex "$3")"
	dd if=/dev/urandom of="$P/$(hex "$3")" bs=1000000 count=1 conv=notrunc 2>/dev/null
	printf '%-63s\n' 'tbtui-parts 1 1073741824 536870912' >"$P/$(hex "$3").parts"
	printf '%15d\n%15d\n' 1000000 0 >>"$P/$(hex "$3").parts"
	dd if=/dev/urandom of="$P/$(hex "$4").done" bs=300000 count=1 2>/dev/null
}
left list-1-0 'pull llama3:8b' 1 2
(cd "$P" && sha256sum -- *) >"$T/sums"

# ---- told ----

expect 0 tb scan
expect 0 tb blobs --left
has "sha256:0000.*1 +partial +[0-9.]+ [kMG]?B"
has_not '1\.[01] GB'
expect 0 tb --json blobs --left
has '"size":300000'
tb verify >"$T/out"
has 'is a download that did not end'
tb doctor >"$T/out" 2>/dev/null
has '1\.[0-9] MB of 1\.1 GB of an unfinished download: "tbtui pull llama3:8b" goes on with it'
has 'tbtui prune. takes it away'

# ---- young, then not ----

expect 0 tb -y prune
has 'left alone: 2 files, 1\.[0-9] MB: a download'
has '"tbtui pull llama3:8b" goes on with it'
[ -f "$P/list-1-0" ] || fail "pruned within the day"
expect 0 later prune --dry-run
has "remove .*$P/$(hex 1) "
has '4 files: would go to the quarantine; 1\.[0-9] MB free'
expect 0 later -y prune
[ -z "$(ls "$P")" ] || fail "not pruned after two days"
expect 0 tb undo
(cd "$P" && sha256sum -c --quiet) <"$T/sums" || fail "not given back as it was"

# ---- somebody is at it: nor do the blobs go that no manifest names yet ----

if command -v flock >/dev/null; then
	printf orphan >"$T/store/blobs/sha256-$(printf orphan | sha256sum | cut -d' ' -f1)"
	left list-2-0 'pull busy' 1 3
	flock "$P/list-2-0" sleep 60 &
	pid=$!
	while flock -n "$P/list-2-0" true; do :; done
	expect 0 later -y prune
	[ -f "$P/list-2-0" ] && [ -f "$P/$(hex 1)" ] && [ -f "$P/$(hex 3).done" ] ||
		fail "taken from under a run"
	[ -f "$P/list-1-0" ] && fail "another's list stays"
	has 'of "tbtui pull busy", which is under way'
	[ -n "$(ls "$T"/store/blobs/sha256-"$(printf orphan | sha256sum | cut -c1-20)"*)" ] ||
		fail "a blob is pruned while a model is loaded"
	kill $pid
	wait $pid 2>/dev/null
	rm -f "$P/list-2-0" "$P/$(hex 3).done"
fi

# ---- nobody's ----

rm -rf "$P"
left list-1-0 'pull x' 4 5
rm "$P/list-1-0"
printf 'junk' >"$P/junk"
expect 0 later -y prune
has 'nobody says for what'
[ -z "$(ls "$P")" ] || fail "what no list names stays"

# ---- of a repository in a cache of hubs ----

H=$T/hf/hub
mkdir -p "$H/models--o--m/blobs" "$H/models--o--m/snapshots/1" "$H/models--o--m/refs"
printf '{"model_type":"llama"}' >"$H/models--o--m/snapshots/1/config.json"
keep=$P
P=$H/models--o--m/.tbtui/pull
left list-1-0 'pull hf:o/m' 6 7
hub() {
	"$TBTUI" --store "$H" --db "$T/hub.db" "$@"
}
expect 0 hub scan
expect 0 hub blobs --left
has '0006 +partial +1'
hub doctor >"$T/out" 2>/dev/null
has '"tbtui pull hf:o/m" goes on with it'
TBTUI_NOW=$(($(date +%s) + 172800))
export TBTUI_NOW
expect 0 hub -y prune
unset TBTUI_NOW
[ -z "$(ls "$P")" ] || fail "not pruned in a cache of hubs"
expect 0 hub undo
[ "$(ls "$P" | wc -l)" -eq 4 ] || fail "not given back to a cache of hubs"
P=$keep

# ---- a folder that is none ----

rm -rf "$P"
mkdir "$T/away"
: >"$T/away/$(hex 9)"
ln -s "$T/away" "$P"
later -y prune >"$T/out" 2>&1
[ -f "$T/away/$(hex 9)" ] || fail "pruned behind a link"
exit 0
