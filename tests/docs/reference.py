"""Makes docs/http.md from the interface description that a gateway serves (`GET /api/openapi.json`).

A test makes the page from a gateway with everything enabled, and compares. To write the page from the source of the
description, with PyYAML:

    python3 tests/docs/reference.py"""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE, PAGE = ROOT / "idgate-server/openapi.yaml", ROOT / "docs/http.md"

HEAD = """# Every endpoint

This page is generated from the gateway's own description, `GET /api/openapi.json`, with every profile, the hosted page
and the Digital Credentials API enabled. The description of a gateway leaves out features that are not enabled there. To
learn how to use the API, read [HTTP API](integrate.md), [Errors](errors.md) and [Rate limits](limits.md).

A tenant sends `Authorization: Bearer <API key>`. An operator sends the admin token in the same header. A refused
request has an [ErrorBody](#errorbody) as its body. A [page](#refusals-of-pages) is refused with a text that people can
read. Answers that many endpoints share are explained [once](#refusals)."""
METHODS = ("get", "post", "put", "delete")


def words(text):
    """A description as one line, for a table or a paragraph."""
    return " ".join((text or "").split()).replace("|", "\\|")


def reference(schema):
    return schema["$ref"].rsplit("/", 1)[1]


def link(name):
    return f"[{name}](#{name.lower()})"


def values(schema):
    told = []
    if "const" in schema:
        told.append(f"`{json.dumps(schema['const'])}`")
    if "enum" in schema:
        told.append(", ".join(f"`{value}`" for value in schema["enum"]))
    for low, high, unit in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters"),
                            ("minItems", "maxItems", " items")):
        least, most = schema.get(low), schema.get(high)
        if least is not None and most is not None:
            told.append(f"{least} to {most}{unit}")
        elif least is not None:
            told.append(f"at least {least}{unit[:-1] if least == 1 else unit}")
        elif most is not None:
            told.append(f"at most {most}{unit}")
    return told


def kind(schema):
    """A schema in a few words, with links to named schemas."""
    if schema is True or not schema:
        return "anything"
    if "$ref" in schema:
        return link(reference(schema))
    for join, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " with ")):
        if join in schema:
            return word.join(dict.fromkeys(kind(one) for one in schema[join]))
    types = schema.get("type", "object" if "properties" in schema else "value")
    told = " or ".join(types) if isinstance(types, list) else types
    if "items" in schema:
        told = f"{told} of {kind(schema['items'])}"
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and more and "properties" not in schema:
        told = f"{told} of {kind(more)}"
    return "; ".join([told, *values(schema)])


def resolve(document, part):
    while "$ref" in part:
        target = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


def body_of(content):
    return "; ".join(f"`{media}`" + (f": {kind(told['schema'])}" if "schema" in told else "")
                     for media, told in content.items())


def authentication(operation):
    names = {name for way in operation.get("security") or [] for name in way}
    return "with an admin token" if "adminToken" in names else "with an API key" if names else "without authentication"


def operation_text(document, method, path, shared, operation):
    yield f"### {operation['summary']}"
    yield f"`{method.upper()} {path}`, {authentication(operation)}"
    if operation.get("description"):
        yield words(operation["description"])
    parameters = [resolve(document, one) for one in [*shared, *operation.get("parameters", [])]]
    if parameters:
        rows = [f"| `{one['name']}` | {one['in']} | {'yes' if one.get('required') else 'no'} "
                f"| {kind(one.get('schema', {}))} | {words(one.get('description'))} |" for one in parameters]
        yield "\n".join(["| parameter | in | required | value | description |", "|---|---|---|---|---|", *rows])
    if "requestBody" in operation:
        yield f"Request body: {body_of(resolve(document, operation['requestBody'])['content'])}."
    rows, shared, of_page = [], [], []
    for code, answer in operation["responses"].items():
        if "$ref" in answer and is_refusal(told := resolve(document, answer)):
            (of_page if is_for_people(told) else shared).append(code)
            continue
        told = resolve(document, answer)
        rows.append(f"| {code} | {words(told.get('description'))} | {body_of(told.get('content', {}))} |")
    yield "Responses:"
    yield "\n".join(["| status | meaning | body |", "|---|---|---|", *rows])
    if shared:
        yield f"Also {', '.join(shared)}: see [Refusals](#refusals)."
    if of_page:
        yield f"Also {', '.join(of_page)}: see [Refusals of pages](#refusals-of-pages)."


def is_refusal(answer):
    body = answer.get("content", {}).get("application/json", {})
    return body.get("schema", {}).get("$ref") == "#/components/schemas/ErrorBody"


def is_for_people(answer):
    return "text/html" in answer["content"]


def refusals(document, chosen):
    """The meaning of the answers that many operations share."""
    told = set()
    for item in document["paths"].values():
        for method in METHODS:
            for code, answer in item.get(method, {}).get("responses", {}).items():
                resolved = resolve(document, answer)
                if "$ref" in answer and is_refusal(resolved) and chosen(resolved):
                    told.add((code, words(resolved["description"])))
    rows = [f"| {code} | {about} |" for code, about in sorted(told)]
    yield "\n".join(["| status | meaning |", "|---|---|", *rows])


def members(schema):
    """The members of an object, including those of its parts."""
    for part in schema.get("allOf", []):
        if "$ref" not in part:
            yield from members(part)
    required = schema.get("required", [])
    for name, told in schema.get("properties", {}).items():
        yield name, name in required, told


def schema_text(name, schema):
    yield f"### {name}"
    if schema.get("description"):
        yield words(schema["description"])
    if rows := list(members(schema)):
        lines = []
        for member, required, told in rows:
            about = words(told.get("description")) if isinstance(told, dict) else ""
            lines.append(f"| `{member}` | {'yes' if required else 'no'} | {kind(told)} | {about} |")
        yield "\n".join(["| member | required | value | description |", "|---|---|---|---|", *lines])
        if schema.get("additionalProperties") is False:
            yield "No other members are allowed."
    else:
        yield f"Value: {kind(schema)}."


def page(document):
    parts = [HEAD]
    for tag in document["tags"]:
        parts += [f"## {tag['name']}", words(tag["description"])]
        for path, item in document["paths"].items():
            for method in METHODS:
                if method in item and tag["name"] in item[method]["tags"]:
                    parts += operation_text(document, method, path, item.get("parameters", []), item[method])
    parts += ["## Refusals", *refusals(document, lambda answer: not is_for_people(answer))]
    parts += ["## Refusals of pages", *refusals(document, is_for_people), "## Bodies"]
    for name, schema in document["components"]["schemas"].items():
        parts += schema_text(name, schema)
    return "\n\n".join(parts) + "\n"


def from_source():
    """The page, or `None` without PyYAML."""
    try:
        import yaml
    except ImportError:
        return None
    return page(yaml.safe_load(SOURCE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    if (made := from_source()) is None:
        raise SystemExit("needs PyYAML: pip install pyyaml")
    PAGE.write_text(made, encoding="utf-8")
