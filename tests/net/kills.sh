#!/bin/sh
# kills.sh [N [SEED]] - kills.py against docker-registry and a registry like Ollama's.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry htpasswd openssl
registry_start A
registry_start B tls auth
n=4
sanitized && n=1
T=$T TBTUI=$TBTUI STOCK=$A_URL LOCKED=$B_URL NET_CA=$NET_CA NET_PEM=$NET/server.pem \
	NET_LOGIN=$NET_USER:$NET_PASSWORD \
	python3 "$NET_SRC/kills.py" ${*:-$n 1} || fail "see above"
