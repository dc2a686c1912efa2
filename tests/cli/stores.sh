#!/bin/sh
# stores: those that were scanned are known from then on, without --store; a name that
# two of them have, and a store that is not there for a while.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

tb() {
	status=$1
	shift
	expect "$status" "$TBTUI" "$@"
}

model "$STORE" one latest 100
model "$STORE" two 8b 200
tb 2 show one
tb 1 blobs --orphans
err_has 'nothing is indexed yet'
tb 1 -s "$STORE" blobs
tb 0 -s "$STORE" scan
tb 0 blobs --orphans
tb 1 -s "$T" blobs --orphans
err_has 'not indexed yet; "scan" with the same -s does it'
tb 0 show one
has "^path +$STORE/manifests/"
tb 0 tensors two:8b
tb 0 verify
has '2 models, 2 manifests, 7 blobs'
tb 0 verify two:8b
tb 0 scan
has '^2 models: 0 added'

# --store is what is looked into then, alone.
mkdir -p "$T/empty"
tb 2 -s "$T/empty" show one

# A store in a store: what both have is verified once.
tb 0 scan "$T"
tb 0 verify
has '2 models, 2 manifests, 7 blobs'
tb 0 show one
rm -rf "$XDG_DATA_HOME"

# One name in two stores: neither is taken silently.
tb 0 scan "$STORE"
model "$T/other" one latest 300
tb 0 scan "$T/other"
tb 0 show two:8b
tb 2 show one
err_has "two stores have one of that name, $T/other and $STORE;.*--store"
tb 0 -s "$T/other" show one
tb 0 show "$T/other/manifests/registry.ollama.ai/library/one/latest"
mkdir -p "$T/dirs/a/tiny" "$T/dirs/b/tiny"
st x.weight 4 4 1 >"$T/dirs/a/tiny/model.safetensors"
st x.weight 4 4 2 >"$T/dirs/b/tiny/model.safetensors"
tb 0 scan "$T/dirs/a" "$T/dirs/b"
tb 2 show tiny
err_has "two stores have one of that name, $T/dirs/a and $T/dirs/b;"

# What is taken out of the index is no change by somebody else.
tb 0 stores remove "$T/dirs/b"
tb 0 verify
tb 0 ls
has '^tiny '
ls "$XDG_DATA_HOME"/tbtui/*.damaged-* >/dev/null 2>&1 && fail "the index was set aside"

# A disk that is unplugged: a warning, and its models stay.
mv "$T/other" "$T/unplugged"
tb 0 scan
has "^away +$T/other: not there now"
tb 0 ls

[ "$(grep -c '^one:latest' "$T/out")" -eq 2 ] || fail "a store that is away lost its models"
tb 0 verify
has "^warning +store_away +$T/other: "
tb 0 show one
tb 2 -s "$T/other" scan
err_has 'no such folder'
mv "$T/unplugged" "$T/other"
tb 0 scan
has_not '^away'
tb 2 show one

# What is away is no place to write to; what never was there is not remembered.
rm -rf "$XDG_DATA_HOME" "$STORE"
tb 0 scan "$T/other"
rm -rf "$T/other"
tb 2 import "$T/dirs/a/tiny" new
[ ! -e "$T/other" ] || fail "a store was made where a disk was"
tb 2 scan "$T/tpyo"
tb 0 sql 'SELECT path FROM roots'
has_not tpyo
exit 0
