#!/bin/sh
# beside.sh [PART] - pulls, and what others do meanwhile: beside.py, with a small disk where one can be mounted.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry unshare
registry_start A
mkdir "$T/small"
[ $# -gt 0 ] || ! sanitized || set -- same damaged
export T TBTUI STOCK="$A_URL" LOCKED= NET_CA="$NET_CA" NET_PEM= NET_LOGIN=
inside='mount -t tmpfs -o size=64m none "$T/small" 2>/dev/null; exec python3 "$@"'
if unshare -rm true 2>/dev/null; then
	unshare -rm sh -c "$inside" sh "$NET_SRC/beside.py" "$@" || fail "see above"
else
	python3 "$NET_SRC/beside.py" "$@" || fail "see above"
fi
