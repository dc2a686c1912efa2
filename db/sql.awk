# sql.awk - an SQL file as a C string: awk -v name=SYMBOL -f sql.awk FILE
BEGIN { print "static const char " name "[] =" }
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	print "\t\"" $0 "\\n\""
}
END { print "\t;" }
