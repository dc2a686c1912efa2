#!/bin/sh
# No function over 100 lines, no .c file of 700 or more; half of the functions fit
# 18 lines.  A header of 120 lines is said, not refused.  It works because a definition starts with
# its name in column 0 and ends with "}" there.
cd "${srcdir:-.}" || exit 99
files=$(find src db ui tests -name '*.[ch]' | sort)
[ -n "$files" ] || exit 99
bad=0

for f in $files; do
	n=$(wc -l <"$f")
	case $f in
	*.h) [ "$n" -lt 120 ] || echo "$f: $n lines, long for a header" ;;
	*) [ "$n" -lt 700 ] || { echo "$f: $n lines, at most 699"; bad=1; } ;;
	esac
done

# shellcheck disable=SC2086
lengths=$(awk '
	FNR == 1 { at = 0 }
	/^[a-zA-Z_][a-zA-Z0-9_]*\(/ { at = FNR; name = $0; sub(/\(.*/, "", name) }
	/^}/ {
		if (at)
			print FNR - at + 1, FILENAME ":" at ": " name
		at = 0
	}' $files | sort -n)
echo "$lengths" | awk '$1 > 100 { print $2, $3, $1 " lines, at most 100"; bad = 1 }
	END { exit bad }' || bad=1
echo "$lengths" | grep -v ' tests/' | awk '
	{ n[NR] = $1 }
	END {
		median = n[int((NR + 1) / 2)]
		printf "%d functions: median %d lines, 90 %% within %d, longest %d\n",
			NR, median, n[int(NR * 0.9)], n[NR]
		if (NR < 50 || median > 18) {
			print "the median is to be at most 18"
			exit 1
		}
	}' || bad=1
exit $bad
