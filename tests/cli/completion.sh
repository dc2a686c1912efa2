#!/bin/sh
# The shell completions find what the program itself says it has.
. "$srcdir/tests/cli/lib.sh"
command -v bash >/dev/null || skip "no bash"

# complete WORD...: what bash would offer for the last word
complete() {
	bash -c 'source "$1/data/bash/tbtui"; shift
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_tbtui; printf "%s\n" "${COMPREPLY[@]}"' bash "$srcdir" "$@" >"$T/out" 2>"$T/err"
	[ ! -s "$T/err" ] || { cat "$T/err" >&2; fail "bash complains"; }
}

complete "$TBTUI" ''
commands=$("$TBTUI" --help | sed -n '/^Commands:/,$p' | awk '/^  [a-z]/ { print $1 }')
[ -n "$commands" ] || fail "--help lists no commands"
for c in $commands; do
	has "^$c\$"
done
complete "$TBTUI" imp
has '^import$'
has_not '^scan$'
complete "$TBTUI" --
for o in --db --store --json --version; do
	has "^$o\$"
done
complete "$TBTUI" -d x import --re
has '^--replace$'
complete "$TBTUI" --color a
has '^always$'
mkdir "$T/folder"
complete "$TBTUI" --store "$T/fo"
has "^$T/folder\$"
complete "$TBTUI" plan demo:bf16 --policy ''
for p in uniform mlx:mixed_3_6 llama:Q4_K_M budget:4.5bpw; do
	has "^$p\$"
done
complete "$TBTUI" plan demo:bf16 --policy llama:Q4
has '^llama:Q4_K_S$'
has_not 'Q5'
mkdir -p "$XDG_CONFIG_HOME/tbtui"
echo 'registry hub.example:5000 plain' >"$XDG_CONFIG_HOME/tbtui/config"
complete "$TBTUI" pull h
has '^hub\.example:5000/$'
has '^hf:$'
complete "$TBTUI" pull "$T/fo"
has_not 'folder'
complete "$TBTUI" push hu
has_not '^hub'
complete "$TBTUI" push demo:bf16 --replace hu
has '^hub\.example:5000/$'
complete "$TBTUI" copy docker://h
has '^docker://hub\.example:5000/$'
complete "$TBTUI" copy "$T/fo"
has "^$T/folder\$"
complete "$TBTUI" quantize demo:bf16 x --recipe mlx
has '^mlx$'
exit 0
