# What "tensor --values" shows of every model file there is, against decoders that
# Python has of its own (values.py says how).  VALUES_EVERY=1 in the environment: of every
# tensor, which takes minutes; some of each file without it.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
find "$TBTUI_SHARED/data/models" -name '*.gguf' -o -name '*.safetensors' | sort >"$T/files"
[ "$(wc -l <"$T/files")" -ge 40 ] || fail "too few files to compare"
every=5
LC_ALL=C grep -q __asan_init "$TBTUI" && every=25	# whose start takes ten times as long
xargs python3 "${srcdir:-.}/tests/cli/values.py" "$TBTUI" "${VALUES_EVERY:-$every}" \
	<"$T/files" >"$T/out" || fail "they differ"
cat "$T/out"
