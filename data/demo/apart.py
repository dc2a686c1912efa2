#!/usr/bin/env python3
"""apart.py QUESTIONS TEXTS: says 1 if a question that is kept apart was trained with; case and
punctuation do not count."""
import re
import sys


def bare(text):
    return re.sub(r"[^a-z0-9/]+", " ", text.lower()).strip()


def main():
    asked = [line.split("\t")[0] for line in open(sys.argv[1]) if line.strip() and line[0] != "#"]
    kept = {bare(q) for q in asked}
    bad = 0
    for line in open(sys.argv[2]):
        if line.startswith("U ") and bare(line[2:]) in kept:
            print(f"{sys.argv[2]}: {line[2:].strip()!r} is kept apart")
            bad = 1
    print(f"{len(kept)} questions, {'not ' if bad else ''}apart")
    sys.exit(bad)


if __name__ == "__main__":
    main()
