#!/bin/sh
# A folder is a layer: it may include itself and what is below it; a heavy
# library belongs to one layer; a family of operations shows one header (doc/INTERNALS.md).
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
			src/*/*) of=${inc#src/} of=src/${of%%/*} ;;
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

# family NAME BELOW...: of src/ops; it includes itself and the public headers of those below
families=
family() {
	name=$1
	families="$families $name "
	shift
	allow=" $* "
	for f in src/ops/"$name"/*.[ch]; do
		for inc in $(sed -n 's,^#[[:space:]]*include[[:space:]]*"src/ops/\([^"]*\)".*,\1,p' "$f"); do
			of=${inc%%/*}
			[ "$of" != "$name" ] || continue
			case $allow in
			*" $of "*) ;;
			*) echo "$f: may not include src/ops/$inc"; bad=1 ;;
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
		[ "$of" != src ] || { of=${f#src/} of=src/${of%%/*}; }
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

family home
family output
family fetch output
family model_text
family metadata
family about
family translate model_text
family plan model_text translate
family places home
family vocab model_text
family blobdir output fetch
family scan home blobdir
family tidy home blobdir fetch
family verify home blobdir model_text
family report verify
family bom home report about metadata
family inspect home blobdir
family content home blobdir
family heal home content output
family dedupe home content output
family digest home blobdir
family look home output verify fetch hub_pull
family diff home
family convert home plan output model_text translate calibrate
family import home output model_text metadata
family hub_pull home output fetch content
family bundle home output import
family pull home output fetch content
family carry home fetch
family push home carry fetch
family copy home carry fetch
family slice
family create home plan output convert import translate
family run home model_text
family remote run
family chat run remote
family serve home run about
family calibrate run plan
family bench home inspect
family doctor home places about fetch
family demo home convert

for f in src/ops/*/; do
	case $families in
	*" $(basename "$f") "*) ;;
	*) echo "$f: no family of this list"; bad=1 ;;
	esac
done
for f in $(find src ui -name '*.[ch]'); do
	for inc in $(sed -n 's,^#[[:space:]]*include[[:space:]]*"src/ops/\([^"]*\)".*,\1,p' "$f"); do
		of=${inc%%/*}
		case $f:$inc in
		src/ops/"$of"/*:* | *:"$of/$of.h") ;;
		*) echo "$f: src/ops/$inc is private to its family"; bad=1 ;;
		esac
	done
done

only '(n?curses|term|panel|menu|form)[.]h' ui
only readline/ ui src/cli
only sqlite3[.]h db
only curl/ src/net
only microhttpd[.]h src/net
only cblas[.]h src/engine
only cjson/ src/format
only pcre2 src/text
only utf8proc[.]h src/base src/text
only openssl/ src/base
only 'xxh(ash|_x86dispatch)[.]h' src/base
only md4c[.]h src/face
only cmocka[.]h

[ "$seen" -ge 20 ] || { echo "only $seen files found: run it at the top of the sources"; bad=1; }
exit $bad
