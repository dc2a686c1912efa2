#!/bin/sh
# A chat is killed at random moments; KILLS of them (100 by hand).
. "${srcdir:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"

expect 0 "$TBTUI" demo "$T/demo"
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/int4" -q int4
for kv in f16 int8; do
	expect 0 python3 "$srcdir/tests/cli/chat_kill.py" "$TBTUI" "$T/$kv/index.db" "$T/int4" \
		"${KILLS:-12}" "${SEED:-1}" --kv "$kv"
	cat "$T/out"
done
exit 0
