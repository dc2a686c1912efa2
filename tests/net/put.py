"""Puts a model of an Ollama-style store into a registry, its manifest byte for byte.

put.py [--user NAME:PASSWORD] [--ca FILE] URL STORE MANIFEST REPO TAG
"""
import argparse
import base64
import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request


class Registry:
    def __init__(self, url, user=None, ca=None):
        self.url = url
        self.user = user
        self.context = None
        if url.startswith("https:"):
            self.context = ssl.create_default_context(cafile=ca)

    def ask(self, method, path, body=None, **headers):
        url = urllib.parse.urljoin(self.url, path)
        req = urllib.request.Request(url, data=body, method=method)
        for name, value in headers.items():
            req.add_header(name.replace("_", "-"), value)
        if self.user:
            req.add_header("Authorization", "Basic " + base64.b64encode(self.user.encode()).decode())
        try:
            with urllib.request.urlopen(req, context=self.context) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read()

    def put_blob(self, repo, digest, path):
        if self.ask("HEAD", "/v2/%s/blobs/%s" % (repo, digest))[0] == 200:
            return
        status, headers, said = self.ask("POST", "/v2/%s/blobs/uploads/" % repo, b"")
        assert status == 202, (status, said)
        where = headers["Location"]
        where += ("&" if "?" in where else "?") + "digest=" + digest
        with open(path, "rb") as f:
            status, _, said = self.ask("PUT", where, f, Content_Type="application/octet-stream",
                                       Content_Length=str(os.path.getsize(path)))
        assert status == 201, (status, said)

    def put_manifest(self, repo, tag, text):
        doc = json.loads(text)
        kind = doc.get("mediaType", "application/vnd.oci.image.manifest.v1+json")
        status, headers, said = self.ask("PUT", "/v2/%s/manifests/%s" % (repo, tag), text,
                                         Content_Type=kind)
        assert status == 201, (status, said)
        return headers["Docker-Content-Digest"]


def put(registry, store, manifest, repo, tag):
    with open(manifest, "rb") as f:
        text = f.read()
    doc = json.loads(text)
    for layer in doc["layers"] + [doc["config"]]:
        blob = os.path.join(store, "blobs", layer["digest"].replace(":", "-"))
        registry.put_blob(repo, layer["digest"], blob)
    return registry.put_manifest(repo, tag, text)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--user")
    args.add_argument("--ca")
    for name in ("url", "store", "manifest", "repo", "tag"):
        args.add_argument(name)
    a = args.parse_args()
    print(put(Registry(a.url, a.user, a.ca), a.store, a.manifest, a.repo, a.tag))


if __name__ == "__main__":
    main()
