#!/bin/sh
# search: tensors of all models by words of their names, in windows and orders.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

# Of the last output.
names() {
	grep -Eo '"model":"[^"]*","name":"[^"]*"' "$T/out"
}

run 1 search weight
err_has 'nothing is indexed yet'
model "$STORE" m10 latest 100
model "$STORE" m9 8b 200
run 0 scan

# Natural order of models, then that of names; the same names in both.
run 0 search weight
case $(sed -n 2p "$T/out") in m9:8b*) ;; *) cat "$T/out"; fail "not in natural order" ;; esac
has '^MODEL +NAME +SCHEME +SHAPE +SIZE$'
n=$(($(wc -l <"$T/out") - 1))
run 0 sql "SELECT count(*) AS n FROM tensor_list WHERE tensor LIKE '%weight%'"
has "^$n\$"
# Every word is a part of the name, any case; a glob is one of the whole name.
run 0 search EMBED tok
[ "$(wc -l <"$T/out")" -eq 3 ] || fail "not one in each model"
run 0 search 'model.embed*'
[ "$(wc -l <"$T/out")" -eq 3 ] || fail "not one in each model"
run 1 search 'embed*'
err_has 'no tensor of an indexed model'
run 1 search embed nothing
run 0 --json search embed
has '"total":2,"tensors":\[\{"model":"m9:8b","name":"model.embed_tokens.weight"'
for key in dtype shape scheme parameters bytes file offset; do
	has "\"$key\":"
done
# Windows fit together.
run 0 --json search weight
names >"$T/all"
[ "$(wc -l <"$T/all")" -eq "$n" ] || fail "$n rows as text, others as JSON"
i=0
: >"$T/windows"
while [ "$i" -lt "$n" ]; do
	run 0 --json search weight --limit 2 --offset "$i"
	has "\"total\":$n,"
	names >>"$T/windows"
	i=$((i + 2))
done
cmp "$T/all" "$T/windows" || fail "windows do not fit together"
run 0 search weight --limit 1
err_has "^tbtui: 1 of $n shown"
run 0 search weight --sort name
[ "$(sed -n 2p "$T/out" | awk '{ print $2 }')" = "$(sed -n 3p "$T/out" | awk '{ print $2 }')" ] ||
	fail "not by name"
run 0 search weight --sort size --reverse
run 2 search weight --sort scheme
err_has 'cannot sort by "scheme"; one of: model name size'
run 0 search weight
expect 1 "$TBTUI" --db "$T/index.db" --store "$T" search weight
run 2 search
exit 0
