#!/bin/sh
# pull from a registry as Ollama's is: blobs elsewhere, without lengths and lists, with words of its own.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs ssh-keygen
net_certificates
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
mkdir -p "$T/there" "$HOME/.ollama"
cp -r "$T/demo/blobs" "$T/demo/manifests" "$T/there"
lib=$T/there/manifests/registry.ollama.ai
for name in needs-macos needs-newer; do
	cp -r "$lib/library/demo" "$lib/library/$name"
done
mkdir "$lib/private"
cp -r "$lib/library/demo" "$lib/private/demo"
ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ollama/id_ed25519" || fail "no key"
server_start O ollama_registry.py "$T/there" --pem "$NET/server.pem" --keys "$HOME/.ollama/id_ed25519.pub"
SSL_CERT_FILE=$NET_CA
export SSL_CERT_FILE
S=$T/store
mkdir -p "$S/blobs" "$S/manifests"
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }

expect 0 tb pull "$O/library/demo:int4"
cmp "$S/manifests/$O/library/demo/int4" "$lib/library/demo/int4" || fail "another manifest"
expect 0 tb verify
has 'clean: 1 model'
grep -q '"cdn"' "$O_LOG" || fail "no blob came from elsewhere"

# ---- nobody is shown there who asks; with a token neither ----
expect 0 tb pull "$O/private/demo:int8"
expect 0 tb verify
has 'clean: 2 models'
python3 - "$O_LOG" <<'PY' || fail "who asks was shown elsewhere"
import json, sys
shown = {}
for line in open(sys.argv[1]):
    if not line.startswith("{"):
        continue
    r = json.loads(line)
    headers = {k.lower(): v for k, v in dict(r["headers"]).items()}
    shown.setdefault(r["server"], []).append("authorization" in headers)
sys.exit(any(shown["cdn"]) or not any(shown[k] for k in shown if k != "cdn"))
PY

# ---- its own words ----
expect 2 tb pull "$O/library/needs-macos:int4"
err_has "refused: \".*macOS"
expect 2 tb pull "$O/library/needs-newer:int4"
err_has "refused: \".*newer version"
expect 2 tb pull "$O/library/demo:nope"
err_has 'library/demo:nope: not there'
rm "$HOME/.ollama/id_ed25519"
expect 2 tb pull "$O/private/demo:int4"
err_has 'id_ed25519|credentials'
