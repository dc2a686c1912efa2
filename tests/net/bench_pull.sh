#!/bin/sh
# bench_pull.sh [BLOBS [KB [STREAMS [TURNS]]]]: a pull of a model of many blobs beside what curl reaches
# with as many transfers at a time, from one docker-registry over TLS.  curl only writes files;
# the pull hashes, checks and names them, and syncs.  In turns, the best of each; curl with HTTP/2
# and with HTTP/1.1.  No test: figures mean something on a machine that does nothing else.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/net/lib.sh"
blobs=${1:-500} kb=${2:-1000} streams=${3:-8} turns=${4:-3}
net_needs curl docker-registry
registry_start R tls

python3 - "$T/from" "$blobs" "$kb" <<'END'
import hashlib, json, os, sys
store, n, kb = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(store + "/blobs")
where = store + "/manifests/registry.ollama.ai/library/bench"
os.makedirs(where)
def blob(data):
    digest = hashlib.sha256(data).hexdigest()
    with open(store + "/blobs/sha256-" + digest, "wb") as f:
        f.write(data)
    return {"digest": "sha256:" + digest, "size": len(data)}
config = dict(blob(b'{"model_format":"safetensors","architecture":"amd64","os":"linux"}'),
              mediaType="application/vnd.docker.container.image.v1+json")
layers = []
for i in range(n):
    size = kb * 1000
    name = "model.t%d.weight" % i
    body = size - 200
    head = json.dumps({name: {"dtype": "U8", "shape": [body], "data_offsets": [0, body]}}).encode()
    head += b" " * (192 - len(head))
    layers.append(dict(blob(len(head).to_bytes(8, "little") + head + os.urandom(body)),
                       mediaType="application/vnd.ollama.image.tensor", name=name))
with open(where + "/latest", "w") as f:
    json.dump({"schemaVersion": 2, "config": config, "layers": layers,
               "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}, f)
END
registry_put "$R_URL" "$T/from" "$T/from/manifests/registry.ollama.ai/library/bench/latest" \
	library/bench latest
for f in "$T"/from/blobs/*; do
	digest=${f##*/sha256-}
	printf 'url = "%s/v2/library/bench/blobs/sha256:%s"\noutput = "%s/curl/%s"\n' \
		"$R_URL" "$digest" "$T" "$digest"
done >"$T/urls"
bytes=$(cat "$T"/from/blobs/* | wc -c)

now() {
	date +%s%N
}
# turn NAME COMMAND...: its seconds, the best so far in $best_NAME
turn() {
	name=$1
	shift
	rm -rf "$T/curl" "$T/store" "$T/index.db"
	mkdir -p "$T/curl" "$T/store"
	began=$(now)
	"$@" >"$T/out" 2>"$T/err" || { cat "$T/err" >&2; fail "$*"; }
	took=$(($(now) - began))
	eval "[ \${best_$name:-0} -gt 0 ] && [ \${best_$name} -le $took ] || best_$name=$took"
	echo "$name: $((took / 1000000)) ms, $((bytes * 1000 / took)) MB/s"
}
SSL_CERT_FILE=$NET_CA
export SSL_CERT_FILE
i=0
while [ $i -lt "$turns" ]; do
	i=$((i + 1))
	turn curl curl -sS --fail --parallel --parallel-max "$streams" --cacert "$NET_CA" -K "$T/urls"
	turn curl1 curl -sS --fail --http1.1 --parallel --parallel-max "$streams" --cacert "$NET_CA" \
		-K "$T/urls"
	turn pull "$TBTUI" -q --store "$T/store" --db "$T/index.db" pull --streams "$streams" \
		"$R/library/bench" bench
done
[ "$best_curl1" -ge "$best_curl" ] || best_curl=$best_curl1
echo "$blobs blobs of $kb kB, $streams at a time: pull reaches $((best_curl * 100 / best_pull)) % of curl"
