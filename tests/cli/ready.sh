#!/bin/sh
# What a conversion can know before it writes, it says before it writes: nothing is left then,
# not even an empty folder.
. "${srcdir:-.}/tests/cli/lib.sh"

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
# unready PATTERN WORDS...: is refused, and leaves all as it was
unready() {
	pattern=$1
	shift
	find "$T/store" "$T/place" -printf '%p %i %s %T@\n' | sort >"$T/before"
	expect 2 tb quantize "$@"
	err_has "$pattern"
	find "$T/store" "$T/place" -printf '%p %i %s %T@\n' | sort >"$T/after"
	grep -v 'store/blobs [0-9]\|/place [0-9]' "$T/before" >"$T/b"
	grep -v 'store/blobs [0-9]\|/place [0-9]' "$T/after" | cmp - "$T/b" || fail "something changed: $*"
}
expect 0 "$TBTUI" demo --random "$T/store"
mkdir "$T/place"
expect 0 tb quantize demo:bf16 "$T/place/src" -q keep

# ---- a manifest that could not be made in the end ----

echo x >"$T/store/manifests/registry.ollama.ai/library/taken"
unready 'taken/v1: cannot be made, for .*/taken is no folder' demo:bf16 taken:v1 -q int4

# ---- a folder that could not ----

echo x >"$T/place/file"
unready 'file' demo:bf16 "$T/place/file/deeper/dir" -q int4
unready 'is a file' demo:bf16 "$T/place/file/" -q int4 -f

# ---- a file that may not become so long ----

(
	ulimit -f 100		# of 512 or 1024 bytes
	"$TBTUI" --store "$T/store" --db "$T/index.db" quantize demo:bf16 "$T/place/long" -q int8 \
		>"$T/out" 2>"$T/err"
	[ $? -eq 2 ]
) || fail "a file that is too long is tried"
err_has 'the result has a file of [0-9.]+ [kM]B, and files may have [0-9.]+ [kM]?B here'
ls -A "$T/place" | grep -q 'long\|tbtui' && fail "something of it is there"

# ---- a disk that is too small for what is really written ----

for dir in /dev/shm "$T"; do
	free=$(df -B1 --output=avail "$dir" 2>/dev/null | tail -1)
	[ -n "$free" ] && [ "$free" -lt 400000000000 ] && break
done
if [ -n "$free" ] && [ "$free" -lt 400000000000 ]; then
	mkdir "$T/huge"
	echo '{"architectures":["LlamaForCausalLM"]}' >"$T/huge/config.json"
	n=$((free / 8192 + 100000))
	h='{"model.embed_tokens.weight":{"dtype":"BF16","shape":['$n',4096],"data_offsets":[0,'$((n * 8192))']}}'
	len=${#h}
	printf "\\$(printf %o $((len % 256)))\\$(printf %o $((len / 256)))\0\0\0\0\0\0%s" "$h" \
		>"$T/huge/model.safetensors"
	if truncate -s $((8 + len + n * 8192)) "$T/huge/model.safetensors" 2>/dev/null; then
		room=$(mktemp -d "$dir/tbtui-ready-XXXXXX")
		expect 2 tb quantize "$T/huge" "$room/x" -q keep
		err_has "^tbtui: $room: the result needs [0-9.]+ [GT]B, free are [0-9.]+ [MGT]B"
		[ -z "$(ls -A "$room")" ] || fail "something was written to a disk that is too small"
		rmdir "$room"
	fi
fi
exit 0
