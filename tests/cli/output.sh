#!/bin/sh
# output.sh - what cannot be written is said, whatever the command, and files that may not
# grow are an error like a full disk.
. "${srcdir:-.}/tests/cli/lib.sh"

S=$T/store
expect 0 "$TBTUI" demo --random "$S"
expect 0 "$TBTUI" -s "$S" scan
expect 1 "$TBTUI" -s "$S" verify

# full COMMAND...: standard output is a full disk.
full() {
	"$TBTUI" -s "$S" "$@" >/dev/full 2>"$T/err" </dev/null
	got=$?
	[ "$got" -eq 2 ] || fail "exit status $got, not 2, on a full disk: $*"
	err_has '^tbtui: standard output could not be written'
}
if [ -c /dev/full ]; then
	full --help
	full --version
	full ls
	full ls --json
	full show demo:bf16
	full tensors demo:bf16
	full tensor demo:bf16 model.norm.weight --stats
	full blobs --orphans
	full search q_proj
	full sql 'SELECT * FROM tensor_list'
	full plan -q int4 demo:bf16
	full scan
	full audit show
	full tokenize demo:bf16 word
fi
expect 2 sh -c '"$0" ls >&-' "$TBTUI"
err_has '^tbtui: standard output could not be written: Bad file descriptor'

# Limits of file sizes, in blocks of 512 bytes.
expect 2 sh -c 'ulimit -f 100; "$0" -s "$1" quantize demo:bf16 "$2" -q int8' \
	"$TBTUI" "$S" "$T/int8"
err_has 'files may have [0-9.]+ kB here'
[ ! -e "$T/int8" ] || fail "a part of a model is left"
ls -A "$T" | grep -q tbtui- && fail "something hidden is left"
expect 2 sh -c 'ulimit -f 100; "$0" -d "$1" -s "$2" scan' "$TBTUI" "$T/small/index.db" "$S"
err_has 'index.db: the index cannot be .*(limit of file sizes|File too large)'
expect 0 "$TBTUI" -d "$T/small/index.db" -s "$S" scan
has '^8 models: '
exit 0
