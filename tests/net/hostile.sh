#!/bin/sh
# hostile.sh [NAME] - registries that mean harm: hostile.py.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry htpasswd openssl
registry_start A
registry_start B tls auth
T=$T TBTUI=$TBTUI STOCK=$A_URL LOCKED=$B_URL NET_CA=$NET_CA NET_PEM=$NET/server.pem \
	NET_LOGIN=$NET_USER:$NET_PASSWORD \
	python3 "$NET_SRC/hostile.py" "$@" || fail "see above"
