#!/bin/sh
# doc/gen-man.sh PROGRAM >doc/tbtui.1 - the manual page: tbtui.1.in with the tables
# that the program itself has (--help of it and of each command) and the keys of
# ui/action.def put in.  "make docs" runs it; a check compares.
set -eu
program=$1
srcdir=$(dirname "$0")/..
LC_ALL=C.UTF-8
export LC_ALL

# Rows of --help, "  -x, --name ARG   text", as roff.  Behind the column of the texts
# a text goes on.
options() {
	awk '
	function roff(s) {
		gsub(/\\/, "\\e", s)
		gsub(/-/, "\\-", s)
		if (s ~ /^[.\047]/)
			s = "\\&" s
		return s
	}
	function row() {
		if (head != "")
			print ".TP\n.B " roff(head) "\n" roff(text)
	}
	/^  (    )?-/ {
		row()
		head = substr($0, 3, 28)
		text = substr($0, 32)
		if (length($0) > 30 && substr($0, 31, 1) != " ") {
			head = $0
			text = ""
		}
		gsub(/^ +| +$/, "", head)
		next
	}
	/^                               [^ ]/ {
		text = text (text == "" ? "" : " ") substr($0, 32)
		next
	}
	END {
		row()
	}'
}

roff_line() {
	sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\\&&/"
}

# The lines behind "Examples:", each with what it is for below it.
examples() {
	roff_line | sed "s/'/\\\\(aq/g" | awk '
	/^Examples:/ { on = 1; print ".PP\nExamples:"; next }
	!on || !/^  / { on = 0; next }
	/^      / { print substr($0, 7); next }
	{ print ".TP\n.B " substr($0, 3) }'
}

command_names() {
	"$program" --help | awk '/^Commands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }'
}

commands() {
	for c in $(command_names); do
		text=$("$program" "$c" --help)
		echo ".SS $(echo "$text" | sed -n '1s/^Usage: tbtui //p' | roff_line)"
		echo "$text" | awk '/^(Options|Examples|Global options):/ { exit } NR > 1 && NF' | roff_line
		echo "$text" | options
		echo "$text" | examples
	done
}

# ui/action.def, with what other tables give for their line there.
actions() {
	while IFS= read -r line; do
		case $line in
		SCHEME_KEY_LIST*)
			sed -n 's/^	K(\(.*", \)\([0-9]*, ".*")\).*/A(\1IN(CONVERT), \2/p' \
				"$srcdir/src/quant/scheme.h" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done <"$srcdir/ui/action.def"
}

keys() {
	{ actions; cat "$srcdir/ui/views.def"; } | awk '
	function roff(s) {
		gsub(/\\/, "\\e", s)
		gsub(/-/, "\\-", s)
		if (s ~ /^[.\047]/)
			s = "\\&" s
		return s
	}
	/^A\(/ {
		gsub(/\\"/, "\001")
		split($0, part, "\"")
		text = part[6]
		gsub("\001", "\"", text)
		where = part[5]
		gsub(/^[, ]+|,[^,]*,? *$/, "", where)
		gsub(/IN\(|\)/, "", where)
		gsub(/ *\| */, ", ", where)
		where = where == "EVERYWHERE" ? "" : " (" tolower(where) ")"
		keys = part[4]
		gsub(/ /, ", ", keys)
		print ".TP\n.B " roff(keys == "" ? ":" part[2] : keys) "\n" roff(text where)
	}
	/^V\(/ {
		split($0, part, "\"")
		keys = part[2]
		gsub(/ /, ", ", keys)
		print ".TP\n.B " roff(keys == "" ? ":" tolower(part[4]) : keys) "\n" \
			roff(part[4] ": " part[6])
	}'
}

version=$("$program" --version | awk '{ print $2 }')
while IFS= read -r line; do
	case $line in
	@OPTIONS@) "$program" --help | awk '/^Commands:/ { exit } { print }' | options ;;
	@COMMANDS@) commands ;;
	@KEYS@) keys ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$srcdir/doc/tbtui.1.in" | sed "s/@VERSION@/$version/"
