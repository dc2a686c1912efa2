"""Random JSON schemas, and whether values are what they say.

    schema.py make DIR N       writes the schemas DIR/1.json to DIR/N.json
    schema.py check DIR N      reads DIR/1.out to DIR/N.out; says what is wrong

The check is a validator of its own (2020-12, as far as make goes), written from the
specification and not from the program."""
import json
import random
import re
import sys


def words(r, n):
    return ["".join(r.choice("abcdefgh_-éß") for _ in range(r.randint(1, 7))) + str(i) for i in range(n)]


def number(r, kind):
    s = {"type": kind}
    how = r.random()
    if how < .3:
        return s
    lo = r.choice([-1200, -50, -1, 0, 1, 7, 99, 1000]) + (0 if kind == "integer" else r.choice([0, .5, .25]))
    hi = lo + r.choice([0, 1, 3, 9, 10, 90, 99, 1234, 50000])
    if r.random() < .8:
        s[r.choice(["minimum", "exclusiveMinimum"]) if hi > lo + 1 else "minimum"] = lo
    if r.random() < .8:
        s[r.choice(["maximum", "exclusiveMaximum"]) if hi > lo + 2 else "maximum"] = max(hi, lo + 1)
    if kind == "integer" and r.random() < .2:
        return {"type": "integer", "multipleOf": r.choice([2, 5, 7, 10, 25]),
                **({"minimum": 0} if r.random() < .5 else {})}
    return s


PATTERNS = ["^[a-z]{2,5}$", "^(foo|ba[rz])+$", "^\\d{3}-\\d{4}$", "^[A-Z][a-z]*( [A-Z][a-z]*)?$", "^$",
            "^\"[^\"\\\\]\"$", "^\\w+@\\w+\\.(com|org)$", "^#[0-9a-fA-F]{6}$", "x", "^a.c$",
            "^[^a-zA-Z]{1,4}$", "ab?c$", "^\\s?\\S+\\t?$", "^[\\u00e0-\\u00ff]{2}|z{3}$", "^(?:[+-]?[1-9]\\d?)?!$"]
FORMATS = ["date", "time", "date-time", "uuid", "email", "ipv4", "hostname", "uri", "duration", "ipv6"]


def string(r):
    s = {"type": "string"}
    how = r.random()
    if how < .25:
        s["minLength"] = r.randint(0, 12)
    if how < .5:
        s["maxLength"] = s.get("minLength", 0) + r.randint(0, 12)
    elif how < .65:
        s["pattern"] = r.choice(PATTERNS)
    elif how < .8:
        s["format"] = r.choice(FORMATS)
    return s


def array(r, deep):
    s = {"type": "array"}
    if r.random() < .25:
        s["prefixItems"] = [schema(r, deep - 1) for _ in range(r.randint(1, 3))]
        if r.random() < .6:
            s["items"] = r.choice([False, schema(r, deep - 1)])
    else:
        s["items"] = schema(r, deep - 1)
    if r.random() < .6 and s.get("items") is not False:
        s["minItems"] = r.randint(0, 4)
    if r.random() < .7:
        s["maxItems"] = s.get("minItems", 0) + r.randint(0, 4)
    return s


def obj(r, deep):
    names = words(r, r.randint(0, 5))
    s = {"type": "object"}
    if names:
        s["properties"] = {n: schema(r, deep - 1) for n in names}
    s["required"] = [n for n in names if r.random() < .6]
    how = r.random()
    if how < .4:
        s["additionalProperties"] = False
    elif how < .55:
        s["additionalProperties"] = schema(r, deep - 1)
    elif how < .65:
        s["additionalProperties"] = True
    if not names and how >= .4:
        s["minProperties"] = r.randint(0, 2)
        s["maxProperties"] = s["minProperties"] + r.randint(0, 2)
    if not names and how >= .7:
        s["propertyNames"] = {"pattern": "^[a-z]{1,8}$"}
    return s


def literal(r):
    return r.choice([None, True, 0, -7, 2.5, "", "it's \"so\"\n", "naïve", [1, [2]], {"a": {"b": []}}])


def schema(r, deep):
    if deep <= 0:
        kind = r.choice(["integer", "number", "string", "boolean", "null", "enum"])
    else:
        kind = r.choice(["integer", "number", "string", "boolean", "enum", "array", "array", "object",
                         "object", "object", "anyOf", "oneOf", "allOf", "types", "ref", "const"])
    if kind in ("integer", "number"):
        return number(r, kind)
    if kind == "string":
        return string(r)
    if kind in ("boolean", "null"):
        return {"type": kind, "title": "a " + kind}
    if kind == "enum":
        return {"enum": [literal(r) for _ in range(r.randint(1, 4))]}
    if kind == "const":
        return {"const": literal(r)}
    if kind == "array":
        return array(r, deep)
    if kind == "object":
        return obj(r, deep)
    if kind == "anyOf":
        return {"anyOf": [schema(r, deep - 1) for _ in range(r.randint(1, 3))]}
    if kind == "oneOf":
        return {"oneOf": [{"type": "object", "properties": {"kind": {"const": i}, "v": schema(r, deep - 1)},
                           "required": ["kind", "v"]} for i in range(r.randint(1, 3))]}
    if kind == "types":
        return {"type": r.sample(["null", "string", "integer", "boolean", "array"], r.randint(1, 3)),
                "items": {"type": "integer"}, "maxItems": 2}
    if kind == "ref":
        return {"$ref": r.choice(["#/$defs/leaf", "#/$defs/tree"])}
    a, b = obj(r, deep), obj(r, deep)
    for part in (a, b):
        part.pop("propertyNames", None)
        part.pop("minProperties", None)
        part.pop("maxProperties", None)
        part.pop("additionalProperties", None)
    return {"allOf": [a, b], "description": "both"}


def make(seed):
    r = random.Random(seed)
    s = obj(r, 4) if r.random() < .8 else schema(r, 4)
    s["$defs"] = {"leaf": schema(r, 0),
                  "tree": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5},
                                                            "below": {"type": "array", "maxItems": 3,
                                                                      "items": {"$ref": "#/$defs/tree"}}},
                           "required": ["name"], "additionalProperties": False}}
    return s


# ---- what a schema says of a value ----

def is_type(v, t):
    if t == "integer":
        return isinstance(v, (int, float)) and not isinstance(v, bool) and v == int(v)
    if t == "number":
        return isinstance(v, (int, float)) and not isinstance(v, bool)
    return {"null": v is None, "boolean": isinstance(v, bool), "string": isinstance(v, str),
            "array": isinstance(v, list), "object": isinstance(v, dict)}[t]


def equal(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def is_date(s):
    import datetime
    datetime.date.fromisoformat(s)
    return re.fullmatch(r"\d{4}-\d\d-\d\d", s)


def is_time(s):
    import datetime
    m = re.fullmatch(r"(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", s)
    datetime.time.fromisoformat(m.group(1))
    if m.group(3) != "Z":
        datetime.time.fromisoformat(m.group(3)[1:])
    return True


HOST = r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*"


def is_format(s, f):
    import ipaddress
    import urllib.parse
    import uuid
    try:
        if f == "date-time":
            d, t = s.split("T")
            return is_date(d) and is_time(t)
        return {"date": is_date, "time": is_time, "uuid": lambda x: str(uuid.UUID(x)) == x,
                "ipv4": lambda x: str(ipaddress.IPv4Address(x)) == x,
                "ipv6": lambda x: ipaddress.IPv6Address(x), "hostname": lambda x: re.fullmatch(HOST, x),
                "email": lambda x: re.fullmatch(r"[-\w+]+(\.[-\w+]+)*@" + HOST, x, re.A),
                "uri": lambda x: urllib.parse.urlparse(x).scheme and re.fullmatch(r"[!-~]+", x),
                "duration": lambda x: re.fullmatch(
                    r"P(\d+W|(?=.)(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+S)?)?)", x)}[f](s)
    except (ValueError, AttributeError):
        return False


def check_number(v, s):
    assert v >= s.get("minimum", v) and v <= s.get("maximum", v), "out of range"
    assert "exclusiveMinimum" not in s or v > s["exclusiveMinimum"], "at an open end"
    assert "exclusiveMaximum" not in s or v < s["exclusiveMaximum"], "at an open end"
    assert "multipleOf" not in s or v % s["multipleOf"] == 0, "no multiple"


def check_string(v, s):
    assert s.get("minLength", 0) <= len(v) <= s.get("maxLength", len(v)), "length"
    assert "pattern" not in s or re.search(s["pattern"], v), "pattern"
    assert "format" not in s or is_format(v, s["format"]), "format " + s["format"]


def check_array(v, s, root):
    assert s.get("minItems", 0) <= len(v) <= s.get("maxItems", len(v)), "number of items"
    first = s.get("prefixItems", [])
    for i, item in enumerate(v):
        check(item, first[i] if i < len(first) else s.get("items", True), root)


def check_object(v, s, root):
    assert s.get("minProperties", 0) <= len(v) <= s.get("maxProperties", len(v)), "number of properties"
    assert all(n in v for n in s.get("required", [])), "a property is missing"
    for name, value in v.items():
        if "propertyNames" in s:
            check(name, s["propertyNames"], root)
        if name in s.get("properties", {}):
            check(value, s["properties"][name], root)
        else:
            check(value, s.get("additionalProperties", True), root)
    order = [n for n in v if n in s.get("properties", {})]
    assert order == [n for n in s.get("properties", {}) if n in v] or "allOf" in root, "order"


def valid(v, s, root):
    try:
        check(v, s, root)
        return True
    except AssertionError:
        return False


def check(v, s, root):
    assert s is not False, "nothing is allowed here"
    if s is True:
        return
    if "$ref" in s:
        to = root
        for step in s["$ref"][2:].split("/"):
            to = to[step]
        check(v, to, root)
    types = s.get("type", [])
    types = [types] if isinstance(types, str) else types
    assert not types or any(is_type(v, t) for t in types), f"{v!r} is no {types}"
    assert "const" not in s or equal(v, s["const"]), "another value"
    assert "enum" not in s or any(equal(v, e) for e in s["enum"]), "none of those values"
    for part in s.get("allOf", []):
        check(v, part, root)
    assert "anyOf" not in s or any(valid(v, p, root) for p in s["anyOf"]), "none of anyOf"
    assert "oneOf" not in s or sum(valid(v, p, root) for p in s["oneOf"]) == 1, "not one of oneOf"
    if is_type(v, "number"):
        check_number(v, s)
    elif isinstance(v, str):
        check_string(v, s)
    elif isinstance(v, list):
        check_array(v, s, root)
    elif isinstance(v, dict):
        check_object(v, s, root)




def wrong(folder, i):
    with open(f"{folder}/{i}.json", encoding="utf-8") as f:
        wanted = json.load(f)
    try:
        with open(f"{folder}/{i}.out", encoding="utf-8") as f:
            check(json.load(f), wanted, wanted)
    except (AssertionError, ValueError) as e:
        return f"{folder}/{i}: {e}"
    return None


folder, n = sys.argv[2], int(sys.argv[3])
if sys.argv[1] == "make":
    for i in range(1, n + 1):
        with open(f"{folder}/{i}.json", "w", encoding="utf-8") as f:
            json.dump(make(i), f, ensure_ascii=False)
else:
    said = [w for w in (wrong(folder, i) for i in range(1, n + 1)) if w]
    sys.exit("\n".join(said) if said else 0)
