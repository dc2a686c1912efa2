#!/bin/bash
# gen-tour.sh PROGRAM [MKSTORE] >doc/tour.md - takes the pictures of the tour: the demo
# store and a synthetic one (tests/scale/mkstore), used by keys alone in a real terminal
# (tmux), screen after screen.
set -eu
tbtui=$(realpath "$1")
mkstore=$(realpath "${2:-$(dirname "$1")/tests/scale/mkstore}")
dir=$(mktemp -d)
trap 'tmux -L tbtui-tour kill-server 2>/dev/null || true; rm -rf "$dir"' EXIT
export TBTUI_DB=$dir/index.db LC_ALL=C.UTF-8 HOME=$dir
cd "$dir"
"$tbtui" demo "$dir/models" >/dev/null
find "$dir/models" -exec touch -d '2 days ago' {} +
"$tbtui" -s "$dir/models" quantize demo-moe:bf16 "$dir/mlx/demo-moe-4bit" -q int4 >/dev/null 2>&1
"$mkstore" --models 2000 --blobs 60000 --tensors 1000000 "$dir/big" >/dev/null 2>&1
"$tbtui" -s "$dir/mlx" -s "$dir/big/ollama" -s "$dir/big/files" scan >/dev/null 2>&1 || true

term() { tmux -L tbtui-tour -f /dev/null "$@"; }
start() {	# ROWS COLUMNS STORE...
	rows=$1 cols=$2
	shift 2
	stores=()
	for s in "$@"; do stores+=(-s "$dir/$s"); done
	term kill-server 2>/dev/null && sleep 0.5 || true
	term new-session -d -y "$rows" -x "$cols" "$tbtui" "${stores[@]}"
	sleep 1
}
keys() { for k in "$@"; do term send-keys "$k"; sleep 0.15; done; sleep 0.6; }
type() { term send-keys -l "$1"; sleep 0.4; }
picture() { printf '```\n'; term capture-pane -p | sed 's/[[:space:]]*$//; s|'"$dir"'|~|'; printf '```\n\n'; }
say() { printf '%s\n\n' "$*"; }

say '# A tour of the screens'
say 'Taken by `doc/gen-tour.sh` in a terminal of 80 columns and 24 rows, on the store that' \
    '`tbtui demo` makes. Its weights are random, so what its models say is noise.'
start 24 80 models
say '## Models' && say 'All models of all stores, from the index. One of them is damaged; a verify has not said so yet.'
picture
say '## Verify' && say '`V` verifies everything: each blob is hashed once. The damaged model is named.'
keys V; sleep 1; picture
say '## Audit' && say '`4`: earlier runs; Enter opens one to its findings, worst first. `w` writes it as text, JSON, CSV, Markdown or HTML.'
keys 4; picture; keys Enter; picture
say '## Blobs' && say '`3`: every content-addressed file, what it is, who uses it and how it stands; Tab goes to orphans, shared, missing and left-over ones. Enter shows whose one is.'
keys 3; picture; keys Tab Tab s s; picture; keys Enter; picture
say '## A model with experts' && say 'Enter on a model: its files first. Tab goes through its pages: every key of its metadata, template, licence, settings.'
keys 1 g j; keys Enter; picture; keys Tab; picture
say 'Parameters are counted by what they are for; of experts only some work on a token, and only those are read for it.'
keys Tab Tab Tab Tab; picture
say 'Tokenizer: `/` searches a piece, `i` shows what becomes of a text.'
keys Tab i; type 'What is on this disk?'; keys Enter; picture
say 'Memory: what a run takes by context, compared with this machine.'
keys Tab; picture
say '## Tensors' && say '`2`: the tree of names; `t` makes it a table, `/` filters as one types.'
keys 1 g j j j j 2; picture; keys t / q _ p r o j Enter; picture
say '## A tensor' && say 'Enter: facts, statistics and histogram; `m` a map of how large its values are (in colour, so not here), `w` values, `b` bytes and what the block under the cursor is made of.'
keys Enter; sleep 0.5; picture; keys w; picture; keys b; picture
say '## Two models side by side' && say '`=` on two marked models compares them tensor by tensor, whatever their formats: same bytes, same values, or how far apart.'
keys Escape Escape Escape Escape 1 g j j j j Space Space '='; sleep 2; picture
say '## Convert' && say '`5`: what each tensor becomes and what that costs, sampled error included. `4` `8` `n` `x` `m` `k` change the row or the marked ones; nothing is written until asked.'
keys q; keys 1 U g j j j j 5; sleep 1; keys j j j j 8; sleep 0.6; picture
keys w; picture; keys Enter; picture; keys y; sleep 1.5
say '## Chat' && say '`6`: the model converted a moment ago answers. Esc stops it.'
keys 1 g j j j j j 6; sleep 1.5
term send-keys 'What do you see on this disk?' Enter; sleep 1; keys Escape; picture
say '## Jobs and Help' && say '`7` shows what ran; `?` the keys of the screen one comes from, from the same table as the key line.'
keys Escape 7; picture; keys '?'; picture
say '## An MLX directory' && say 'A folder as MLX writes it: `quantization` of its config.json is among its keys, and a quantized weight with its scales and biases is one tensor.'
start 24 80 mlx
keys Enter Tab / q u a n t Enter; picture; keys 2 Right Down Right Down Down Right; picture
say '## 2,000 models' && say 'A synthetic store of `tests/scale/mkstore`: 2,000 models, 60,000 blobs, a million tensors. The screens read windows of rows, so it feels like the small one.'
start 24 80 big/ollama big/files; keys G; picture; keys s s s s s g; picture; keys 3; sleep 2; picture
say '## A GGUF model' && say 'One of them is a GGUF file: its metadata with types, arrays shortened (Enter shows them in full).'
keys 1; type '/.gguf'; keys Enter Enter Tab; picture; keys 2 t; picture
say '## Search' && say '`f`: tensors of all models whose names have the words, a million of them here, as one types.'
keys f; type 'layers.7. q_proj'; keys Enter; picture
say '## Wider' && say 'At 120 columns there is room for more, here statistics of all tensors (`*` marks, `x` computes).'
start 30 120 models
keys g j j j j 2 t '*' x; sleep 1; picture
