#!/bin/sh
# What was mistyped is answered with what was meant.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

expect 2 "$TBTUI" verfy
err_has 'no command "verfy"; did you mean "verify"\?'
expect 2 "$TBTUI" xyzzy
err_has 'no command "xyzzy"; "tbtui --help" lists them'
expect 2 "$TBTUI" --stroe x ls
err_has 'no option "--stroe"; did you mean "--store"\?'
expect 2 "$TBTUI" verify --depe
err_has 'no option "--depe"; did you mean "--deep"\?'
expect 2 "$TBTUI" ls --xyzzy
err_has 'no option "--xyzzy"; try --help'

model "$STORE" wombat latest 100
model "$STORE" llama 8b 200
run 2 show wombta
err_has 'wombta: no model or path of that name; did you mean "wombat"\?'
run 2 show llama:9b
err_has 'did you mean "llama:8b"\?'
run 2 show llama
err_has 'did you mean "llama:8b"\?'
run 2 show aardvark
err_has 'aardvark: no such path; no model of that name in '
run 2 tensor wombat model.layers.0.mlp.up_porj.weight
err_has 'no tensor model.layers.0.mlp.up_porj.weight; did you mean "model.layers.0.mlp.up_proj.weight" or '
run 2 tensor wombat layers.10.mlp.up_proj
err_has 'did you mean "model.layers.10.mlp.up_proj.weight"\?'
exit 0
