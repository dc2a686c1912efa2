"""Talks to "tbtui chat" on a pseudo terminal: chat_lines.py TBTUI FOLDER (with models in it)."""
import os
import pty
import re
import select
import signal
import stat
import sys
import termios
import time

tbtui, folder = sys.argv[1:]


class Terminal:
    def __init__(self, *args):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", HOME=folder, TBTUI_TEST="1",
                              VISUAL=folder + "/edit", TBTUI_CPU="scalar")
            os.execv(tbtui, [tbtui, "-q", "--db", folder + "/index.db", "--store",
                             folder + "/models", "chat", *args])
        self.before = termios.tcgetattr(self.fd)
        self.seen = ""

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += got.decode("utf-8", "replace")
        return bool(got)

    def wait(self, pattern, seconds=60):
        """Until it is seen, and forgets what was seen up to there."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen, re.S)):
            if time.monotonic() > end:
                sys.exit(f"no {pattern!r} in {self.seen[-3000:]!r}")
            self.read(1)
        self.seen = self.seen[found.end():]
        return found

    def type(self, text):
        data = text.encode()
        while data:
            self.read(0)
            data = data[os.write(self.fd, data[:512]):]

    def end(self, status=0):
        while self.read(60):
            pass
        got = os.waitpid(self.pid, 0)[1]
        if os.waitstatus_to_exitcode(got) != status:
            sys.exit(f"ended with {os.waitstatus_to_exitcode(got)}: {self.seen[-2000:]!r}")
        try:
            now = termios.tcgetattr(self.fd)
        except termios.error:
            return      # the terminal went with its last process
        if now != self.before:
            sys.exit(f"the terminal was left as {now}, it was {self.before}")


def modes(t):
    return termios.tcgetattr(t.fd)


# Typed before there is somebody to read it, sent by Enter; ^J is in the message.
t = Terminal("demo:mxfp8", "-n", "3", "--temp", "0")
t.type("first\r")
t.wait(r">>> .*first\r\n.*>>> ")
t.type("one\ntwo\r")
t.wait(r"one\r+\n.*two.*>>> ")
t.type("/set top_k 7\r")
t.wait("top_k: 40 -> 7")
t.type("/regne\r")
t.wait('did you mean "/regen"')
t.type("/set repeat_l\t 3\r")
t.wait("repeat_last_n: 64 -> 3")
# A paste is one message, whatever its line ends are.
t.type("\033[200~a\rb\nc\033[201~\r")
t.wait(r"c\r\n.*>>> ")
# The editor, which leaves the terminal raw.
t.type("draft\007")
t.wait("by an editor")
t.type("\r")
t.wait(r"\r\n.*>>> ")
# ^C: the line is gone, and comes back.
t.type("half a")
t.wait("half a")
t.type("\003")
t.wait(">>> ")
t.type("\033[A line\r")
t.wait(" line\r\n.*>>> ")
t.type('"""\rx\r"""\r')
t.wait(r'\.\.\. .*\.\.\. .*>>> ')
t.type("/undo\r")
t.wait("Taken back.*>>> x")
t.type("\025/edit\r")
t.wait("/edit half a line")
t.type("\025/copy\r")
t.wait("\033]52;c;[A-Za-z0-9+/]+=*\007.*Copied the answer: [1-9][0-9]* bytes")
t.type("/help shortcuts\r")
t.wait("the message in your editor")
# Typed and pasted while it speaks: nothing is dropped, and it is asked afterwards.
t.type("/set num_predict 400\r")
t.wait("num_predict: 3 -> 400")
t.type("speak\r")
t.wait(r"speak\r\n.*?2004h.{20}")
t.type("\033[200~" + "\r".join(f"line {i} of a long paste" for i in range(400)) + "\033[201~\r/bye\r")
t.wait("line 399 of a long paste")
t.end()
with open(folder + "/chat_history") as f:
    lines = f.read().split("\n")
mode = stat.S_IMODE(os.stat(folder + "/chat_history").st_mode)
assert mode == 0o600, oct(mode)
for want in ("first", "one\\ntwo", "a\\nb\\nc", "made\\n by an editor", "half a line", "x\\n"):
    assert want in lines, want
assert any(line.startswith("line 0 of") and line.count("\\n") == 399 for line in lines)

# The next day; ended by a signal.
t = Terminal("demo:mxfp8", "-n", "3")
t.wait(">>> ")
t.type("\022half")
t.wait("lf a line")
t.type("\003")
t.wait(">>> ")
t.type("again\r")
t.wait("again\r\n.*>>> ")
os.kill(t.pid, signal.SIGTERM)
t.end(-signal.SIGTERM)

# While it speaks the terminal shows no typing, and ^C stops it without losing that.
t = Terminal("demo:mxfp8")
t.wait(">>> ")
t.type("speak\r")
t.wait(r"speak\r\n.*?2004h.{20}")
assert not modes(t)[3] & termios.ECHO
t.type("kept\003")
t.wait("stopped.*>>> kept")
t.type(" and sent\r")
t.wait(r" and sent\r\n.*?2004h.{20}")
t.type("\003")
t.wait(">>> ")
t.type("\004")
t.end()
