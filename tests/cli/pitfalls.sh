# What other programs that read models get wrong, a paragraph each.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
command -v python3 >/dev/null || skip "no python3"
python3 "$srcdir/tests/cli/pitfalls.py" "$STORE" || fail "no store"
up=model.layers.0.mlp.up_proj.weight

# A header that is none, or lies, is an explicit result, and never "0 tensors, fine".
run 1 verify
for name in zero-bytes eight-bytes header-only not-utf8 huge-shape trailing; do
	has "^error +structure_bad +$name:latest: "
done
run 0 show no-tensors
has_not '^error .*wiped'
for name in zero-bytes eight-bytes; do
	run 1 tensors $name
done
run 1 --json tensors no-tensors
has '"tensors":\[\]'

# The group size of the blob counts, not a table's; where it came from is said.
run 0 tensor g64 $up --values 0:1,32:33
has '^scheme +int4 \(blob metadata\)'
has '^0 +-1$'
run 0 tensor g32 $up --values 0:1,32:33
has '^scheme +affine:4:32 \(blob metadata\)'
has '^0 +0$'
# Metadata that its shapes contradict, and a type nobody knows, are not guessed at.
run 1 verify untrue
has 'structure_bad .*shapes do not fit its metadata \(quant_type int4, group_size 32\)'
run 1 verify unknown-type
has 'structure_bad .*quant_type zork7'
run 2 generate -p x unknown-type

# A blob wiped in place keeps its size and its time: found, with the place, after a verify
# that was fine has been remembered; the model is damaged, the others are looked at, too.
run 0 verify wiped
file=$STORE/blobs/$(ls -S "$STORE/blobs" | head -n 1)
touch -r "$file" "$T/when"
dd if=/dev/zero of="$file" bs=4096 seek=1 count=2 conv=notrunc 2>/dev/null
touch -r "$T/when" "$file"
run 1 verify
has "^error +digest_mismatch +wiped:latest: .*; damaged in $up, rows 0 to 63, bytes [0-9]+ to 16[0-9]+; 8192 bytes from byte 4096 on are zero$"
has '^error +structure_bad +trailing:latest: '
run 1 --json verify --since 2020-01-01 wiped
has "\"tensor\":\"$up\",\"offset\":1[0-9][0-9],"

# Digests come from where the manifest has them, not from any text that looks like one.
grep -q "sha256:0000000000" "$STORE/manifests/registry.ollama.ai/library/g64/latest" ||
	fail "the manifest of g64 has no such text"
run 0 verify g64
has '^clean: 1 model'
run 0 scan
run 1 whose sha256:0000000000000000000000000000000000000000000000000000000000000000
