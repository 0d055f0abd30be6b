"""Checks `cargo metadata` against deny.toml: licences, banned crates and features, sources.

usage: deny.py DENY_TOML < metadata.json
"""

import json
import re
import sys

try:
    import tomllib
except ImportError:
    sys.exit("deny.py needs Python 3.11 or newer (tomllib)")

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
TOKEN = re.compile(r"\s*(\(|\)|/|[A-Za-z0-9.+:-]+)")


def permitted(expression, allow):
    """Whether the allowed licences satisfy an SPDX expression."""
    tokens = TOKEN.findall(expression)
    value, rest = any_of(tokens, allow)
    if rest or "".join(tokens) != re.sub(r"\s", "", expression):
        raise ValueError(f"cannot read the licence expression {expression!r}")
    return value


def any_of(tokens, allow):
    """term (OR term)*; a slash is the old spelling of OR."""
    value, rest = all_of(tokens, allow)
    while rest and rest[0] in ("OR", "/"):
        more, rest = all_of(rest[1:], allow)
        value = value or more
    return value, rest


def all_of(tokens, allow):
    """licence (AND licence)*"""
    value, rest = one_of(tokens, allow)
    while rest and rest[0] == "AND":
        more, rest = one_of(rest[1:], allow)
        value = value and more
    return value, rest


def one_of(tokens, allow):
    """A parenthesis, or a licence with its exception."""
    if not tokens:
        raise ValueError("a licence expression ends early")
    first, rest = tokens[0], tokens[1:]
    if first == "(":
        value, rest = any_of(rest, allow)
        if not rest or rest[0] != ")":
            raise ValueError("a licence expression lacks a closing parenthesis")
        return value, rest[1:]
    if rest[:1] == ["WITH"]:
        first, rest = " ".join([first, *rest[:2]]), rest[2:]
    return first in allow, rest


def check(metadata, rules):
    """All breaches, as texts."""
    allow = set(rules["licenses"]["allow"])
    exceptions = {
        entry["crate"]: set(entry["allow"]) for entry in rules["licenses"].get("exceptions", [])
    }
    banned = {entry["crate"]: entry["reason"] for entry in rules["bans"]["deny"]}
    features = {entry["crate"]: set(entry["deny"]) for entry in rules["bans"]["features"]}
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        if package["source"] not in (None, CRATES_IO):
            yield f"{name}: comes from {package['source']}"
        if not package["license"]:
            yield f"{name}: states no licence"
        elif not permitted(
            package["license"], allow | exceptions.get(package["name"], set())
        ):
            yield f"{name}: licence {package['license']} is not allowed"
        if package["name"] in banned:
            yield f"{name}: banned: {banned[package['name']]}"
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    for node in metadata["resolve"]["nodes"]:
        for feature in features.get(names[node["id"]], set()) & set(node["features"]):
            yield f"{names[node['id']]}: feature {feature} is on"


def main():
    with open(sys.argv[1], "rb") as file:
        rules = tomllib.load(file)
    metadata = json.load(sys.stdin)
    breaches = list(check(metadata, rules))
    for breach in breaches:
        print(breach)
    print(f"{len(metadata['packages'])} packages, {len(breaches)} breaches of {sys.argv[1]}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
