#!/bin/sh
# The demo store: what is in it, what is wrong with it, and that it runs.
. "${srcdir:-.}/tests/cli/lib.sh"

expect 0 "$TBTUI" demo "$T/demo"
has '8 models'
has "chat demo:bf16$"
expect 2 "$TBTUI" demo "$T/demo"
err_has 'is not empty'
[ -z "$(ls -d "$T"/demo/.[!.]* 2>/dev/null)" ] || fail "something is left over"

tb() {
	"$TBTUI" --store "$T/demo" --db "$T/index.db" "$@"
}
expect 0 tb scan
expect 0 tb ls
for model in demo:bf16 demo:int4 demo:int8 demo:mxfp8 demo-moe:bf16 demo-moe:nvfp4 demo-moe:int4
do
	has "^$model "
done
expect 1 tb verify
has 'digest_mismatch *demo-damaged:int8'
has 'orphan'
expect 0 tb verify demo:bf16 demo:int4 demo:int8 demo:mxfp8 demo-moe:bf16 demo-moe:nvfp4 demo-moe:int4

# packed experts: one blob a layer where all have one scheme
expect 0 tb show demo-moe:nvfp4 --json
has '"model\.layers\.0\.mlp\.experts"'

# the same twice: nothing in it depends on time or chance
expect 0 "$TBTUI" demo "$T/again"
(cd "$T/demo" && find blobs manifests -type f | sort) >"$T/a"
(cd "$T/again" && find blobs manifests -type f | sort) >"$T/b"
cmp "$T/a" "$T/b" || fail "two demos differ"

# A model that shares blobs with others leaves them as they were verified.
again() {
	"$TBTUI" --store "$T/again" --db "$T/again.db" "$@"
}
expect 0 again scan
expect 1 again verify
expect 0 again quantize demo:bf16 more:int4 -q int4
expect 0 again ls
has '^demo:int4 .* hashed'
has_not changed

for model in demo:int4 demo-moe:nvfp4 demo-moe:int4; do
	expect 0 tb generate "$model" -p "Hello there" -n 8 --temp 0
	[ -s "$T/out" ] || fail "$model says nothing"
done

# Who wants to run a model hears which file is missing, cut or cannot be read.
expect 0 tb --json show demo-moe:bf16
blob=$(tr '{' '\n' <"$T/out" |
	sed -n 's/^"name":"model\.layers\.1\.mlp\.experts.*"digest":"sha256:\([0-9a-f]*\)".*/\1/p' | head -1)
[ -n "$blob" ] || fail "no blob of experts"
file=$T/demo/blobs/sha256-$blob
mv "$file" "$T/away"
expect 2 tb generate demo-moe:bf16 -p a -n 1
err_has "no tensor .*; not all of the model can be read: blob sha256:$blob .*: missing"
expect 2 tb tensor demo-moe:bf16 model.layers.1.mlp.experts.0.gate_proj.weight
err_has "no tensor .*; not all of the model can be read: blob sha256:$blob .*: missing"
head -c 100 "$T/away" >"$file"
expect 2 tb generate demo-moe:bf16 -p a -n 1
err_has "not all of the model can be read: blob sha256:$blob .*100 bytes, the manifest says"
rm "$file"
ln -s "$file/loop" "$file"
expect 2 tb generate demo-moe:bf16 -p a -n 1
err_has "not all of the model can be read: blob sha256:$blob "
rm "$file"
mv "$T/away" "$file"
expect 0 tb generate demo-moe:bf16 -p a -n 1

# what a conversion wrote is listed without a scan; a store that is in no index stays so
expect 0 tb quantize demo:bf16 fresh:int4 -q int4
expect 0 tb ls fresh
has '^fresh:int4 '
expect 0 "$TBTUI" --store "$T/again" --db "$T/none.db" quantize demo:bf16 fresh:int4 -q int4
[ -e "$T/none.db" ] && fail "a conversion made an index"

# Of random weights: other models, no more of them, one of them damaged as well.
expect 0 "$TBTUI" demo --random "$T/random"
has '8 models; a blob of demo-damaged:int8 is damaged'
has_not 'ask it'
expect 0 "$TBTUI" --store "$T/random" --db "$T/random.db" scan
expect 0 "$TBTUI" --store "$T/random" --db "$T/random.db" ls demo:bf16
has ' 673K '
exit 0
