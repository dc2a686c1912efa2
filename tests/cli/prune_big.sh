#!/bin/sh
# prune on a store as people report them: 828 GB in 69 blobs that nothing uses, beside hundreds
# of models. What is announced is what goes, to the byte, and all else stays.
. "$srcdir/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
"$TBTUI" --help | grep -q '^  prune ' || skip "no prune"
S=$T/store
python3 "$srcdir/tests/scale/hoard.py" "$S" >"$T/hoard.json" || skip "no files of this size here"
[ "$(du -sk "$S" | cut -f1)" -lt 1000000 ] || skip "no sparse files here"
TBTUI_NOW=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["now"])' "$T/hoard.json")
export TBTUI_NOW

# judge WHAT: of the last output and what is on the disk now
judge() {
	python3 - "$1" "$T" <<-'END' || fail "$1"
	import json, os, sys
	what, t = sys.argv[1:]
	store = t + "/store"
	hoard = json.load(open(t + "/hoard.json"))
	out = json.load(open(t + "/out")) if what in ("plan", "pruned", "emptied") else None
	there, held = {}, 0
	for folder, _, files in os.walk(store):
	    for f in files:
	        path = os.path.relpath(os.path.join(folder, f), store)
	        size = os.stat(os.path.join(folder, f)).st_size
	        if not path.startswith(".tbtui"):
	            there[path] = size
	        elif f.isdigit():
	            held += size
	def same(a, b, why):
	    if a != b:
	        print("%s: %s\n%s\n%s" % (what, why, str(a)[:300], str(b)[:300]))
	        sys.exit(1)
	def went():
	    return {os.path.relpath(a["path"], store): a["size"] for a in out["actions"]
	            if a["action"] == "remove"}
	whole = dict(hoard["go"], **hoard["stay"])
	if what in ("plan", "pruned"):
	    same(went(), hoard["go"], "what goes")
	    same(sum(a["bytes"] for a in out["actions"]), hoard["go_bytes"], "bytes of what goes")
	    same(out["bytes_freed"], hoard["go_bytes"], "bytes in all")
	if what in ("plan", "refused", "undone"):
	    same(there, whole, "what is there")
	    same(held, 0, "what is held")
	if what == "pruned":
	    same(there, hoard["stay"], "what stays")
	    same(held, hoard["go_bytes"], "what is held")
	if what == "emptied":
	    same(out["bytes_freed"], hoard["go_bytes"], "bytes that are free")
	    same((there, held), (hoard["stay"], 0), "what stays")
	END
}

start=$(date +%s)
expect 0 "$TBTUI" -s "$S" prune --dry-run --json
judge plan
expect 0 "$TBTUI" -s "$S" prune --dry-run
has '828 GB|831 GB'
expect 2 "$TBTUI" -s "$S" prune
judge refused
expect 0 "$TBTUI" -s "$S" prune -y --json
judge pruned
N=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["undo"])' "$T/out")
expect 0 "$TBTUI" -s "$S" undo "$N"
judge undone
expect 0 "$TBTUI" -s "$S" -y prune --json
judge pruned
expect 0 "$TBTUI" -s "$S" scan
has ' 0 orphans '
expect 0 "$TBTUI" -s "$S" blobs --orphans
has_not 'sha256'
expect 0 "$TBTUI" -s "$S" -y undo --empty --json
judge emptied
seconds=$(($(date +%s) - start))
[ "$seconds" -lt 60 ] || fail "all of that took $seconds s"

# While something is fetched nothing goes, whatever its age.
python3 - "$S" "$TBTUI_NOW" <<-'END'
	import os, sys
	blobs, now = sys.argv[1] + "/blobs/sha256-", int(sys.argv[2])
	for name, size, age in (("a" * 64, 5 * 10**9, 90000), ("b" * 64 + "-partial", 10**9, 60)):
	    with open(blobs + name, "wb") as f:
	        f.truncate(size)
	    os.utime(blobs + name, (now - age, now - age))
END
expect 0 "$TBTUI" -s "$S" prune --dry-run --json
has '"actions": *\[\]'
exit 0
