#!/bin/sh
# bench.sh - "make bench-scale": how the program does on a synthetic store of 2,000 models,
# 60,000 blobs and 1,000,000 tensors, beside what is wanted of it.
#
# SCALE="--models 200 --blobs 6000 --tensors 100000" makes another store; SCALE_DIR a place
# for it (450 MB), where it stays.  As root, the first scan and the plain reader are also
# measured without anything in the page cache.
set -eu
B=${BUILD:?the folder with the programs}
S=${TBTUI_SRC:?the sources}
T=$(mktemp -d "${TMPDIR:-/tmp}/tbtui-scale-XXXXXX")
trap 'rm -rf "$T"' EXIT
trap 'exit 99' HUP INT TERM
STORE=${SCALE_DIR:-$T/store}
HOME=$T
TBTUI_DB=$T/db/index.db
export HOME TBTUI_DB
unset XDG_DATA_HOME XDG_STATE_HOME TBTUI_NOW

# timed COMMAND...: sets SECONDS_ and RSS (MB), output in $T/out.
timed() {
	/usr/bin/time -f '%e %M' -o "$T/time" "$@" >"$T/out" 2>"$T/err" || {
		status=$?
		[ "$status" -le 1 ] || { cat "$T/err"; exit 1; }
	}
	read -r SECONDS_ RSS <<-END
	$(tail -1 "$T/time")
	END
	RSS=$((RSS / 1024))
}

# row WHAT MEASURED GOAL UNIT: the ratio is what part of the goal was needed.
row() {
	awk -v what="$1" -v x="$2" -v goal="$3" -v unit="$4" 'BEGIN {
		printf "%-34s %9s %-3s  goal %8s  %5.2f %s\n", what, x, unit, goal, x / goal,
			x <= goal ? "" : "MISSED" }'
}

three() {
	awk -v x="$1" 'BEGIN { printf "%.2f", 3 * x }'
}

reader() {
	"$B/tests/scale/headread" "$STORE/headers.list" | sed 's/ s,.*//'
}

first_scan() {
	rm -rf "$T/db"
	timed "$B/tbtui" --store "$STORE" scan
}

# session FILE: the lines of latency in $T/keys.
session() {
	LC_ALL=C.UTF-8 TERMINFO=$B/tests/ti "$B/tests/scale/latency" "$S/tests/scale/$1" \
		"$B/tbtui" --db "$TBTUI_DB" --store "$STORE" >"$T/keys"
}

# ms GROUP COLUMN: of $T/keys
ms() {
	awk -v g="$1" -v c="$2" '$1 == g { for (i = 2; i < NF; i++) if ($i == c) print $(i + 1) }' "$T/keys"
}

[ -f "$STORE/headers.list" ] || {
	# shellcheck disable=SC2086
	"$B/tests/scale/mkstore" ${SCALE:-} "$STORE"
	sync
}
if [ "$(id -u)" -eq 0 ] && (echo 3 >/proc/sys/vm/drop_caches) 2>/dev/null; then
	plain=$(reader)
	echo 3 >/proc/sys/vm/drop_caches
	first_scan
	row "first scan, nothing cached" "$SECONDS_" "$(three "$plain")" s
fi
reader >/dev/null
plain=$(reader)
first_scan
row "first scan, all cached" "$SECONDS_" "$(three "$plain")" s
row "memory of the first scan" "$RSS" 200 MB
timed "$B/tbtui" --store "$STORE" scan
row "scan without change" "$SECONDS_" 1 s
row "memory of that scan" "$RSS" 200 MB
row "size of the index" "$(($(wc -c <"$TBTUI_DB") / 1000000))" 150 MB
for words in wei q_proj e; do
	timed "$B/tbtui" search "$words" --limit 100
	row "search for \"$words\" (a new process)" "$(awk -v s="$SECONDS_" 'BEGIN { print 1000 * s }')" 100 ms
done
timed "$B/tbtui" ls 'llama*'
row "ls with a pattern (a new process)" "$(awk -v s="$SECONDS_" 'BEGIN { print 1000 * s }')" 100 ms
session session
row "first frame" "$(ms first max)" 50 ms
row "keys, p99" "$(ms all p99)" 16 ms
row "keys of the search, max" "$(ms search max)" 100 ms
cat "$T/keys"
rm -rf "$T/db"
session session-busy
echo "while the first scan runs:"
row "keys, p99" "$(ms all p99)" 16 ms
cat "$T/keys"
