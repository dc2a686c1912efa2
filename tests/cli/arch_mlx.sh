#!/bin/sh
# Models with a state as MLX's programs leave them, in a folder and made a GGUF of: they turn
# convolutions, stack experts, and make the norms of some whole.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
A=$TBTUI_SHARED/data/models/arch
here="${srcdir:-.}/tests/cli"

for m in qwen3_5 qwen3_5_moe qwen3_next lfm2 lfm2_moe; do
	python3 "$here/arch_mlx.py" "$A/$m/hf" "$T/$m" || fail "$m: cannot be made"
	expect 0 "$TBTUI" --db "$T/index.db" quantize "$T/$m" "$T/$m.gguf" -q keep
	python3 "$here/arch.py" "$TBTUI" "$A/$m" float64.json "$T/$m" "$T/$m.gguf" >"$T/bad" ||
		fail "$m: $(cat "$T/bad")"
	[ "$m" = qwen3_5_moe ] && continue	# two of its tensors are one there
	expect 0 "$TBTUI" --db "$T/index.db" diff "$T/$m" "$A/$m/hf"
done
exit 0
