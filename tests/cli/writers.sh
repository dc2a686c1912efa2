#!/bin/sh
# Who writes and replaces models: never the source, never without keeping what was there,
# and beside others who write.
. "${srcdir:-.}/tests/cli/lib.sh"

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
sums() {
	(cd "$1" && find . -type f -exec sha256sum {} + | sort)
}
expect 0 "$TBTUI" demo --random "$T/demo"
mkdir "$T/store" "$T/a"
d=$T/a/dense
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$d" -q keep
expect 0 tb quantize "$d" m -q int8
expect 0 tb quantize "$d" "$T/a/one.safetensors" -q keep

# ---- the source is refused as a destination, whatever the options ----

mkdir "$T/other"
ln -s ../a/dense "$T/other/link"
ln "$T/a/one.safetensors" "$T/other/same.safetensors"
ln -s a "$T/up"
sums "$T/a" >"$T/before"
sums "$T/store" >"$T/store-before"
for how in -y -f "-f -y"; do
	for dst in "$d" "$d/" "$T/a/../a/./dense" "$T/other/link" "$T/up/dense"; do
		expect 2 tb quantize "$d" "$dst" -q int4 $how
		err_has 'is what is to be converted'
	done
	expect 2 tb quantize "$T/other/link" "$d" -q int4 $how
	err_has 'is what is to be converted'
	expect 2 tb pack "$d" "$d" $how
	expect 2 tb quantize "$d" "$T/a" -q int4 $how
	err_has 'holds what is to be converted'
	expect 2 tb quantize "$d" "$T/up" -q int4 $how
	err_has 'holds what is to be converted'
	expect 2 tb quantize "$d/model.safetensors" "$d" -q int4 $how
	err_has 'holds what is to be converted'
	for dst in "$d/sub" "$d/sub/deeper" "$d/q.safetensors" "$T/up/dense/sub" \
		"$T/other/link/sub"; do
		expect 2 tb quantize "$d" "$dst" -q int4 $how
		err_has 'lies in what is to be converted'
	done
	expect 2 tb quantize "$d" "$T/a/none/../dense" -q int4 $how
	err_has 'name it without "\.\."'
	expect 2 tb quantize "$T/a/one.safetensors" "$T/a/one.safetensors" -q int4 $how
	expect 2 tb quantize "$T/a/one.safetensors" "$T/other/same.safetensors" -q int4 $how
	err_has 'is what is to be converted'
	expect 2 tb quantize m m -q int4 --requantize $how
	expect 2 tb quantize m M:Latest -q int4 --requantize $how
	err_has 'is what is to be converted'
	expect 2 tb quantize m "$T/store" -q int4 --requantize $how
	expect 2 tb quantize m "$T/store/blobs/x" -q int4 --requantize $how
	err_has 'lies in what is to be converted'
done
sums "$T/a" | cmp - "$T/before" || fail "a refused conversion changed the source"
sums "$T/store" | cmp - "$T/store-before" || fail "a refused conversion changed the store"
[ ! -e "$T/a/none" ] || fail "a refused conversion made a folder"

# beside the source is fine, in its parent folder, too
expect 0 tb quantize "$d" "$T/a/beside.safetensors" -q int4
rm "$T/a/beside.safetensors"

# ---- replacing names what would be lost, and keeps it ----

# kept TYPE: the last output's three lines work; $old is what was kept
kept() {
	old=$(sed -n 's/^the old one is kept: //p' "$T/out")
	restore=$(sed -n 's/^  to have it back:   //p' "$T/out")
	remove=$(sed -n 's/^  to be rid of it:   //p' "$T/out")
	[ -n "$old" ] && [ -n "$restore" ] && [ -n "$remove" ] || fail "not said what is kept"
}
mkdir "$T/with it's space"
cd "$T/with it's space" || exit 99
for dst in ./out ./out.safetensors; do
	expect 0 tb quantize "$d" $dst -q int4
	expect 2 tb quantize "$d" $dst -q int8
	err_has 'exists already: (int8/)?int4, [0-9.]+ [kM]B\. Replace it\?.*kept'
	find $dst -type f -exec sha256sum {} + | sed 's/ .*//' | sort >"$T/was"
	expect 0 tb quantize "$d" $dst -q int8 -y
	kept
	[ "$old" = "$(ls -d $dst.replaced-????????T??????Z)" ] || fail "$old is not there"
	find "$old" -type f -exec sha256sum {} + | sed 's/ .*//' | sort | cmp - "$T/was" ||
		fail "what was kept is not what was there"
	expect 0 tb show "$old"
	expect 0 sh -c "$restore"
	find $dst -type f -exec sha256sum {} + | sed 's/ .*//' | sort | cmp - "$T/was" ||
		fail "what came back is not what was there"
	[ ! -e "$old" ] && [ -e $dst.new ] || fail "the new one has gone"
	expect 0 tb --json quantize "$d" "$PWD/$dst" -q int8 -f
	has '"replaced":\{"name":".*out.*\.replaced-[0-9]{8}T[0-9]{6}Z'
	remove=$(sed -n 's/.*"remove":"\([^"]*\)".*/\1/p' "$T/out" | sed 's/\\\\/\\/g')
	expect 0 sh -c "$remove"
	ls -d ./*.replaced-* 2>/dev/null && fail "not removed"
	rm -r $dst.new
done

# names that are as long as names can be, or that no terminal shows
long=$(printf '%0243d.safetensors' 0)
odd=$(printf 'an\033[1m odd\007\\name\377')
for dst in "./$long" "./$odd"; do
	expect 0 tb quantize "$d" "$dst" -q int4
	expect 0 tb quantize "$d" "$dst" -q int8 -y
	kept
	[ "$(printf %s "$remove" | tr -d '\n\40-\176')" = "" ] || fail "what is no text: $remove"
	expect 0 bash -c "$remove"	# words as bash, ksh and zsh read them
	ls -d ./*.replaced-* 2>/dev/null && fail "not removed"
	rm -r "$dst"
done
cd / || exit 99

expect 0 tb quantize "$d" s:t -q int4
expect 2 tb quantize "$d" s:t -q int8
err_has 's:t exists already: (int8/)?int4, [0-9.]+ [kM]B\. Replace it\?'
expect 0 tb quantize "$d" s:t -q int8 --replace
kept
case $old in
s:t.replaced-????????T??????Z) ;;
*) fail "kept as $old" ;;
esac
expect 0 tb tensors "$old"
has ' int4 '
expect 0 tb tensors s:t
has_not ' int4 '
expect 0 tb verify
has_not orphan
expect 0 sh -c "$restore"
expect 0 tb tensors s:t
has ' int4 '
expect 0 tb quantize "$d" s:t -q int8 --replace
kept
expect 0 sh -c "$remove"
expect 2 tb show "$old"
expect 0 tb verify
expect 0 tb import "$d" imp
expect 2 tb import "$d" imp
expect 0 tb import "$d" imp --replace
kept
expect 0 tb show "$old"
expect 0 tb --json import "$d" imp --replace
has '"replaced":\{"name":"imp:latest\.replaced-'
expect 0 tb --json quantize "$d" fresh -q int4
has '"replaced":null'

# a folder that is more than a model stays
mkdir "$T/precious" "$T/precious/sub"
echo x >"$T/precious/config.json"
expect 2 tb quantize "$d" "$T/precious" -q int4 -f
err_has 'will not be replaced'

# ---- what was left over is listed, is no model, and goes with the next one ----

mkdir "$T/left" "$T/left/deep"
expect 0 tb quantize "$d" "$T/left/deep/x" -q int4
expect 0 tb quantize "$d" "$T/left/deep/x" -q int8 -f
expect 0 tb quantize "$d" "$T/left/y.safetensors" -q int4
expect 0 tb quantize "$d" "$T/left/y.safetensors" -q int8 -f
cp -r "$T/left/deep/x" "$T/left/deep/.tbtui-tmp-0011223344556677"
cp -r "$T/left/deep/x" "$T/left/deep/.tbtui-old-0011223344556677"
echo x >"$T/left/.tbtui-tmp-0123456789abcdef"
left() {
	"$TBTUI" --store "$T/left" --db "$T/left.db" "$@"
}
expect 0 left scan
has '^2 models'
has ' 5 leftovers'
expect 0 left blobs --left
has 'x\.replaced-.* kept '
has '\.tbtui-tmp-.* temporary '
expect 0 left verify
has '^note +leftover .*deep/\.tbtui-tmp-0011223344556677 \([0-9]+ kB\) is left over'
has '^note +leftover .*left/\.tbtui-tmp-0123456789abcdef \(2 B\) is left over'
has '^note +leftover .*deep/\.tbtui-old-.*all that is left of the old model'
has '^note +kept .*x\.replaced-.* is an old model, kept'
has '^note +kept .*y\.safetensors\.replaced-.* is an old model, kept'
expect 0 tb quantize "$d" "$T/left/deep/z" -q int4
expect 0 tb quantize "$d" "$T/left/z.safetensors" -q int4
expect 0 left scan
has ' 3 leftovers'
[ -d "$T/left/deep/.tbtui-old-0011223344556677" ] || fail "perhaps the only copy was removed"

# in a store, too; a tag that was kept is a model, a lock says that one is written
expect 0 "$TBTUI" --store "$T/lefts" --db "$T/p.db" import "$d" a:t
echo x >"$T/lefts/blobs/.tbtui-tmp-0123456789abcdef"
m=$T/lefts/manifests/registry.ollama.ai/library/a
echo x >"$m/.tbtui-tmp-0123456789abcdef"
echo x >"$T/lefts/blobs/.tbtui-tmp-in-use"
exec 8<"$T/lefts/blobs/.tbtui-tmp-in-use"
flock 8
expect 0 "$TBTUI" --store "$T/lefts" --db "$T/p.db" scan
has '^1 model'
has ' 2 leftovers'
expect 0 "$TBTUI" --store "$T/lefts" --db "$T/p.db" verify
has '^note +leftover .*blobs/\.tbtui-tmp-0123456789abcdef'
has '^note +leftover .*library/a/\.tbtui-tmp-0123456789abcdef'
expect 0 "$TBTUI" --store "$T/lefts" --db "$T/p.db" import "$d" a:t -f
[ "$(find "$T/lefts" -name '.tbtui-tmp-*')" = "$T/lefts/blobs/.tbtui-tmp-in-use" ] ||
	fail "not swept, or what is in use was swept"
exec 8<&-
expect 0 "$TBTUI" --store "$T/lefts" --db "$T/p.db" scan
has '^2 models'

# ---- two at once ----

# pair STORE DST COMMAND...: runs two of them; $ok says how many said 0
pair() {
	ok=0
	"$TBTUI" --store "$T/pair" --db "$T/p1.db" --threads 1 "$@" >"$T/o1" 2>"$T/e1" </dev/null &
	p1=$!
	"$TBTUI" --store "$T/pair" --db "$T/p2.db" --threads 1 "$@" >"$T/o2" 2>"$T/e2" </dev/null &
	p2=$!
	wait $p1 && ok=$((ok + 1))
	wait $p2 && ok=$((ok + 1))
}
once() {
	[ $ok -eq 1 ] || fail "$ok of two say that they made it: $*"
	grep -hE 'exists already' "$T/e1" "$T/e2" >/dev/null ||
		fail "the other does not say why: $(cat "$T/e1" "$T/e2")"
	left=$(find "$T/pair" "$T/pairs" -name '.tbtui-*')
	[ -z "$left" ] || fail "left over by $*: $left"
}
i=0
while [ $i -lt 6 ]; do
	i=$((i + 1))
	rm -rf "$T/pair" "$T/pairs"
	mkdir "$T/pair" "$T/pairs"
	pair quantize "$d" pair -q int4
	once quantize store
	expect 0 "$TBTUI" --store "$T/pair" --db "$T/p.db" verify
	pair import "$d" imported
	once import
	expect 0 "$TBTUI" --store "$T/pair" --db "$T/p.db" verify
	pair quantize "$d" "$T/pairs/dir" -q int4
	once quantize folder
	pair quantize "$d" "$T/pairs/one.safetensors" -q int4
	once quantize file
	expect 0 "$TBTUI" --store "$T/pairs" --db "$T/p.db" verify
	# both replace: one after the other, and nothing is lost
	pair quantize "$d" pair -q int8 -f
	[ $ok -eq 2 ] || fail "two that replace"
	[ "$(ls "$T"/pair/manifests/registry.ollama.ai/library/pair | wc -l)" -eq 3 ] ||
		fail "a replaced one was lost in the store"
	pair quantize "$d" "$T/pairs/dir" -q int8 -f
	[ $ok -eq 2 ] || fail "two that replace a folder"
	[ "$(ls "$T/pairs" | grep -c '^dir')" -eq 3 ] || fail "a replaced folder was lost"
	expect 0 "$TBTUI" --store "$T/pair" --db "$T/p.db" verify
done
exit 0
