"""damage_rows.py - the list of damages, and what they are made with. Used by damage.py."""
import os

ROWS = []


def row(kind, text, deep=False, before=False, without=(), notes=()):
    """notes: those that are what is looked for.
    before: verified once before the damage, so that there is something to compare with.
    without: codes that must not be told, not even as notes."""
    def keep(fn):
        ROWS.append((kind, text, fn, deep, before, without, notes))
        return fn
    return keep


def flip(path, at=None):
    st = os.stat(path)
    with open(path, "r+b") as f:
        f.seek(st.st_size // 2 if at is None else at)
        byte = f.read(1)[0]
        f.seek(-1, 1)
        f.write(bytes([byte ^ 4]))
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def cut(path, size):
    with open(path, "r+b") as f:
        f.truncate(size if size >= 0 else os.path.getsize(path) + size)


def append(path, more):
    with open(path, "ab") as f:
        f.write(more)


def rename(tensors, old, new):
    tensors[new] = tensors.pop(old)
