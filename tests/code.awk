# code(s): a line of C without its comments, which may go on over lines.  Put in front of an
# awk program of a check: awk "$(cat tests/code.awk)"'…'.
FNR == 1 { in_comment = 0 }
function code(s) {
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", s)
	if (in_comment && !sub(/^.*\*\//, "", s))
		return ""
	in_comment = sub(/\/\*.*$/, "", s)
	return s
}
