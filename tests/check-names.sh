#!/bin/sh
# check-names.sh [FOLDER...]: names that grep finds, and what only its owner may know.  With
# FOLDERs only what concerns files in them is listed.
#
# A function is defined where its name stands in column 0 and "{" follows there.
# shellcheck disable=SC2086
cd "${srcdir:-.}" || exit 99
files=$(find src db ui -name '*.[ch]' | sort)
[ -n "$files" ] || exit 99
over=$(mktemp) || exit 99	# what is said in a pipe cannot set a variable
trap 'rm -f "$over"' EXIT

# said WHAT LIMIT: a title, how many lines there are on stdin, and those of the folders asked for
said() {
	what=$1
	limit=$2
	shift 2
	lines=$(cat)
	n=$(printf %s "$lines" | grep -c .)
	echo "$what: $n (at most $limit)"
	[ "$n" -le "$limit" ] || echo "$what" >>"$over"
	[ "$n" -gt 0 ] || return
	for folder in ${folders:-.}; do
		case $folder in
		.) echo "$lines" ;;
		*) echo "$lines" | grep -E "(^|[ :])$folder/" ;;
		esac
	done | sort -u | sed 's/^/	/'
}

# uses PATTERN FILE...: FILE:LINE of code, outside comments
uses() {
	pattern=$1
	shift
	awk -v pattern="$pattern" "$(cat tests/code.awk)"'
		{
			s = code($0)
			if (s ~ pattern)
				print FILENAME ":" FNR ":" s
		}' "$@" | sed 's/:[ 	]*/: /2'
}

# outside FOLDER...: the files that are in none of them
outside() {
	printf '%s\n' $files | grep -vE "^($(echo "$*" | tr ' ' '|'))/"
}

folders=$(for f in "$@"; do echo "${f%/}"; done)

awk '
	FNR == 1 { name = "" }
	/^[a-z_][a-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name) }
	/;$/ { name = "" }
	/^\{/ { if (name != "" && !seen[name, FILENAME]++) { n[name]++; at[name] = at[name] " " FILENAME } }
	END { for (name in n) if (n[name] > 3) print n[name], name ":" at[name] }
' $files | sort -rn | said 'functions defined in more than 3 files' 0

# A header is public if a file of another folder includes it; the others are their folder's.
# shellcheck disable=SC2016
awk '
	function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
	/^#[ \t]*include[ \t]*"/ {
		split($0, part, "\"")
		if (folder(FILENAME) != folder(part[2]))
			open[part[2]] = 1
	}
	/^[ \t]*((static|const|typedef) )*(struct|union) [a-z_0-9]+ \{/ {
		tag = $0; sub(/^[ \t]*((static|const|typedef) )*(struct|union) /, "", tag); sub(/ .*/, "", tag)
		if (!seen[tag, FILENAME]++)
			at[tag] = at[tag] " " FILENAME
	}
	END {
		for (tag in at) {
			n = split(at[tag], file, " ")
			hidden = 0
			for (i = 1; i <= n; i++)
				for (k = 1; k <= n; k++)
					if (k != i && file[i] ~ /\.h$/ &&
					    (file[i] in open || folder(file[i]) == folder(file[k])))
						hidden = 1
			if (hidden)
				print tag ":" at[tag]
		}
	}
' $files | sort | said 'struct tags that hide one of a header' 0

# What a model is: asked (src/store), not compared.
kinds=$(sed -n 's/^	X(\(\(MODEL\|PLACE\|LAYOUT\|FORMAT\)_[A-Z0-9_]*\).*/\1/p' src/store/*.h | sort -u |
	tr '\n' '|')
kinds="(${kinds%|})"
uses "([!=]= *$kinds([^A-Z0-9_]|\$)|(^|[^A-Z0-9_])$kinds *[!=]=|case $kinds *:)" \
	$(outside src/store) | said 'kinds of models compared outside src/store' 0

schemes=$(sed -n 's/^	X(\([A-Z0-9_]*\), [a-z0-9_]*, ".*/\1/p' src/quant/scheme.h | tr '\n' '|')
uses "(^|[^A-Z0-9_])SCHEME_(PLAIN|${schemes%|})([^A-Z0-9_]|\$)" $(outside src/quant) | cut -d: -f1 | sort -u |
	said 'files outside src/quant that name a scheme' 10

uses '(str|mem|starts|ends|scan|near|pcre)[a-z_0-9]*[(].*"[^" ]*(layers|blk)[.]' $files | cut -d: -f1 |
	sort -u | said 'files that parse "layers.N"' 1

# Those that read whole files or a value of the header, and what was just written.
uses '(tb_map_open|tb_file_read)[(]' $(outside src/base src/format src/store src/model) |
	grep -vE '^src/ops/(metadata/metadata_gguf|convert/blob(_verify)?|import/import_(gguf|image)|verify/verify_(zeros|blank|scales)|heal/heal_(patch|remote)|dedupe/dedupe_plan|report/report_seal|create/create_items|bundle/bundle_gather|carry/site_file|run/kv_file|look/look_read)[.]c:' |
	cut -d: -f1 | sort -u | said 'files outside src/model that read tensors' 0

[ ! -s "$over" ] || { echo "give it a name of its own, or ask its owner (doc/INTERNALS.md)"; exit 1; }
