# What "tensor --values" shows of every model file there is, against decoders that
# Python has of its own (values.py says how).
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
find "$TBTUI_SHARED/data/models" -name '*.gguf' -o -name '*.safetensors' | sort >"$T/files"
[ "$(wc -l <"$T/files")" -ge 40 ] || fail "too few files to compare"
xargs python3 "${srcdir:-.}/tests/cli/values.py" "$TBTUI" <"$T/files" >"$T/out" || fail "they differ"
cat "$T/out"
