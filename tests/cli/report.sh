#!/bin/sh
# report: what each format says, that it is sealed, that names of others stay text in it, and
# that it is written whole or not at all.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
command -v python3 >/dev/null || skip "no python3"
schema=$srcdir/data/report.schema.json
check() {
	python3 "$srcdir/tests/cli/report.py" "$@" || exit 1
}

# A store and a folder of models with all that a name can do.
STORE=$T/store
model "$STORE" clean latest 100
hostile="<script>alert(1)<script>"
formula='=HYPERLINK("http:evil","x")|`a`'
bidi=$(printf 'x\342\200\256gnp\033]0;t\007')
line=$(printf 'two\nlines\\b')
for name in "$hostile" "$formula" "$bidi" "$line" "+1" "-1" "@x"; do
	mkdir -p "$T/dir/$name"
	st a 2 4 1 >"$T/dir/$name/model.safetensors"
	printf '{"architectures":["=1|<b>`x`"]}' >"$T/dir/$name/config.json"
	printf x >"$T/dir/$name/odd
name.json"
done
st a 2 4 5 >"$T/dir/alone.safetensors"
printf x >"$T/blob"
blob "$STORE"
run() {
	status=$1
	shift
	expect "$status" "$TBTUI" --db "$T/index.db" -s "$STORE" -s "$T/dir" "$@"
}
all() {
	for format in text json csv md html; do
		run "$1" audit show -y --report "$T/$2.$format" --format $format
		has "^report: $T/$2.$format, seal sha256:"
		NAMES="$hostile
$formula" check $format "$T/$2.$format" "$schema"
		run "$1" audit show --format $format
		cmp -s "$T/out" "$T/$2.$format" || fail "$format: not the same on standard output"
	done
}
run 0 verify
all 0 clean
grep -q '"state":"hashed","kind":"ollama-tensors"' "$T/clean.json" || fail "no model in a clean report"
grep -q '"orphans":1,"orphan_bytes":1,' "$T/clean.json" || fail "no orphan bytes"
grep -q 'alone.safetensors","state":"structure","kind":"safetensors-file","digest":"sha256:' \
	"$T/clean.json" || fail "a file that was recorded has no digest"

# The same state again differs in times and in the number of the run alone; nothing is read
# from the disk for a report of an old run.
run 0 verify
run 0 verify
same() {
	sed -E 's/"(run|seconds|started|seal)":[^,}]*//g' "$1"
}
run 0 audit show 2 --report "$T/two.json"
run 0 audit show 3 --report "$T/three.json"
[ "$(same "$T/two.json")" = "$(same "$T/three.json")" ] || fail "two reports of one state differ"
run 0 audit diff 2 3
has '^models: 0 changed, gone or new, 9 the same$'

# Damage: a file that is gone has no digest, the model neither if it is a folder.
flip "$OWN" 300
rm "$T/dir/+1/config.json"
run 1 verify
all 1 damage
grep -q '"state":"damaged","bytes":[0-9]*,"digest":"sha256:' "$T/damage.json" || fail "damaged file"
run 1 audit diff 3 4
has '^changed +model +damaged +clean:latest: hashed before$'
has '^changed +model .*digest [0-9a-f]{12}, was [0-9a-f]{12}$'
has '^models: 2 changed, gone or new, 7 the same$'
rm -r "$T/dir/-1"
run 1 audit check "$T/damage.json"
has '^gone +model +'
has '^same +error +digest_mismatch'

# What heal took away is held, and told as that; it is no orphan.
cp -r "$T/store" "$T/copy"
flip "$T/copy/blobs/${OWN##*/}" 300
run 0 heal -y clean:latest --from "$T/copy"
run 0 verify
run 0 audit show --report "$T/held.json"
grep -q '"path":"'"$T"'/store","away":false,"orphans":1,"orphan_bytes":1,"rest":0,"rest_bytes":0,"quarantined":1,"quarantined_bytes":'"$(stat -c %s "$OWN")}" "$T/held.json" ||
	{ grep '"quarantined"' "$T/held.json"; fail "what is held is not told"; }

# A byte more, a byte less, another byte, other ends of lines: no report any more.
for format in text json csv md html; do
	f=$T/damage.$format
	for how in 's/damage/demage/' 's/sha256:0/sha256:1/;s/sha256:\([1-9a-f]\)/sha256:0/' '1s/^/ /' \
		'$s/$/ /' '$d' 's/\r*$/\r/' '$a\
x'; do
		sed "$how" "$f" >"$T/edited"
		cmp -s "$f" "$T/edited" && continue
		run 2 audit check "$T/edited"
		err_has 'was changed after it was written|the seal is missing'
	done
	head -c 100 "$f" >"$T/edited"
	run 2 audit check "$T/edited"
done
: >"$T/edited"
run 2 audit check "$T/edited"
run 2 audit check --unsealed "$T/edited"

# Where it cannot be written nothing is left, and the run is kept.
run 2 audit show --report "$T/clean.json"
err_has 'clean.json exists already. Replace it\?'
run 2 audit show --report "$T/none/x.json"
[ ! -e "$T/none" ] || fail "a folder was made"
run 0 audit show --report - --format md
check md "$T/out"
if [ -c /dev/full ]; then
	"$TBTUI" --db "$T/index.db" audit show --format json >/dev/full 2>"$T/err" && fail "full"
	err_has 'No space|cannot be written'
fi
ls -A "$T" | grep -q tbtui-tmp && fail "a temporary file was left"
exit 0
