# One tensor: its statistics, histogram, values and bytes, from a directory and from
# a store, against sums that python makes from the file.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
model=$TBTUI_SHARED/data/models/stories260K/hf-bf16
name=model.embed_tokens.weight

cat >"$T/check.py" <<'PY'
import json, math, struct, sys

got = json.load(open(sys.argv[1]))
with open(got["file"], "rb") as f:
    f.seek(got["offset"])
    raw = f.read(got["bytes"])
v = [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
mean = sum(v) / len(v)
s, h = got["stats"], got["histogram"]
assert got["shape"] == [512, 64] and s["count"] == len(v) == sum(h["counts"])
assert (s["min"], s["max"]) == (min(v), max(v)) == (h["lo"], h["hi"])
assert s["absmax"] == max(map(abs, v)) and s["zeros"] == v.count(0.0)
assert abs(s["mean"] - mean) < 1e-6
assert abs(s["std"] - math.sqrt(sum((x - mean) ** 2 for x in v) / len(v))) < 1e-6
assert s["nans"] == s["infs"] == 0 and s["first_nan"] is None
want = [0] * len(h["counts"])
for x in v:
    want[min(int((x - h["lo"]) / (h["hi"] - h["lo"]) * len(want)), len(want) - 1)] += 1
assert sum(abs(a - b) for a, b in zip(want, h["counts"])) <= 4, (want, h["counts"])
v.sort()
for p, x in s["quantiles"].items():
    if p[0] == "p":
        at = float(p[1:]) / 100 * (len(v) - 1)
        k = int(at)
        assert abs(v[k] + (v[min(k + 1, len(v) - 1)] - v[k]) * (at - k) - x) < 1e-9, (p, x)
assert len(s["quantiles"]) == 11 and s["quantiles"]["exact"] is True
v = [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
assert got["rows"] == [3, 5] and got["cols"] == [10, 13]
assert got["values"] == [v[64 * r + 10:64 * r + 13] for r in (3, 4)]
assert got["hex"]["bytes"] == raw[100:116].hex()
PY

look() {
	expect 0 "$TBTUI" -s "$T/store" --json tensor "$1" $name --stats --hist --bins 20 \
		--values 3:5,10:13 --hex 100:16
	python3 "$T/check.py" "$T/out" || fail "$1: the numbers differ"
}
mkdir -p "$T/store/blobs" "$T/store/manifests"
look "$model"
expect 0 "$TBTUI" -s "$T/store" import "$model" tiny
look tiny

expect 0 "$TBTUI" tensor "$model" $name --stats
has '^max +1\.328125$'
# what was computed is kept, until it is asked for again
expect 0 "$TBTUI" --db "$T/kept/index.db" tensor "$model" $name --stats
has '^read '
expect 0 "$TBTUI" --db "$T/kept/index.db" tensor "$model" $name --stats
has '^kept +now'
has '^max +1\.328125$'
has '^p50 '
expect 0 "$TBTUI" --db "$T/kept/index.db" tensor "$model" $name --stats --again
has '^read '
[ ! -e "$T/kept/index.db" ] || fail "statistics made an index"
# where nothing can be kept, it is computed
expect 0 "$TBTUI" --db /dev/null/index.db tensor "$model" $name --stats
has '^max +1\.328125$'

expect 0 "$TBTUI" tensor "$model" model.norm.weight --values 0
has '2\.45312'
expect 2 "$TBTUI" tensor "$model" nothing
err_has 'no tensor nothing'
for bad in 0:513 5:4 0:1,0:65 x 0:1,; do
	expect 2 "$TBTUI" tensor "$model" $name --values $bad
done
for bad in 65536:1 0:99999 5 :5; do
	expect 2 "$TBTUI" tensor "$model" $name --hex $bad
done
expect 2 "$TBTUI" tensor "$model" $name --hex 0:1 --part bias
expect 2 "$TBTUI" tensor "$model" $name --hist --bins 0

# the map, against the values themselves
cat >"$T/heat.py" <<'PY'
import json, struct, sys

got = json.load(open(sys.argv[1]))
with open(got["file"], "rb") as f:
    f.seek(got["offset"])
    raw = f.read(got["bytes"])
v = [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
for r in range(5):
    for c in range(7):
        cell = [abs(v[64 * i + k]) for i in range(512 * r // 5, 512 * (r + 1) // 5)
                for k in range(64 * c // 7, 64 * (c + 1) // 7)]
        assert abs(got["heat"]["mean"][r][c] - sum(cell) / len(cell)) < 1e-6
        assert got["heat"]["max"][r][c] == max(cell)
assert got["heat"]["not_finite"] == []
PY
expect 0 "$TBTUI" --json tensor "$model" $name --heat --cells 5x7
python3 "$T/heat.py" "$T/out" || fail "the map differs"
expect 0 "$TBTUI" tensor "$model" $name --heat
has 'mean \|w\| in each of 16 x 64 cells'
[ "$(grep -c '|$' "$T/out")" -eq 16 ] || fail "not 16 rows of cells"
for bad in 0x4 5 x 4x1025 4x; do
	expect 2 "$TBTUI" tensor "$model" $name --heat --cells $bad
done

# a block taken apart
expect 0 "$TBTUI" --json tensor "$model" $name --block 6 --hex 96:16
python3 - "$T/out" <<'PY' || fail "the block differs"
import json, struct, sys
got = json.load(open(sys.argv[1]))
raw = bytes.fromhex(got["hex"]["bytes"])
want = [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, 16, 2)]
assert got["block"]["values"] == want and got["block"]["first"] == 48
PY
expect 0 "$TBTUI" tensor "$TBTUI_SHARED/data/gguf-golden/Q4_K.gguf" q.random --block 47
has '^block +47 of 48: elements 12032 to 12287, 144 bytes'
has '^dmin '
has '^mins '
expect 2 "$TBTUI" tensor "$TBTUI_SHARED/data/gguf-golden/Q4_K.gguf" q.random --block 48
expect 2 "$TBTUI" tensor "$model" $name --block x
