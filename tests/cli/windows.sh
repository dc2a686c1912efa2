# Layers that see a window keep no more than it: what is read in one go, what goes on behind a
# session file, and what goes back in one, a little and far, come to the same text.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
M=$TBTUI_SHARED/data/models

# of N words: far more than the window of 16 and a block
words() {
	awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) printf "%s ", i * i % 7 ? "red ball" : "dog " i }'
}
cp -rL "$M/stories260K-gemma2/hf" "$T/gemma2"
chmod -R u+w "$T/gemma2"
sed 's/\("max_position_embeddings": *\)512/\14096/' "$M/stories260K-gemma2/hf/config.json" \
	>"$T/gemma2/config.json"
for model in "$T/gemma2" "$M/arch/laguna/hf" "$M/arch/olmo3/hf"; do
	for kv in "f32 --exact" int8; do
		set -- "$model" --temp 0 -n 24 --ignore-eos --kv $kv
		for n in 350 355 348 120 351; do
			text="$(words $n)Then"
			expect 0 "$TBTUI" --json generate "$@" --no-speculate -p "$text"
			sed 's/.*"ids":\(\[[^]]*\]\).*/\1/' "$T/out" >"$T/fresh"
			expect 0 "$TBTUI" --json generate "$@" -p "$text" --session-file "$T/kept"
			sed 's/.*"ids":\(\[[^]]*\]\).*/\1/' "$T/out" | cmp - "$T/fresh" ||
				fail "$(basename "$model"), $kv, $n words: another text"
			[ "$n" -ne 355 ] || has '"reused_tokens":[1-9][0-9]{2}'
		done
		rm "$T/kept"
	done
done
exit 0
