#!/bin/sh
# audit: runs are kept, shown, compared; a report is checked again; a cancelled run
# stands as one.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

run 0 audit
run 2 audit show
err_has 'nothing was verified'
model "$STORE" one latest 100
run 0 verify
flip "$OWN" 300
run 1 verify --report "$T/report.json" --format json
run 0 audit list
has '^ +1 .* clean +1 +5 '
has '^ +2 .* damage +1 +5 '
run 0 --json audit
has '"runs":\[\{"run":2,.*"state":"damage".*\{"run":1,.*"state":"clean"'
run 0 audit show 1
has '^clean: '
run 1 audit show 2
has '^error +digest_mismatch'
run 1 audit show
has 'run 2 of'
run 1 --json audit show 2
has '"findings":\[\{"severity":"error","code":"digest_mismatch"'
run 1 audit diff 1 2
has '^new +error +digest_mismatch'
has '^0 gone, 1 new, 1 the same$'	# a note that it cannot be run
has '^changed +model +damaged +one:latest: hashed before$'
run 0 audit diff 2 2
run 1 --json audit diff 2 1
has '"gone":\[\{"severity":"error"'
has '"models":\[\{"name":"one:latest",.*"change":"changed","before":\{"state":"damaged",.*"after":\{"state":"hashed"'


# The same again: the damage of the report is still there; then mended, then worse.
run 1 audit check "$T/report.json"
has '^same +error +digest_mismatch'
flip "$OWN" 300
run 0 audit check "$T/report.json"
has '^gone +error +digest_mismatch'
has '^1 gone, 0 new, 1 the same$'
rm "$OWN"
run 1 audit check "$T/report.json"
has '^new +error +blob_missing'
# a report is a file that anybody can have written
sed 's/"digest_mismatch"/"\\u001b]0;title\\u0007"/' "$T/report.json" >"$T/evil.json"
run 2 audit check "$T/evil.json"
err_has 'was changed after it was written'
run 1 verify --report "$T/text.txt"
run 0 audit check "$T/text.txt"
sed -i '$d' "$T/evil.json"
echo '"x":0}' >>"$T/evil.json"
run 2 audit check "$T/evil.json"
err_has 'the seal is missing'
"$TBTUI" -s "$STORE" audit check --unsealed "$T/evil.json" >"$T/out" 2>&1
has '^gone +error +.*\]0;title'
LC_ALL=C grep -q "$(printf '[\033\007]')" "$T/out" && fail "control characters of a report"
run 2 audit check "$T/nowhere.json"
echo '{}' >"$T/empty.json"
run 2 audit check "$T/empty.json"
err_has 'the seal is missing'
run 2 audit check --unsealed "$T/empty.json"
err_has 'not a verify report'
echo '{"findings":[{"severity":"fatal"}],"checked":{}}' >"$T/odd.json"
run 2 audit check --unsealed "$T/odd.json"
err_has 'finding 0 is none'
echo '{"findings":[],"checked":{},"version":99}' >"$T/odd.json"
run 2 audit check --unsealed "$T/odd.json"
err_has 'a report of version 99'
# what it calls a digest is none, and shorter than what is shown of one
printf '{"findings":[],"checked":{},"models":[{"path":"%s","name":"one:latest","state":"hashed","digest":"ab"}]}' \
	"$MANIFEST" >"$T/odd.json"
run 1 audit check --unsealed "$T/odd.json"
has '^changed +model +damaged +one:latest: hashed before$'
run 2 audit check --unsealed "$T/nowhere.json"
run 2 audit show x
run 2 audit show 99
err_has 'no verify run 99; "tbtui audit" lists them'
run 2 audit diff 1
run 2 audit dance

# Cancelled: status 2, and what was found until then is kept. The large blob takes
# long enough for the signal.
truncate -s 3G "$T/blob"
mv "$T/blob" "$STORE/blobs/sha256-0000000000000000000000000000000000000000000000000000000000000000"
DIGEST=sha256:0000000000000000000000000000000000000000000000000000000000000000
SIZE=$((3 * 1024 * 1024 * 1024))
sed -i "s|\"layers\":\[|\"layers\":[$(layer model),|" "$MANIFEST"
"$TBTUI" --db "$T/index.db" -s "$STORE" --progress verify >"$T/out" 2>"$T/err" &
pid=$!
n=0
until "$TBTUI" --db "$T/index.db" --json audit | grep -q running; do
	n=$((n + 1))
	[ $n -lt 100 ] || fail "the run is not to be seen while it runs"
done
# What is missing is found before the first byte is hashed: then something is kept.
until grep -q '[kMG]B of' "$T/err"; do
	kill -0 $pid || fail "the run ended without progress"
done
kill -INT $pid
wait $pid
[ $? -eq 2 ] || fail "cancelled, but the status is $?"
err_has '^tbtui: cancelled$'
err_has 'tbtui: the same verify again goes on from here$'
has_not '^cancelled$'
run 0 audit
has ' cancelled '
run 2 audit show
has '^error +blob_missing'
exit 0
