# Our reader and Python's json agree on every safetensors file there is.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"

cat >"$T/list.py" <<'PY'
import json, struct, sys
for path in sys.argv[1:]:
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(n))
    meta = head.pop("__metadata__", None) or {}
    for name in sorted(head, key=str.encode):
        t = head[name]
        a, b = t["data_offsets"]
        print(name, t["dtype"], t["shape"], 8 + n + a, b - a)
    for key in sorted(meta, key=str.encode):
        print(key, "=", meta[key])
PY
find "$TBTUI_SHARED/data" -name '*.safetensors' >"$T/files"
[ "$(wc -l <"$T/files")" -ge 10 ] || fail "too few files to compare"
while read -r file; do
	./tests/st_list "$file" >"$T/ours" || fail "$file: refused"
	python3 "$T/list.py" "$file" >"$T/theirs" || fail "$file: python3 failed"
	cmp -s "$T/ours" "$T/theirs" || { diff "$T/ours" "$T/theirs" >&2; fail "$file differs"; }
done <"$T/files"
echo "$(wc -l <"$T/files") files agree"
