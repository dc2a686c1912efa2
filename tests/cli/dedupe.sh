#!/bin/sh
# dedupe: equal files of stores become one, with the bytes announced that are free then, and
# nothing else changes.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

A=$T/a
B=$T/b
HUB=$T/hub
# both STATUS ARGUMENT...: on all of the stores; small files count as well.
both() {
	status=$1
	shift
	expect "$status" "$TBTUI" --db "$T/index.db" -s "$A" -s "$B" -s "$HUB" "$@"
}
# content: every file's bytes by its path.
content() {
	(cd "$T" && find a b hub -name .tbtui -prune -o -type f -exec sha256sum {} +) | sort -k2
}
inode() {
	stat -c %i "$1"
}

# The same blob in two stores and a cache, and a file of a folder.
fresh() {
	rm -rf "$A" "$B" "$HUB" "$T"/index.db* "$T"/audits.db*
	model "$A" one latest 100
	model "$B" two latest 100
	for s in "$A" "$B"; do
		touch -d '2 days ago' "$s"/blobs/*
	done
	REPO=$HUB/models--org--tiny
	HASH=${OWN##*sha256-}
	mkdir -p "$REPO/blobs" "$REPO/snapshots/1111" "$HUB/folder"
	cp -p "$OWN" "$REPO/blobs/$HASH"
	ln -s "../../blobs/$HASH" "$REPO/snapshots/1111/model.safetensors"
	echo '{"model_type":"small"}' >"$REPO/snapshots/1111/config.json"
	cp -p "$OWN" "$HUB/folder/model.safetensors"
	cp "$REPO/snapshots/1111/config.json" "$HUB/folder/config.json"
	X=$A/blobs/sha256-$HASH
	Y=$B/blobs/sha256-$HASH
	Z=$REPO/blobs/$HASH
	SIZE=$(wc -c <"$X")
}

fresh
mkdir "$T/empty"
expect 2 "$TBTUI" --db "$T/none.db" -s "$T/empty" dedupe
both 0 dedupe
has '^1[0-9] files looked at, 0 can be one with an equal one: 0 B$'

# Can this file system share bytes?
if cp --reflink=always "$X" "$T/reflink" 2>/dev/null; then how=reflink; else how=hardlink; fi

# A dry run changes nothing, and says what happens.
fresh
content >"$T/before"
both 0 --json dedupe --min 600 --dry-run
content | cmp - "$T/before" || fail "a dry run has changed something"
[ "$(inode "$X")" != "$(inode "$Y")" ] || fail "a dry run has linked"
has "\"dry_run\":true,\"actions\":\[\{\"action\":\"$how\","
[ ! -e "$A/.tbtui" ] && [ ! -e "$B/.tbtui" ] || fail "a dry run has made a quarantine"
sed 's/"dry_run":true/"dry_run":false/; s/"bytes_held".*//' "$T/out" >"$T/plan"

# Nobody is asked without a terminal: nothing is done without --yes.
both 2 dedupe --min 600
err_has '[-]-yes'
content | cmp - "$T/before" || fail "it was not asked"

if [ $how = reflink ]; then
	both 0 --json --yes dedupe --min 1
	content | cmp - "$T/before" || fail "bytes have changed"
	[ "$(inode "$X")" != "$(inode "$Y")" ] || fail "one file"
	both 0 --json dedupe --min 600 --dry-run	# their bytes are in one place by now
	has '"actions":\[\],"bytes_freed":0'
	exit 0
fi

both 0 --json --yes dedupe --min 600
sed 's/"bytes_held".*//' "$T/out" | cmp - "$T/plan" || fail "not what was announced"
content | cmp - "$T/before" || fail "bytes have changed"
[ "$(inode "$X")" = "$(inode "$Y")" ] && [ "$(inode "$X")" = "$(inode "$Z")" ] || fail "not one file"
# the folder's file was made a moment ago, and may still be written
[ "$(inode "$X")" != "$(inode "$HUB/folder/model.safetensors")" ] || fail "a young file was linked"
both 0 verify
both 0 --json dedupe --min 600 --dry-run
has '"actions":\[\],"bytes_freed":0'
held=$(find "$A/.tbtui" "$B/.tbtui" "$HUB/.tbtui" -type f -name '[0-9]*' 2>/dev/null | wc -l)
[ "$held" -ge 2 ] || fail "what was replaced is not kept"

# It can be undone: they are as many files as before, each with its time.
fresh
(cd "$T" && find a b hub -name .tbtui -prune -o -type f -printf '%p %i %T@ %s\n' | sort) >"$T/before"
both 0 --yes dedupe --min 600
for n in $(find "$A" "$B" "$HUB" -path '*/.tbtui/[0-9]*' -prune -printf '%f\n' | sort -rn); do
	both 0 --yes undo "$n"
done
(cd "$T" && find a b hub -name .tbtui -prune -o -type f -printf '%p %i %T@ %s\n' | sort) | cmp - "$T/before" ||
	fail "undo does not bring back what was there"
both 0 --yes dedupe --min 600
both 0 --yes undo --empty
both 0 verify
[ -z "$(find "$A" "$B" "$HUB" -path '*/.tbtui/*/0')" ] || fail "the quarantine is not empty"

# Of three copies one stays; the bytes are those of the others.
fresh
both 0 --json dedupe --min $SIZE --dry-run
n=$(grep -o '"action":"hardlink"[^}]*"bytes":'"$SIZE" "$T/out" | grep -c .)
sum=$(sed 's/.*"bytes_freed":\([0-9]*\).*/\1/' "$T/out")
done=$(grep -o '"action":"hardlink"' "$T/out" | wc -l)
[ "$sum" -ge $((2 * SIZE)) ] && [ $((sum % SIZE)) -eq 0 ] || fail "$sum bytes of $n, $done files"

# A file with another name elsewhere is not free when one goes; nor is one of two that have.
fresh
ln "$Y" "$T/elsewhere"
ln "$X" "$T/elsewhere2"
both 0 dedupe --min 600 --dry-run
has 'stays: it has other names outside of these stores: nothing would be freed$'

# Others' files, or with other permissions, stay apart.
fresh
chmod 600 "$Y"
both 0 dedupe --min 600 --dry-run
has 'stays: their owner or permissions differ$'

# Names that are equal say nothing of bytes that are not.
fresh
flip "$Y" 300
content >"$T/before"
both 0 --yes dedupe --min 600
has 'stays: their names or hashes are equal, but their bytes are not'
cmp -s "$X" "$Y" && fail "damage went over"
content | cmp - "$T/before" || fail "bytes have changed"
cmp -s "$X" "$Z" && [ "$(inode "$X")" = "$(inode "$Z")" ] || [ "$(inode "$Y")" != "$(inode "$Z")" ] ||
	fail "linked with damage"

# What is edited is no blob: configurations of folders stay two files.
fresh
mkdir "$HUB/other"
cp -p "$HUB/folder/config.json" "$HUB/folder/model.safetensors" "$HUB/other"
both 0 --yes dedupe --min 1
[ "$(inode "$HUB/folder/config.json")" != "$(inode "$HUB/other/config.json")" ] || fail "linked a configuration"
exit 0
