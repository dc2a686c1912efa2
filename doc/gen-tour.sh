#!/bin/bash
# gen-tour.sh PROGRAM >doc/tour.md - takes the pictures of the tour: the demo store,
# used by keys alone in a real terminal (tmux), screen after screen.
set -eu
tbtui=$(realpath "$1")
dir=$(mktemp -d)
trap 'tmux -L tbtui-tour kill-server 2>/dev/null || true; rm -rf "$dir"' EXIT
export TBTUI_DB=$dir/index.db LC_ALL=C.UTF-8
cd "$dir"
"$tbtui" demo "$dir/models" >/dev/null

term() { tmux -L tbtui-tour -f /dev/null "$@"; }
start() {	# ROWS COLUMNS
	term kill-server 2>/dev/null || true
	term new-session -d -y "$1" -x "$2" "$tbtui" -s "$dir/models"
	sleep 1
}
keys() { for k in "$@"; do term send-keys "$k"; sleep 0.15; done; sleep 0.6; }
picture() { printf '```\n'; term capture-pane -p | sed 's/[[:space:]]*$//; s|'"$dir"'|~|'; printf '```\n\n'; }
say() { printf '%s\n\n' "$*"; }

say '# A tour of the screens'
say 'Taken by `doc/gen-tour.sh` in a terminal of 80 columns and 24 rows, on the store that' \
    '`tbtui demo` makes. Its weights are random, so what its models say is noise.'
start 24 80
say '## Models' && say 'All models of all stores, from the index. One of them is damaged; a verify has not said so yet.'
picture
say '## Verify' && say '`V` verifies everything: each blob is hashed once. The damaged model is named.'
keys V; sleep 1; picture
say '## Audit' && say '`4`: earlier runs; Enter opens one to its findings, worst first. `w` writes it as text, JSON, CSV, Markdown or HTML.'
keys 4; picture; keys Enter; picture
say '## A model' && say 'Enter on a model: its files, and its config, template, licence and parameters as tabs.'
keys 1 g j j j j; keys Enter; picture
say '## Tensors' && say '`2`: the tree of names; `t` makes it a table, `/` filters as one types.'
keys 2; picture; keys t / q _ p r o j Enter; picture
say '## A tensor' && say 'Enter: facts, statistics and histogram; `w` its values, `b` its bytes.'
keys Enter; sleep 0.5; picture; keys w; picture; keys b; picture
say '## Convert' && say '`5`: what each tensor becomes and what that costs, sampled error included. `4` `8` `n` `x` `m` `k` change the row or the marked ones; nothing is written until asked.'
keys Escape Escape Escape Escape 1 5; sleep 1; keys j j j j 8; sleep 0.6; picture
keys w; picture; keys Enter; picture; keys y; sleep 1.5
say '## Chat' && say '`6`: the model converted a moment ago answers. Esc stops it.'
keys 1 g j j j j j 6; sleep 1.5
term send-keys 'What do you see on this disk?' Enter; sleep 1; keys Escape; picture
say '## Jobs and Help' && say '`7` shows what ran; `?` the keys of the screen one comes from, from the same table as the key line.'
keys Escape 7; picture; keys '?'; picture
say '## Wider' && say 'At 120 columns there is room for more, here statistics of all tensors (`*` marks, `x` computes).'
start 30 120
keys g j j j j 2 t '*' x; sleep 1; picture
