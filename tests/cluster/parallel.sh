#!/bin/sh
# The lines for GNU parallel in doc/CLUSTER.md: parts side by side, one of them killed and
# begun again, one of them done twice at once, give what one go gives.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/cluster/lib.sh"
parallel --version </dev/null 2>/dev/null | grep -q '^GNU parallel' || skip "no GNU parallel"

make_models
sed -n '/^```parallel/,/^```/p' "$srcdir/doc/CLUSTER.md" | grep -v '^```' >"$T/run.sh"
[ -s "$T/run.sh" ] || fail "no lines in doc/CLUSTER.md"
expect 0 sh -e "$T/run.sh"
grep -q '^137 .* 5/8$' "$T/codes" || fail "no part was killed"
is_whole
expect 0 "$REAL" -s "$STORE" verify
has_not leftover

# each part twice at once, into a store and into a folder
for DST in twice:q "$T/folder"; do
	(seq 8; seq 8) | parallel -j 6 tbtui -q -s "$STORE" quantize "$SRC" "$DST" -q int8 --part {}/8 \
		>"$T/out" 2>"$T/err" || fail "a part failed: $(cat "$T/err")"
	expect 0 tbtui -s "$STORE" quantize "$SRC" "$DST" -q int8 --assemble
done
expect 0 "$REAL" -s "$T/alone" quantize "$SRC" twice:q -q int8
layers "$STORE" twice q >"$T/a"
layers "$T/alone" twice q | cmp - "$T/a" || fail "done twice it is another"
expect 0 "$REAL" quantize "$SRC" "$T/folder-alone" -q int8
diff -r "$T/folder" "$T/folder-alone" || fail "the folder is another"
[ -z "$(find "$T" -name '.tbtui-*')" ] || fail "something is left over"
exit 0
