#!/bin/sh
# big.sh - makes an Ollama store in ./ollama whose one blob takes a while to hash: 3 GB
# of nothing, which a sparse file holds in no space.
set -e
d=$(printf 'a%.0s' 1 2 3 4 5 6 7 8)
d=$d$d$d$d$d$d$d$d
mkdir -p ollama/blobs ollama/manifests/registry.ollama.ai/library/big
truncate -s 3G "ollama/blobs/sha256-$d"
cat >ollama/manifests/registry.ollama.ai/library/big/latest <<END
{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",
"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:$d","size":3221225472}]}
END
