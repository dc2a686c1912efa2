# sql.awk - SQL files as C strings: awk -f sql.awk DIR/NAME.sql… makes NAME_sql of each
FNR == 1 {
	if (NR > 1)
		print "\t;"
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.sql$/, "_sql", name)
	print "static const char " name "[] ="
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	print "\t\"" $0 "\\n\""
}
END { print "\t;" }
