"""bom.py FILE: is it a CycloneDX 1.6 document, by the rules for the members that are in it?

Written from the specification's text: which members an object may and must have, their types, patterns
and words.  A member that is not named here is an error.
"""
import json
import re
import sys

UUID = r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"


def text(pattern=""):
    return lambda v, at: need(isinstance(v, str) and re.search(pattern, v), v, at)


def word(*words):
    return lambda v, at: need(v in words, v, at)


def need(ok, v, at):
    if not ok:
        sys.exit(f"FAIL: {at}: {v!r}")


def array(item, unique=False):
    def check(v, at):
        need(isinstance(v, list), v, at)
        for i, x in enumerate(v):
            item(x, f"{at}[{i}]")
        keys = [json.dumps(x, sort_keys=True) for x in v]
        need(not unique or len(set(keys)) == len(keys), "the same twice", at)
    return check


def obj(required="", **members):
    def check(v, at):
        need(isinstance(v, dict), v, at)
        for k in required.split():
            need(k in v, f"no {k}", at)
        for k, x in v.items():
            name = k.replace("-", "_").replace("$", "")
            need(name in members, k, at)
            members[name](x, f"{at}.{k}")
    return check


properties = array(obj("name", name=text("^tbtui:[a-z_]+$"), value=text()))
hashes = array(obj("alg content", alg=word("SHA-256"), content=text("^[0-9a-f]{64}$")))
licence = obj("", id=text(r"^[A-Za-z0-9.+-]+$"), name=text("."), acknowledgement=word("declared"),
              text=obj("content", contentType=word("text/plain"), content=text()))


def one_licence(v, at):
    obj("license", license=licence)(v, at)
    need(("id" in v["license"]) != ("name" in v["license"]), "neither id nor name, or both", at)


card = obj("", modelParameters=obj("", task=text(), architectureFamily=text(), modelArchitecture=text()))
file = obj("type name", type=word("file"), name=text("."), hashes=hashes, properties=properties)
model = obj("type name bom-ref properties", type=word("machine-learning-model"), bom_ref=text("."),
            name=text("."), version=text("."), description=text(), hashes=hashes,
            authors=array(obj("", name=text("."))), licenses=array(one_licence), modelCard=card,
            pedigree=obj("", ancestors=array(obj("type name", type=text(), name=text(".")))),
            components=array(file, unique=True), properties=properties)
tool = obj("type name", type=word("application"), name=word("tbtui"), version=text("."))
bom = obj("bomFormat specVersion serialNumber version metadata components",
          schema=word("http://cyclonedx.org/schema/bom-1.6.schema.json"), bomFormat=word("CycloneDX"),
          specVersion=word("1.6"), serialNumber=text(UUID), version=word(1),
          metadata=obj("timestamp tools", timestamp=text(TIME), properties=properties,
                       tools=obj("", components=array(tool))),
          components=array(model, unique=True))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        doc = json.load(f)
    bom(doc, "$")
    refs = [c["bom-ref"] for c in doc["components"]]
    need(len(set(refs)) == len(refs), "a bom-ref twice", "$")
    for c in doc["components"]:
        said = {p["name"].removeprefix("tbtui:"): p["value"] for p in c["properties"]}
        names = [x["license"].get("id") or x["license"]["name"] for x in c.get("licenses", [])]
        texts = sum("text" in x["license"] for x in c.get("licenses", []))
        print(c["name"], c.get("version", "-"), said["state"], "hash" if "hashes" in c else "no-hash",
              len(c.get("components", [])), "/".join(names) or "-", texts,
              c.get("modelCard", {}).get("modelParameters", {}).get("architectureFamily", "-"),
              "|".join(a["name"] for a in c.get("pedigree", {}).get("ancestors", [])) or "-", sep=";")


main()
