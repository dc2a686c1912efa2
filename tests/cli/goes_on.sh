#!/bin/sh
# A conversion that was stopped or killed goes on with the files that were finished, and never
# with those of another source or plan; parts of one are put together; what is left is listed.
. "${srcdir:-.}/tests/cli/lib.sh"
SHIM=${SHIM:-$(pwd)/tests/faults/shim.so}
[ -f "$SHIM" ] || skip "$SHIM was not built"
if LC_ALL=C grep -q __asan_init "$TBTUI" || LC_ALL=C grep -q __tsan_init "$TBTUI"; then
	skip "a build with sanitizers"
fi

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
# What a model is made of, whatever it is called.
layers() {
	tr ',' '\n' <"$1/manifests/registry.ollama.ai/library/$2/$3" | grep digest
}
work() {
	ls -d "$1"/.tbtui-work-* 2>/dev/null
}
# killed N WORDS...: by the N-th file that gets its name.
killed() {
	LD_PRELOAD=$SHIM FAULT_FN=linkat FAULT_AT=$1 FAULT_ERRNO=-1 "$TBTUI" --store "$T/store" \
		--db "$T/index.db" -t 1 quantize $2 >"$T/out" 2>"$T/err"
	[ $? -eq 137 ] || fail "not killed: $2"
}
expect 0 tb demo --random "$T/demo"
mkdir "$T/store"
for how in keep int4; do
	expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/$how" -q $how
done
expect 0 tb quantize "$T/int4" once:q -q keep

# ---- killed: it goes on, and what comes out is what comes out of one go ----

ls "$T/store/blobs" >"$T/before"
killed 12 "$T/keep m:q -q mxfp4"
[ "$(ls "$(work "$T/store/blobs")" | wc -l)" -eq 11 ] || fail "not 11 files are finished"
ls "$T/store/blobs" | cmp - "$T/before" || fail "blobs of no model"
expect 0 tb verify
has '^note +leftover .*tbtui-work-.* is what is finished of a conversion.* goes on with it.*rm -r'
expect 0 tb scan
has ' 1 leftover'
expect 0 tb --json quantize "$T/keep" m:q -q mxfp4
has '"files_resumed":11,"files_reused":0'
[ -z "$(work "$T/store/blobs")" ] || fail "the folder stays"
expect 0 tb verify
has_not leftover
layers "$T/store" m q >"$T/went-on"
mkdir "$T/other"
expect 0 "$TBTUI" --store "$T/other" quantize "$T/keep" o:q -q mxfp4
layers "$T/other" o q | cmp - "$T/went-on" || fail "not what one go gives"

# ---- another plan and another source find nothing of it ----

killed 12 "$T/keep n:q -q int8"
expect 0 tb --json quantize "$T/keep" n:m -q mxfp8
has '"files_resumed":0'
expect 0 tb --json quantize "$T/keep" n:r -q int8 -r '*.0.*=keep'
has '"files_resumed":0'
cp -p "$T/keep/model.safetensors" "$T/was"
printf '\001' | dd of="$T/keep/model.safetensors" bs=1 seek=500000 conv=notrunc 2>/dev/null
expect 0 tb --json quantize "$T/keep" n:s -q int8
has '"files_resumed":0'
rm "$T/keep/model.safetensors"		# the same times and size, and another file
mv "$T/was" "$T/keep/model.safetensors"
expect 0 tb --json quantize "$T/keep" n:t -q int8
has '"files_resumed":0'
[ "$(ls "$(work "$T/store/blobs")" | wc -l)" -eq 11 ] || fail "others took what was finished"

# ---- prune takes it after a day, and gives it back ----

expect 0 tb -y prune
[ -n "$(work "$T/store/blobs")" ] || fail "pruned within the day"
export TBTUI_NOW=$(($(date +%s) + 172800))
expect 0 tb -y prune
unset TBTUI_NOW
[ -z "$(work "$T/store/blobs")" ] || fail "not pruned after two days"
expect 0 tb undo
[ "$(ls "$(work "$T/store/blobs")" | wc -l)" -eq 11 ] || fail "not given back"
rm -r "$(work "$T/store/blobs")"

# ---- interrupted: says so, and how to be rid of it ----

LD_PRELOAD=$SHIM FAULT_SLOW=60 "$TBTUI" --store "$T/store" -t 1 quantize "$T/keep" i:q -q nvfp4 \
	>"$T/out" 2>"$T/err" &
pid=$!
i=0
while [ $i -lt 2000 ] && [ "$(ls "$T"/store/blobs/.tbtui-work-* 2>/dev/null | wc -l)" -lt 4 ]; do
	i=$((i + 1))
	sleep 0.01
done
kill -INT $pid
wait $pid
[ $? -eq 2 ] || fail "an interrupted conversion does not say 2"
err_has 'cancelled; [0-9]+ of 39 files .* the same command goes on .* rm -r '
expect 0 tb quantize "$T/keep" i:q -q nvfp4
has '^[0-9]+ of 4[0-9] files were there already'

# ---- an error leaves nothing ----

cp -r "$T/keep" "$T/nan"
for at in 400000 800000 1200000; do
	printf '\200\177' | dd of="$T/nan/model.safetensors" bs=1 seek=$at conv=notrunc 2>/dev/null
done
expect 2 tb quantize "$T/nan" nan -q int4
err_has 'is infinite or NaN'
[ -z "$(work "$T/store/blobs")" ] || fail "an error leaves a folder"

# ---- a folder: shards are finished one after another; what was half done is made anew ----

expect 0 tb quantize "$T/keep" "$T/dir" -q int4 --part 1/1
d=$(work "$T")
echo half >"$d/config.json"
expect 0 tb --json quantize "$T/keep" "$T/dir" -q int4
has '"files_resumed":1'
diff -r "$T/dir" "$T/int4" >/dev/null || fail "not what one go gives"
[ -z "$(work "$T")" ] || fail "the folder stays"

# ---- blobs that the store has are not written again ----

before=$(ls -i "$T/demo/blobs")
expect 0 "$TBTUI" --store "$T/demo" --json quantize demo:bf16 again -q keep
has '"files_reused":39,"bytes_read":0,'
n=$(sed -n 's/.*"bytes_written":\([0-9]*\).*/\1/p' "$T/out")
[ "$n" -lt 20000 ] || fail "$n bytes are written where all blobs are there"
ls -i "$T/demo/blobs" >"$T/after"
echo "$before" | while read -r line; do
	grep -qxF "$line" "$T/after" || { echo "$line"; exit 1; }
done || fail "a blob was written again"
expect 0 "$TBTUI" --store "$T/store" --store "$T/demo" --json quantize "$T/keep" copy -q keep
expect 0 "$TBTUI" --store "$T/store" --store "$T/demo" --json quantize again copy2 -q keep
has '"files_reused":39,'

# ---- parts ----

expect 2 tb quantize "$T/keep" p:q -q int8 --assemble
err_has '^tbtui: 39 of 39 files .* are not there yet'
for part in 3/2 0/2 1 1/ /2 1/2/3 a/b -1/2; do
	expect 2 tb quantize "$T/keep" p:q -q int8 --part $part
	err_has 'is not I/N'
done
expect 2 tb quantize "$T/keep" p:q -q int8 --part 1/2 --assemble
expect 2 tb quantize "$T/keep" "$T/p.safetensors" -q int8 --part 1/2
err_has 'one file is written in one go'
expect 0 tb quantize "$T/keep" p:q -q int8 --part 1/3
has 'part 1 of 3 is there .* of other parts [0-9]+ files .* are missing'
expect 0 tb --json quantize "$T/keep" p:q -q int8 --part 1/3
has '"bytes_written":0,'
expect 0 tb quantize "$T/keep" p:q -q int8 --part 3/3
expect 2 tb quantize "$T/keep" p:q -q int8 --assemble
err_has 'files .* are not there yet'
[ ! -e "$T/store/manifests/registry.ollama.ai/library/p" ] || fail "half a model"
expect 0 tb quantize "$T/keep" p:q -q int8 --part 2/3
has 'and so are all others: --assemble'
expect 0 tb quantize "$T/keep" p:q -q int8 --assemble
expect 0 "$TBTUI" --store "$T/other" quantize "$T/keep" p:q -q int8
layers "$T/other" p q >"$T/one-go"
layers "$T/store" p q | cmp - "$T/one-go" || fail "put together it is another"
expect 2 tb quantize "$T/keep" p:q -q int8 --assemble
err_has 'exists already'
expect 0 tb verify
has_not leftover

# ---- what is no file of ours is not taken for one ----

d=$T/taken
place() {
	expect 0 tb quantize "$T/keep" "$d" -q int8 --part 1/1
	w=$(work "$T")
}
place
mv "$w/model.safetensors" "$T/elsewhere"
ln -s "$T/elsewhere" "$w/model.safetensors"
expect 0 tb quantize "$T/keep" "$d" -q int8
has_not 'there already'
[ ! -L "$d/model.safetensors" ] || fail "a link became a part of the model"
cmp "$d/model.safetensors" "$T/elsewhere" || fail "other bytes"
rm -r "$d"
place
rm "$w/model.safetensors"
mkfifo "$w/model.safetensors"
expect 0 timeout 20 "$TBTUI" --store "$T/store" quantize "$T/keep" "$d" -q int8
rm -r "$d"
# Damaged: said once, and made anew by the next.
place
tr '\0-\377' 'x' <"$T/elsewhere" >"$w/model.safetensors"
expect 2 tb quantize "$T/keep" "$d" -q int8
expect 0 tb quantize "$T/keep" "$d" -q int8
cmp "$d/model.safetensors" "$T/elsewhere" || fail "other bytes"
exit 0
