#!/bin/sh
# What cannot be read is not absent: it is named, the rest goes on, and nothing is
# forgotten or called unused because of it.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

# Running out of descriptors is no damage: all of it is done, or none, and why.
model "$T/a" one latest 100
model "$T/a" two latest 200
done=0
for n in 9 10 11 12 14 16 20 40; do
	for what in scan verify; do
		(ulimit -n $n; exec "$TBTUI" -d "$T/index.db" -s "$T/a" -t 2 $what) \
			>"$T/out" 2>"$T/err" </dev/null
		got=$?
		if [ $got -eq 0 ]; then
			done=$((done + 1))
			continue
		fi
		[ $got -eq 2 ] || fail "$what with $n files: exit status $got"
		err_has 'too many open files'
		has_not '^error|^removed|^changed'
	done
done
[ $done -gt 0 ] || fail "40 files are not enough"
ls "$T"/*.damaged-* >/dev/null 2>&1 && fail "an index was set aside"
# A soft limit is no reason: the program raises it.
(ulimit -S -n 9; exec "$TBTUI" -d "$T/index.db" -s "$T/a" verify) >"$T/out" 2>&1 ||
	fail "the soft limit was not raised"
rm -rf "$T/a" "$T"/index.db* "$T"/audits.db*

# Stores in one another: what cannot be read in the inner one says nothing about the outer
# one's blobs, neither to a scan nor to verify
expect 0 "$TBTUI" demo --random "$T/outer"
expect 0 "$TBTUI" demo --random "$T/outer/inner"
echo x >"$T/outer/inner/manifests/registry.ollama.ai/library/demo/bf16"
expect 0 "$TBTUI" --db "$T/nested" --store "$T/outer" --store "$T/outer/inner" scan
has '1 orphan '
expect 1 "$TBTUI" --db "$T/nested" --store "$T/outer" --store "$T/outer/inner" verify
has '^note +orphan +sha256:[0-9a-f]* .* belongs to no model$'
rm -rf "$T/outer" "$T"/nested*

# Nor does the scan of another root make clear whose they are.
expect 0 "$TBTUI" demo --random "$T/a"
expect 0 "$TBTUI" demo --random "$T/b"
LIST=manifests/registry.ollama.ai/library/demo
echo x >"$T/b/$LIST/bf16"
touch -d '2 days ago' "$T/b/blobs/"*
expect 0 "$TBTUI" --db "$T/marks" --store "$T/a" --store "$T/b" scan
expect 0 "$TBTUI" --db "$T/marks" --store "$T/b" blobs --json
cp "$T/out" "$T/before"
grep -q "\"unclear\":true" "$T/before" || fail "nothing is unclear"
rm "$T/a/$LIST/bf16"
expect 0 "$TBTUI" --db "$T/marks" --store "$T/a" scan
expect 0 "$TBTUI" --db "$T/marks" --store "$T/b" blobs --json
cmp "$T/before" "$T/out" || fail "the scan of one root changed what is known of another"
rm -rf "$T/a" "$T/b" "$T"/marks*

# Permissions mean nothing to root unless its right to ignore them is taken away.
if [ "$(id -u)" -eq 0 ]; then
	drop=-dac_override,-dac_read_search
	command -v setpriv >/dev/null || skip "root, and no setpriv"
	TBTUI="setpriv --bounding-set=$drop --inh-caps=$drop $TBTUI"
	mkdir "$T/shut"
	chmod 0 "$T/shut"
	# shellcheck disable=SC2086
	${TBTUI% *} ls "$T/shut" >/dev/null 2>&1 && skip "permissions are not obeyed here"
fi

A=$T/a
B=$T/b
two() {
	# shellcheck disable=SC2086
	expect "$1" $TBTUI -d "$T/index.db" -s "$A" -s "$B" "$2" ${3:-} ${4:-}
}

model "$A" one latest 100
model "$A" two latest 200
model "$B" three latest 300
MANIFESTS=$A/manifests/registry.ollama.ai/library
two 0 scan
two 0 verify
has '^clean: 3 models'

# The folder of one model: its row stays, its blobs are no orphans.
chmod 0 "$MANIFESTS/two"
two 1 verify
has "^error +unreadable +$MANIFESTS/two: Permission denied"
has_not orphan
has '^note +unclear +sha256:[0-9a-f]* .* perhaps to one that could not'
has '^damage: 2 models, 2 manifests, '
two 1 scan
has "^unreadable +$MANIFESTS/two: Permission denied"
has "^unseen +two:latest: not seen: $MANIFESTS/two: Permission denied"
has '^3 models: 0 added, 0 changed, 0 removed, 2 unchanged'
has '^1 model not seen: '
has ' 0 orphans '
two 1 --json scan
has '"removed":0,"unchanged":2,"unseen":1,"unreadable":1,'
two 0 ls
has '^two:latest .* damaged'
chmod 755 "$MANIFESTS/two"
two 0 verify
has_not unclear
two 0 scan
has '^3 models: 0 added, 1 changed, 0 removed, 2 unchanged'
two 0 ls
has '^two:latest .* hashed '

# A folder by its path, with one in it that is shut.
mkdir "$T/work" "$T/work/shut"
printf '{}' >"$T/work/config.json"
chmod 0 "$T/work/shut"
# shellcheck disable=SC2086
expect 1 $TBTUI -d "$T/path.db" "$T"
err_has "$T/work/shut: Permission denied"
has '^one:latest '
rm -rf "$T/work" "$T"/path.db*

# All manifests of a store, its blobs, the store itself: the other one is verified.
for shut in "$A/manifests" "$A/blobs" "$A"; do
	chmod 0 "$shut"
	two 1 verify
	has "^error +[a-z_]+ .*$shut.*: Permission denied"
	has_not orphan
	has '^damage: [13] models?, '
	two 1 scan
	has '^3 models: 0 added, [0-9] changed, 0 removed, '
	has ' 0 orphans '
	chmod 755 "$shut"
done
chmod 644 "$A/blobs"	# names can be listed, and that is all
two 1 verify
has "^error +blob_unreadable +one:latest: sha256:.*Permission denied"
has_not leftover
chmod 755 "$A/blobs"
two 0 scan
two 0 verify
has '^clean: 3 models'

# A manifest, a blob.
chmod 0 "$MANIFESTS/two/latest"
two 1 scan --again
has '^unreadable +two:latest: .*Permission denied'
has ' 0 orphans '
two 1 verify
has '^error +manifest_bad +two:latest: .*Permission denied'
has_not orphan
chmod 644 "$MANIFESTS/two/latest"
chmod 0 "$OWN"
two 1 scan --again
has "^changed +three:latest: blob sha256:.*Permission denied"
two 0 ls
has '^three:latest .* damaged'
two 1 verify
has '^error +blob_unreadable +three:latest: .*: Permission denied;'
[ "$(grep -c '^error' "$T/out")" -eq 1 ] || fail "told more than once"
chmod 644 "$OWN"
two 0 scan
two 0 verify
two 0 ls
has '^three:latest .* hashed '

# A store that only cannot be looked into is not forgotten.
mkdir "$T/up"
mv "$B" "$T/up/b"
# shellcheck disable=SC2086
expect 0 $TBTUI -d "$T/index.db" -s "$T/up/b" scan
chmod 0 "$T/up"
expect 1 $TBTUI -d "$T/index.db" scan --forget
has "^unreadable +$T/up/b: "
has '^unseen +three:latest: '
has ', 1 removed, '	# its old place, which is gone indeed
# shellcheck disable=SC2086
expect 0 $TBTUI -d "$T/index.db" ls
has '^three:latest '
chmod 755 "$T/up"

# A configuration that cannot be read is not none.
mkdir -p "$T/cfg/tbtui"
printf 'store /nowhere\n' >"$T/cfg/tbtui/config"
chmod 0 "$T/cfg/tbtui"
# shellcheck disable=SC2086
expect 0 env XDG_CONFIG_HOME="$T/cfg" $TBTUI -d "$T/index.db" ls
err_has 'tbtui/config: Permission denied'
chmod 755 "$T/cfg/tbtui"

# Blobs of a store that was never seen whole are no orphans, nor are those of a manifest
# that says nothing; once it says something, or is gone, they are again what they are.
STORE=$T/new
model "$STORE" four latest 400
MANIFESTS=$STORE/manifests/registry.ollama.ai/library
new() {
	status=$1
	shift
	# shellcheck disable=SC2086
	expect "$status" $TBTUI -d "$T/new.db" -s "$STORE" "$@"
}
chmod 0 "$STORE/manifests"
new 1 scan
has ' 0 orphans '
new 0 blobs --orphans
has '^0 files'
new 0 blobs
has '^sha256:[0-9a-f]* +unclear '
new 0 --json blobs
has '"owners":0,"missing":false,"young":false,"unclear":true'
chmod 755 "$STORE/manifests"
new 0 scan
has ' 0 orphans '
new 0 blobs
has_not unclear
cp "$MANIFESTS/four/latest" "$T/manifest"
printf '{' >"$MANIFESTS/four/latest"
new 0 scan
has ' 0 orphans '
new 0 scan
has ' 0 orphans '
new 0 blobs
has ' unclear '
rm "$MANIFESTS/four/latest"
new 0 scan
has ' 5 orphans '
new 0 blobs --orphans
exit 0
