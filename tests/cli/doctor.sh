#!/bin/sh
# doctor: what is said of the machine is so, and what holds it down is named.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE OMP_NUM_THREADS OPENBLAS_NUM_THREADS TBTUI_CPU
LC_ALL=C.UTF-8 TERM=xterm
export LC_ALL TERM

value() {
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$T/out" "$1"
}
command -v python3 >/dev/null || skip "no python3 to read the answer"

# A store that was scanned, and nothing in the way.
model "$STORE" m latest 100
run 0 scan
run 0 doctor --json
[ "$(value 'len(d["problems"])')" -eq 0 ] || fail "problems: $(value 'd["problems"]')"
[ "$(value 'd["stores"][0]["models"]')" -eq 1 ] || fail "stores: $(value 'd["stores"]')"
[ "$(value 'd["memory_bandwidth"] > 1e8')" = True ] || fail "bandwidth: $(value 'd["memory_bandwidth"]')"
[ "$(value 'd["memory_available"] <= d["memory"]')" = True ] || fail "more is free than there is"
[ "$(value 'd["threads"] >= 1')" = True ] || fail "no threads"
[ "$(value '{"llama", "qwen3_moe", "gemma3"} <= set(d["models"])')" = True ] ||
	fail "models: $(value 'd["models"]')"
for scheme in int4 int8 mxfp4 nvfp4 mxfp8 BF16 Q4_K Q8_0 Q2_K; do
	value '[k["scheme"] for k in d["kernels"]]' | grep -qi "'$scheme'" || fail "no $scheme"
done
run 0 doctor
has 'Nothing holds it down'

# What is in the way has a sentence that says what to do.
TBTUI_CPU=scalar OPENBLAS_CORETYPE=Prescott TERM=dumb
export TBTUI_CPU OPENBLAS_CORETYPE TERM
run 1 doctor --json
[ "$(value 'd["level"]')" = scalar ] || fail "level: $(value 'd["level"]')"
for word in TBTUI_CPU OPENBLAS_CORETYPE TERM; do
	[ "$(value "sum('$word' in p for p in d['problems'])")" -eq 1 ] || fail "nothing of $word"
done
value '{k["decode"] for k in d["kernels"]} <= {"scalar", "rows"}' | grep -q True ||
	fail "kernels above scalar: $(value 'd["kernels"]')"
run 1 doctor
has '^\* TBTUI_CPU is "scalar": .*unset it'
unset TBTUI_CPU OPENBLAS_CORETYPE

# Which registries are shown something, and from where; never what.
mkdir -p "$XDG_CONFIG_HOME/tbtui" "$HOME/.docker" "$HOME/.ollama"
cat >"$XDG_CONFIG_HOME/tbtui/config" <<END
registry a.example mirror https://b.example
registry c.example:5000 plain auth d.example
END
echo "http://c.example:5000 me sesame" >"$XDG_CONFIG_HOME/tbtui/keys"
echo '{"auths":{"https://index.docker.io/v1/":{"auth":"bWU6c2VzYW1l"}},"credHelpers":{"ghcr.io":"no-such-one"}}' \
	>"$HOME/.docker/config.json"
chmod 600 "$XDG_CONFIG_HOME/tbtui/keys" "$HOME/.docker/config.json"
TERM=xterm
run 0 doctor
has '^registry  a\.example: credentials: none$'
has "^registry  c\.example:5000: credentials: $XDG_CONFIG_HOME/tbtui/keys\$"
has "^registry  docker\.io: credentials: $HOME/.docker/config\.json\$"
has '^registry  ghcr\.io: credentials: docker-credential-no-such-one$'
has_not quay.io
has_not sesame
has_not bWU6
chmod 644 "$HOME/.docker/config.json"
echo nonsense >"$HOME/.ollama/id_ed25519"
chmod 600 "$HOME/.ollama/id_ed25519"
run 1 doctor --json
[ "$(value 'sum("chmod 600" in p for p in d["problems"])')" -eq 1 ] || fail "a file that others read"
[ "$(value 'sum("id_ed25519: no OpenSSH" in p for p in d["problems"])')" -eq 1 ] || fail "a bad key"
[ "$(value 'd["registries"][0]')" = "{'host': 'a.example', 'credentials': None}" ] || fail registries
rm -r "$HOME/.docker" "$HOME/.ollama" "$XDG_CONFIG_HOME/tbtui"

# A store that was not scanned, one that is gone.
mkdir "$T/new"
echo "$T/new" >"$T/new/file"
expect 1 "$TBTUI" --db "$T/other.db" --store "$T/new" --store "$T/gone" doctor
has "$T/new has not been scanned"
has "$T/gone is not there"
exit 0
