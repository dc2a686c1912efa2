#!/bin/sh
# howto.sh [build]: doc/INTERNALS.md keeps its promises ("How to add").
#
# tests/howto/NAME.patch adds one thing of a kind to the sources; its first lines say what and,
# as "Limit: N", how many files of src, ui and db that may touch.  All patches go on top of
# one another, and the page names the files of each, as in
#	Files: `src/cli/cmd_NAME.c`, `src/cli/local.mk` (`tests/howto/command.patch`).
# where a word in capitals stands for whatever the thing is called.
#
# With "build" (`make check-howto`, which sets $builddir and puts a copy of the sources into
# $copy) what came out is built once, as $builddir was configured but with -O1, and each
# NAME.check, sourced by a shell, looks at what its patch did: TBTUI is the program, srcdir its
# sources and builddir where they were built.
set -u
cd "${srcdir:-.}" || exit 99
top=$(pwd)
builddir=${builddir:+$(cd "$top" && cd "$builddir" && pwd)}
work=$(mktemp -d "${TMPDIR:-/tmp}/tbtui-howto-XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
command -v patch >/dev/null || { echo "SKIP: no patch here"; exit 77; }
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

# touched PATCH: the files that it changes or makes
touched() {
	sed -n 's,^[-+][-+][-+] [ab]/\([^	]*\).*,\1,p' "$1" | sort -u
}

# promised NAME: the files that the page names for it, one a line
promised() {
	tr '\n' ' ' <doc/INTERNALS.md | grep -oE 'Files: [^()]*\(`tests/howto/[a-z-]*\.patch`\)' |
		sed -n "s,(.tests/howto/$1\.patch.)\$,,p" | grep -oE '`[^`]*`' | tr -d '`'
}

# apply NAME TREE
apply() {
	(cd "$2" && patch -p1 -s -f --no-backup-if-mismatch) <"tests/howto/$1.patch" ||
		fail "$1.patch does not go onto the sources and the patches before it"
}

# counted NAME: no more files than it may touch, and those of the page
counted() {
	limit=$(sed -n '/^---/q; s/^Limit: \([0-9]*\)$/\1/p' "tests/howto/$1.patch")
	[ -n "$limit" ] || { fail "$1.patch: no line \"Limit: N\" above the first file"; return; }
	touched "tests/howto/$1.patch" | grep -E '^(src|ui|db)/' >"$work/files"
	n=$(grep -c . "$work/files")
	[ "$n" -gt 0 ] || fail "$1.patch: touches nothing"
	[ "$n" -le "$limit" ] || { fail "$1.patch: $n files, at most $limit:"; cat "$work/files"; }
	promised "$1" >"$work/page"
	[ -s "$work/page" ] || fail "doc/INTERNALS.md names no files for tests/howto/$1.patch"
	sed 's/[.]/\\./g; s/[A-Z][A-Z]*/[a-z0-9_]+/g; s/^/^/; s/$/$/' "$work/page" >"$work/patterns"
	grep -vEf "$work/patterns" "$work/files" | grep . && fail "$1.patch touches more than the page says"
	while read -r pattern; do
		grep -qE "$pattern" "$work/files" ||
			fail "$1.patch: doc/INTERNALS.md names $pattern, which it does not touch"
	done <"$work/patterns"
	echo "$1: $n of at most $limit files"
}

# checked NAME: its script, in a folder of its own
checked() {
	mkdir -p "$work/home"
	(
		srcdir=$copy builddir=$copy/build TBTUI=$copy/build/tbtui TBTUI_SRC=$copy
		SCRTEST=$builddir/tests/scrtest TERMINFO=$builddir/tests/ti LC_ALL=C.UTF-8
		HOME=$work/home TMPDIR=$work
		export srcdir builddir TBTUI TBTUI_SRC SCRTEST TERMINFO LC_ALL HOME TMPDIR
		unset TBTUI_DB TBTUI_CPU TBTUI_NOW OLLAMA_MODELS HF_HOME NO_COLOR INPUTRC
		cd "$work/home" && exec sh "$copy/tests/howto/$1.check"
	) >"$work/log" 2>&1
	case $? in
	0) echo "$1: works" ;;
	77) echo "$1: skipped"; tail -n 3 "$work/log" ;;
	*) cat "$work/log"; fail "$1.check" ;;
	esac
}

names=$(cd tests/howto && for p in *.patch; do echo "${p%.patch}"; done)
for name in $names; do
	counted "$name"
	[ -f "tests/howto/$name.check" ] || fail "$name.patch has no $name.check"
done
for page in $(grep -oE 'tests/howto/[a-z-]*[.]patch' doc/INTERNALS.md); do
	[ -f "$page" ] || fail "doc/INTERNALS.md names $page, which is not there"
done

# whatever else the page names is there
for page in $(grep -oE '`(src|ui|db)/[A-Za-z0-9_./-]*`' doc/INTERNALS.md | tr -d '`' | sort -u); do
	case $page in
	*[A-Z]*) ;;
	*) [ -e "$page" ] || fail "doc/INTERNALS.md names $page, which is not there" ;;
	esac
done

if [ "${1:-}" != build ]; then
	for file in $(for name in $names; do touched "tests/howto/$name.patch"; done | sort -u); do
		[ -f "$file" ] || continue
		mkdir -p "$work/tree/$(dirname "$file")"
		cp "$file" "$work/tree/$file" && chmod u+w "$work/tree/$file"
	done
	for name in $names; do
		apply "$name" "$work/tree"
	done
	exit $bad
fi

: "${builddir:?where it is configured}" "${copy:?a copy of the sources}"
copy=$(cd "$copy" && pwd) || exit 99
chmod -R u+w "$copy" || exit 99
for name in $names; do
	apply "$name" "$copy"
done
[ $bad -eq 0 ] || exit 1
command -v autoreconf >/dev/null || { echo "SKIP: no autoreconf here"; exit 77; }
CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
export CCACHE_BASEDIR CCACHE_NOHASHDIR
mkdir -p "$copy/build"
(
	cd "$copy" && autoreconf -fi && cd build || exit
	eval "set -- $("$builddir/config.status" --config)"
	../configure "$@" CFLAGS=-O1 && make -j2 && make tests/scrtest tests/ti/stamp
) >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail "the patched sources do not build"; exit 1; }
for name in $names; do
	checked "$name"
done
exit $bad
