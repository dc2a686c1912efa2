# lib.sh - for the tests of doc/CLUSTER.md: what its lines name, and a tbtui that is killed
# in the middle of part 5 when it is first run.
SHIM=${SHIM:-$(pwd)/tests/faults/shim.so}
[ -f "$SHIM" ] || skip "$SHIM was not built"
if LC_ALL=C grep -q __asan_init "$TBTUI" || LC_ALL=C grep -q __tsan_init "$TBTUI"; then
	skip "a build with sanitizers"
fi
REAL=$TBTUI
STORE=$T/store
SRC=$T/src
DST=model:q
PATH=$T/bin:$PATH
export STORE SRC DST PATH

make_models() {
	mkdir "$T/bin" "$STORE" "$T/alone"
	cat >"$T/bin/tbtui" <<-END
		#!/bin/sh
		case "\$*" in
		*' 5/8'*)
			if mkdir "$T/died" 2>/dev/null; then
				LD_PRELOAD=$SHIM FAULT_FN=linkat FAULT_AT=2 FAULT_ERRNO=-1
				export LD_PRELOAD FAULT_FN FAULT_AT FAULT_ERRNO
			fi
			;;
		esac
		$REAL -t 1 "\$@"
		rc=\$?
		echo "\$rc \$*" >>$T/codes
		exit \$rc
	END
	chmod +x "$T/bin/tbtui"
	expect 0 "$REAL" demo --random "$T/demo"
	expect 0 "$REAL" -s "$T/demo" quantize demo-moe:bf16 "$SRC" -q keep --experts keep
	expect 0 "$REAL" -s "$T/alone" quantize "$SRC" "$DST" -q int4
}

# What a model is made of.
layers() {
	tr ',' '\n' <"$1/manifests/registry.ollama.ai/library/$2/$3" | grep digest
}

# The model in the store is the one that was made alone, file by file.
is_whole() {
	a=$T/alone/manifests/registry.ollama.ai/library/model/q
	cmp "$a" "$STORE/manifests/registry.ollama.ai/library/model/q" || fail "another manifest"
	for blob in "$T"/alone/blobs/*; do
		cmp "$blob" "$STORE/blobs/${blob##*/}" || fail "another blob"
	done
}
