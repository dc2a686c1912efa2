#!/bin/sh
# cron: what a job does that nobody watches: no terminal, no home, nothing in its environment,
# standard input closed, private files.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
TBTUI=$(realpath "$TBTUI")
model "$T/store" one latest 100
mkdir "$T/cwd" "$T/cwd/.config" "$T/cwd/.config/tbtui"
echo "store $T/store" >"$T/cwd/.config/tbtui/config"

# job STATUS ARG...: as a job, in a folder that is not its own
job() {
	want=$1
	shift
	(cd "$T/cwd" && umask 077 && exec env -i "$TBTUI" "$@" <&- >"$T/out" 2>"$T/err")
	got=$?
	[ "$got" -eq "$want" ] && return
	cat "$T/out" "$T/err" >&2
	fail "exit status $got, not $want: $*"
}
silent() {
	[ ! -s "$T/err" ] || { cat "$T/err" >&2; fail "$* says something on standard error"; }
}
site="-d $T/job/index.db -s $T/store"
mkdir "$T/job"

# Clean and quiet; the report is whole, private as umask says, and readable by the next job.
# shellcheck disable=SC2086
for format in html json txt; do
	job 0 -q $site verify --report "$T/job/audit.$format"
	silent "a clean verify"
	job 0 $site audit check "$T/job/audit.$format"
done
[ "$(stat -c %a "$T/job/audit.html")" = 600 ] || fail "not as private as umask says"
grep -q '^<!-- seal sha256:' "$T/job/audit.html" || fail "no whole report"

# The next day: nothing is replaced unasked, and nobody can be asked; --yes does.
cp "$T/job/audit.html" "$T/was"
# shellcheck disable=SC2086
job 2 $site verify --report "$T/job/audit.html"
err_has 'audit.html exists already. Replace it\? Give --yes'
cmp -s "$T/was" "$T/job/audit.html" || fail "the report was touched"
# shellcheck disable=SC2086
job 0 -y -q $site verify --report "$T/job/audit.html"
silent "a clean verify"
cmp -s "$T/was" "$T/job/audit.html" && fail "the report was not replaced"

# Damage is an exit status, and in the report; nothing looked at is no success.
flip "$OWN" 300
# shellcheck disable=SC2086
job 1 -y $site verify --report "$T/job/audit.html"
silent "a verify that finds damage"
grep -q digest_mismatch "$T/job/audit.html" || fail "the report does not say it"
flip "$OWN" 300
mkdir "$T/none"
job 2 -d "$T/job/none.db" -s "$T/none" verify
# shellcheck disable=SC2086
job 2 $site verify --report "$T/gone/audit.html"
err_has 'there is no folder'

# A report that cannot be written: nothing is left beside, the run is kept.
if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 500 "$T/shut"
	# shellcheck disable=SC2086
	job 2 $site verify --report "$T/shut/audit.html"
	err_has 'audit.html'
fi
# A limit of file sizes ends as a full disk does.
i=0
while [ $i -lt 600 ]; do
	i=$((i + 1))
	: >"$T/store/blobs/foreign-$i"
done
# shellcheck disable=SC2086
job 0 -q $site verify
(ulimit -f 100; trap '' XFSZ; job 2 -d "$T/job/index.db" audit show --report "$T/job/cut.json") ||
	fail "a report that does not fit"
err_has 'cut.json: the report is not written'
[ ! -e "$T/job/cut.json" ] || fail "half a report was left"
ls -A "$T/job" | grep -q tbtui-tmp && fail "a temporary file was left"

# Without a home it is not guessed where the index is, nor is anything of the current folder
# a configuration.
job 2 -s "$T/store" verify
err_has 'HOME is not set: give --db FILE, or set TBTUI_DB'
job 2 stores list
[ "$(cd "$T/cwd" && find . -type f)" = ./.config/tbtui/config ] || fail "written to the current folder"
(cd "$T/cwd" && env -i "$TBTUI" -d "$T/job/other.db" stores list) >"$T/out" 2>"$T/err"
has_not "$T/store"
job 2 -d "$T/job/other.db" stores add "$T/store"
err_has 'set HOME or XDG_CONFIG_HOME'
exit 0
