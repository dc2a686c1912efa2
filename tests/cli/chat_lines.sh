# A conversation line by line, typed on a pseudo terminal.
. "${srcdir:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null || exit 77
mkdir "$T/h"
expect 0 "$TBTUI" demo --random "$T/h/models"
cat >"$T/h/edit" <<'END'
#!/bin/sh
printf 'made\n by an editor\n' >"$1"
stty raw
END
chmod +x "$T/h/edit"
python3 "${srcdir:-.}/tests/cli/chat_lines.py" "$TBTUI" "$T/h" || fail "see above"
exit 0
