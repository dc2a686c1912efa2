# lib.sh - for tests that talk to registries: sourced after tests/cli/lib.sh.  Servers run on
# loopback, on ports that the kernel chooses, and end with the test, however it ends.
#
#	net_needs TOOL...		skip without them
#	registry_start A [tls] [auth]	a docker-registry: $A is its HOST:PORT, $A_URL with the
#					scheme, $A_DIR where it keeps things, $A_LOG its log
#	server_start B SCRIPT [ARG...]	tests/net/SCRIPT, which writes "NAME PORT" lines into the
#					file that is its first argument; $B is 127.0.0.1:PORT of
#					its line "port", $B_NAME of the others; $B_LOG what it says
#	server_stop A			before the end
#	registry_put URL STORE MANIFEST REPO TAG	a model of a store into a registry as it is
#
# The certificates are for localhost and 127.0.0.1, from the authority in $NET_CA; the user of
# a registry with "auth" is $NET_USER, his password $NET_PASSWORD.
NET=$T/net
NET_CA=$NET/ca.pem
NET_USER=tester
NET_PASSWORD=sesame-46
NET_SRC=${srcdir:-.}/tests/net
NET_PIDS=
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
mkdir -p "$NET"
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
unset SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE DOCKER_CONFIG REGISTRY_AUTH_FILE HF_TOKEN HF_HOME \
	HF_ENDPOINT TBTUI_API_KEY
trap 'net_end; rm -rf "$T"' EXIT

net_needs() {
	for tool in python3 setpriv "$@"; do
		command -v "$tool" >/dev/null || skip "no $tool (see test_packages in bootstrap)"
	done
}

net_end() {
	for pid in $NET_PIDS; do
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	NET_PIDS=
}

# net_certificates: an authority of this test's own, and a server's key and certificate of it
net_certificates() {
	[ ! -s "$NET/server.pem" ] || return 0
	net_needs openssl
	echo "subjectAltName=DNS:localhost,IP:127.0.0.1" >"$NET/ext"
	{
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
			-subj /CN=test-authority -keyout "$NET/ca.key" -out "$NET/ca.pem" &&
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
			-subj /CN=localhost -keyout "$NET/server.key" -out "$NET/server.csr" &&
		openssl x509 -req -in "$NET/server.csr" -CA "$NET/ca.pem" -CAkey "$NET/ca.key" \
			-CAcreateserial -days 2 -extfile "$NET/ext" -out "$NET/server.crt" &&
		cat "$NET/server.key" "$NET/server.crt" >"$NET/server.pem"
	} >"$NET/openssl" 2>&1 || { cat "$NET/openssl" >&2; fail "no certificate"; }
}

# net_run NAME COMMAND...: in the background; it does not outlive this shell, not even a kill -9.
net_run() {
	net_name=$1
	shift
	setpriv --pdeathsig KILL "$@" >"$NET/$net_name.log" 2>&1 </dev/null &
	NET_PIDS="$NET_PIDS $!"
	eval "${net_name}_PID=$! ${net_name}_LOG=\$NET/$net_name.log"
}

# net_wait NAME COMMAND...: until it prints something (10 seconds; the server has to live)
net_wait() {
	net_name=$1
	shift
	eval "net_pid=\$${net_name}_PID"
	for _ in $(seq 200); do
		net_said=$("$@" 2>/dev/null)
		[ -z "$net_said" ] || return 0
		kill -0 "$net_pid" 2>/dev/null || break
		sleep 0.05
	done
	cat "$NET/$net_name.log" >&2
	fail "no server $net_name"
}

registry_start() {
	net_needs docker-registry
	reg=$1
	shift
	reg_tls=
	reg_auth=
	reg_scheme=http
	for word; do
		case $word in
		tls)
			net_certificates
			reg_scheme=https
			reg_tls="
  tls:
    certificate: $NET/server.crt
    key: $NET/server.key"
			;;
		auth)
			net_needs htpasswd
			htpasswd -Bbn -C 4 "$NET_USER" "$NET_PASSWORD" >"$NET/htpasswd" ||
				fail "htpasswd"
			reg_auth="
auth:
  htpasswd:
    realm: basic-realm
    path: $NET/htpasswd"
			;;
		*)
			fail "registry_start: $word"
			;;
		esac
	done
	mkdir -p "$NET/$reg"
	cat >"$NET/$reg.yml" <<-END
		version: 0.1
		log:
		  level: info
		storage:
		  filesystem:
		    rootdirectory: $NET/$reg
		  delete:
		    enabled: true
		  maintenance:
		    uploadpurging:
		      enabled: false
		http:
		  addr: 127.0.0.1:0$reg_tls$reg_auth
	END
	net_run "$reg" docker-registry serve "$NET/$reg.yml"
	net_wait "$reg" sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$NET/$reg.log"
	eval "$reg=127.0.0.1:$net_said ${reg}_URL=$reg_scheme://127.0.0.1:$net_said ${reg}_DIR=\$NET/$reg"
}

server_start() {
	net_needs
	srv=$1
	srv_script=$2
	shift 2
	rm -f "$NET/$srv.ports"
	net_run "$srv" python3 "$NET_SRC/$srv_script" "$NET/$srv.ports" "$@"
	net_wait "$srv" grep '^port ' "$NET/$srv.ports"
	while read -r srv_what srv_port; do
		case $srv_what in
		port)
			eval "$srv=127.0.0.1:$srv_port"
			;;
		*)
			eval "${srv}_$srv_what=127.0.0.1:$srv_port"
			;;
		esac
	done <"$NET/$srv.ports"
}

server_stop() {
	eval "net_pid=\$${1}_PID"
	kill -9 "$net_pid" 2>/dev/null
	wait "$net_pid" 2>/dev/null
}

registry_put() {
	net_needs
	python3 "$NET_SRC/put.py" --user "$NET_USER:$NET_PASSWORD" --ca "$NET_CA" "$@" >"$NET/put" 2>&1 ||
		{ cat "$NET/put" >&2; fail "put $*"; }
}
