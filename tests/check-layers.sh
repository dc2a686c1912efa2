#!/bin/sh
# A folder is a layer: it may include itself and what is below it; a heavy
# library belongs to one layer (doc/INTERNALS.md).
cd "${srcdir:-.}" || exit 99
bad=0
seen=0

# layer FOLDER BELOW...
layer() {
	dir=$1
	allow=" $* "
	for f in $(find "$dir" -name '*.[ch]' 2>/dev/null); do
		seen=$((seen + 1))
		for inc in $(sed -n 's/^#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$f"); do
			case $inc in
			config.h) continue ;;
			src/*/*) of=src/$(echo "$inc" | cut -d/ -f2) ;;
			*/*) of=${inc%%/*} ;;
			*.def | *.inc) continue ;;
			*) echo "$f: include \"$inc\" by its full path"; bad=1; continue ;;
			esac
			case $allow in
			*" $of "*) ;;
			*) echo "$f: may not include $inc"; bad=1 ;;
			esac
		done
	done
}

# only HEADER FOLDER...: who may include <HEADER...>
only() {
	h=$1
	shift
	for f in $(grep -rlE --include='*.[ch]' "^#[[:space:]]*include[[:space:]]*<$h" src db ui); do
		of=${f%%/*}
		[ "$of" != src ] || of=src/$(echo "$f" | cut -d/ -f2)
		case " $* " in
		*" $of "*) ;;
		*) echo "$f: may not include <$h>"; bad=1 ;;
		esac
	done
}

base=src/base
format="src/format $base"
quant="src/quant $format"
store="src/store $quant"
model="src/model $store"
ops="src/ops src/net src/engine src/text db $model"
face="src/face $ops"

layer $base
layer $format
layer $quant
layer $store
layer $model
layer src/net $store
layer src/engine $model
layer src/text $store
layer db $store
layer $ops
layer $face
layer src/cli $face
layer ui $face

only '(n?curses|term|panel|menu|form)[.]h' ui
only readline/ ui src/cli
only sqlite3[.]h db
only curl/ src/net
only cblas[.]h src/engine
only cjson/ src/format
only pcre2 src/text
only utf8proc[.]h src/base src/text
only openssl/ src/base
only cmocka[.]h

[ "$seen" -ge 20 ] || { echo "only $seen files found: run it at the top of the sources"; bad=1; }
exit $bad
