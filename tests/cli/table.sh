#!/bin/sh
# Tables fit the terminal; in a pipe and with --wide they are whole.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
command -v script >/dev/null || skip "no script(1) to make a terminal"

# on_tty COLUMNS COMMAND: its output on a terminal of that width, in $T/out
on_tty() {
	script -qec "stty cols $1; $2" /dev/null </dev/null | tr -d '\r' >"$T/out" ||
		fail "on a terminal: $2"
}
widest() {
	wc -L <"$T/out"
}

model "$STORE" m9-with-a-name-that-is-long-enough-to-be-cut latest 100
run 0 scan
tb="$TBTUI --db $T/index.db --store $STORE"
run 0 ls
has 'm9-with-a-name-that-is-long-enough-to-be-cut:latest'
has 'MODIFIED'
for cols in 100 60 40; do
	for command in ls 'tensors m9-with-a-name-that-is-long-enough-to-be-cut' blobs; do
		on_tty $cols "$tb $command"
		[ "$(widest)" -le $cols ] || fail "$command: $(widest) columns of $cols"
		[ "$(widest)" -gt $((cols / 2)) ] || fail "$command: $(widest) columns of $cols"
	done
done
on_tty 60 "$tb ls"
has 'NAME .*SIZE +STATE'
has '^m9-with.*…'
has_not 'ONLY THIS'
on_tty 60 "$tb --wide ls"
has 'm9-with-a-name-that-is-long-enough-to-be-cut:latest'
has 'ONLY THIS'
on_tty 60 "$tb blobs --wide"
has '^sha256:[0-9a-f]{64}'
exit 0
