"""What a report of each format has to be: report.py FORMAT FILE [SCHEMA].

The seal of every format; of JSON the schema (as much of JSON Schema as that uses) and the digests of
models as doc/report.md defines them; of CSV, HTML and Markdown that hostile names stay text.
"""
import csv
import hashlib
import html.parser
import json
import os
import re
import sys


def fail(text):
    sys.exit(f"FAIL: {text}")


def seal(data, what):
    body, _, last = data.rstrip(b"\r\n").rpartition(b"\n")
    body += b"\n"
    found = re.findall(rb"sha256:[0-9a-f]{64}", last)
    if len(found) != 1 or found[0] != b"sha256:" + hashlib.sha256(body).hexdigest().encode():
        fail(f"{what}: its seal is not that of its bytes: {last!r}")


TYPES = {
    "object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "pattern",
         "minimum", "anyOf", "items", "required", "properties", "additionalProperties",
         "propertyNames"}


def validate(v, s, root, at="$"):
    """The errors of v against s; a word of the schema that is not known here is one, too."""
    if unknown := set(s) - KNOWN:
        return [f"{at}: the schema says {unknown}"]
    if "$ref" in s:
        return validate(v, root["$defs"][s["$ref"].removeprefix("#/$defs/")], root, at)
    bad = []
    if "anyOf" in s and all(validate(v, x, root, at) for x in s["anyOf"]):
        bad.append(f"{at}: {v!r} is none of those allowed")
    types = s.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](v) for t in types):
        return [f"{at}: {v!r} is no {types}"]
    if "const" in s and v != s["const"] or "enum" in s and v not in s["enum"]:
        bad.append(f"{at}: {v!r}")
    if isinstance(v, str) and "pattern" in s and not re.search(s["pattern"], v):
        bad.append(f"{at}: {v!r} is not like {s['pattern']}")
    if TYPES["number"](v) and v < s.get("minimum", v):
        bad.append(f"{at}: {v} is too small")
    if isinstance(v, list):
        for i, x in enumerate(v):
            bad += validate(x, s.get("items", {}), root, f"{at}[{i}]")
    if isinstance(v, dict):
        known = s.get("properties", {})
        bad += [f"{at}: no {k}" for k in s.get("required", []) if k not in v]
        more = s.get("additionalProperties", {})
        for k, x in v.items():
            bad += validate(k, s.get("propertyNames", {}), root, f"{at}.{k}")
            if k not in known and more is False:
                bad.append(f"{at}: {k} is too much")
            elif k in known or isinstance(more, dict):
                bad += validate(x, known.get(k, more), root, f"{at}.{k}")
    return bad


def sha256(path):
    with open(path, "rb") as f:
        return "sha256:" + hashlib.sha256(f.read()).hexdigest()


def model_digest(m):
    if m["kind"].startswith(("ollama", "oci")):
        return sha256(m["path"])
    if os.path.isfile(m["path"]) and len(m["files"]) == 1:
        return sha256(m["path"])
    lines = b""
    for f in sorted(m["files"], key=lambda f: f["path"].encode()):
        name = f["path"].replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        odd = "\\" if name != f["path"] else ""
        lines += f"{odd}{f['digest'].removeprefix('sha256:')}  {name}\n".encode()
    return "sha256:" + hashlib.sha256(lines).hexdigest()


def check_json(data, schema):
    doc = json.loads(data)
    with open(schema, encoding="utf-8") as f:
        bad = validate(doc, s := json.load(f), s)
    if bad:
        fail("\n".join(bad[:20]))
    for m in doc["models"]:
        if m["digest"] and m["digest"] != model_digest(m):
            fail(f"{m['name']}: {m['digest']} is not {model_digest(m)}")
        if m["digest"] is None and all(f["digest"] for f in m["files"]):
            fail(f"{m['name']}: no digest, although all was read")
    if not doc["models"]:
        fail("no models")


def check_csv(data, _):
    rows = list(csv.reader(data.decode().splitlines(keepends=True), strict=True))
    if any(len(r) != len(rows[0]) for r in rows) or len(rows[0]) != 12:
        fail("not as many cells everywhere")
    if data.count(b"\r\n") != data.count(b"\n"):
        fail("a line that does not end with CR LF")
    for r in rows:
        for c in r:
            if re.match(r"\s*[=+\-@\t\r＝＋－＠]", c):
                fail(f"a formula: {c!r}")
    for what in ("run", "state", "file", "seal"):
        if not any(r[0] == what for r in rows):
            fail(f"no row {what}")


class Page(html.parser.HTMLParser):
    """Every tag that opens closes; nothing runs, nothing is fetched."""
    VOID = {"meta"}
    TAGS = {"html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2",
            "h3", "div", "p", "b", "i", "bdi", "span", "dl", "dt", "dd", "ul", "li", "table", "thead",
            "tr", "th", "td", "details", "summary", "code", "svg", "defs", "pattern", "path", "circle",
            "rect", "text"}

    def __init__(self):
        super().__init__()
        self.open, self.text, self.policy = [], "", ""

    def handle_starttag(self, tag, attrs):
        if tag not in self.TAGS:
            fail(f"html: <{tag}>")
        for k, v in attrs:
            if k.startswith("on") or k in ("src", "href", "style") or (
                    "url(" in (v or "") and not v.startswith("url(#")):
                fail(f"html: <{tag} {k}={v!r}>")
        a = dict(attrs)
        if a.get("http-equiv") == "Content-Security-Policy":
            self.policy = a["content"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            fail(f"html: </{tag}> closes nothing")

    def handle_data(self, data):
        self.text += data


def check_html(data, _):
    page = Page()
    page.feed(data.decode())
    page.close()
    if page.open:
        fail(f"html: left open: {page.open}")
    if "default-src 'none'" not in page.policy:
        fail("html: no policy")
    if re.search(rb"@import|url\((?!#)", data):
        fail("html: it may fetch something")
    for name in filter(None, os.environ.get("NAMES", "").split("\n")):
        if name not in page.text:
            fail(f"html: {name!r} is not in it as text")


def check_md(data, _):
    text = data.decode()
    code = re.compile(r"(`+)(?:(?!\1).)*?\1(?!`)", re.S)
    plain = re.sub(r"\\[!-/:-@\[-`{-~]", "", code.sub("", text))
    plain = re.sub(r"</?details>|</?summary>|<!-- seal .* -->", "", plain)
    if re.search(r"[<>\[\]`]|https?:", plain):
        fail("md: something of a name is markup: " + re.search(r".*[<>\[\]`].*", plain)[0])
    cells = None
    for line in re.sub(r"\\\|", "", text).split("\n"):
        cells = line.count("|") if line.startswith("|") and cells is None else cells
        if line.startswith("|") and line.count("|") != cells:
            fail(f"md: {line!r} has not {cells} bars")
        cells = cells if line.startswith("|") else None


def check_text(_data, _):
    pass


def main():
    kind, path = sys.argv[1:3]
    with open(path, "rb") as f:
        data = f.read()
    seal(data, path)
    text = data.decode()    # or it fails
    odd = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    if odd:
        fail(f"{path}: {odd[0]!r} got through")
    globals()["check_" + kind](data, sys.argv[3] if len(sys.argv) > 3 else None)


main()
