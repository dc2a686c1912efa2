# The plain mode: numbered lists, a letter for what can be done, and the subcommand that
# it comes to; not one control character.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

YES=
# hear STATUS LINE...: what it says when these lines are typed.
hear() {
	want=$1
	shift
	printf '%s\n' "$@" | "$TBTUI" ${YES:+$YES} --db "$T/index.db" -s "$STORE" --plain >"$T/out" 2>"$T/err"
	got=$?
	[ $got -eq "$want" ] || fail "exit status $got, not $want, after: $*"
	! grep -q '[[:cntrl:]]' "$T/out" || fail "a control character after: $*"
}

model "$STORE" one latest 100
model "$STORE" two latest 200
hear 0 q
has '^Nothing is indexed here yet'
hear 0 r
has '^tbtui scan$'
has '^1  one:latest, .*, F32, .* verified: never$'
has '^2  two:latest'

hear 0 1 v q q
has '^tbtui verify -- /.*/one/latest$'
has '^clean: 1 model'
has '^done$'
has '^1  one:latest, .* verified: hashed$'
hear 0 2 3 s
has '^3  model.layers.10.mlp.up_proj.weight, F32, 16 by 8, 512 B$'
has '^tbtui tensor --stats -- /.*/two/latest model.layers.10.mlp.up_proj.weight$'
has '^mean '
hear 0 /tw 1 /up 2 w 0:1,0:2
has '^2  model.layers.10.mlp.up_proj'
has '^tbtui tensor --values 0:1,0:2 --'

flip "$OWN" 300
hear 0 v
has '^done, and something is wrong$'
hear 0 3 x '?' '' z
has '^That is not one of these:$'
has '^v  verify all of them$'
hear 0 /nobody
has '^Nothing has that in its name'

# Who deletes or renames a model is back among the others; what was deleted comes back.
hear 0 1 d q q		# nobody who could say yes
has '^tbtui rm -- /.*/one/latest$'
has '^could not be done$'
YES=--yes
hear 0 1 d u q
has '^done$'
has '^1  two:latest'
has '^ *1 .* done .* rm one:latest '
hear 0 b 1 1 m three q
has '^tbtui undo -- 1$'
has '^1  one:latest'
has '^tbtui mv -- /.*/one/latest three$'
has '^1  three:latest'
hear 0 b 2 1 y four q f 3 b 3 p q
has '^tbtui cp -- /.*/one/latest four$'
has '^1  four:latest'
has '^tbtui undo --empty -- 3$'
has '^tbtui prune$'
YES=
rm -r "$STORE/manifests/registry.ollama.ai/library/four"

# Twenty a page.
i=0
while [ $i -lt 25 ]; do
	cp -r "$STORE/manifests/registry.ollama.ai/library/one" \
		"$STORE/manifests/registry.ollama.ai/library/m$i"
	i=$((i + 1))
done
hear 0 r + 27 s - -
has '^1 to 20 of 27; \+ shows more'
has '^21 to 27 of 27'
has '^tbtui show -- /.*/two/latest$'
