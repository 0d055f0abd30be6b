"""The request types in Python have the members of the interface description."""

import ast
import pathlib
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = ROOT / "bindings/python/src/idgate/request.py"
DESCRIPTION = ROOT / "idgate-server/openapi.yaml"
# Fields that only a gateway has: for its page, and for stored registration certificates.
OF_GATEWAYS = ("retry_uri", "purpose", "handover", "intended_use")


def is_optional(annotation):
    return isinstance(annotation, ast.Subscript) and annotation.value.id == "NotRequired"


def members_of_python():
    """For each TypedDict, its members with those of its base, and whether each is optional."""
    found = {}
    for node in ast.parse(TYPES.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            members = {it.target.id: is_optional(it.annotation) for it in node.body if isinstance(it, ast.AnnAssign)}
            for base in node.bases:
                members |= found.get(base.id, {})
            found[node.name] = members
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name, members = node.value.args
            found[name.value] = {
                key.value: is_optional(value) for key, value in zip(members.keys, members.values)
            }
    return found


def members_of_description(schemas, name, without=()):
    schema = schemas[name]
    required = schema.get("required", ())
    return {member: member not in required for member in schema["properties"] if member not in without}


@unittest.skipIf(yaml is None, "no PyYAML")
class RequestsTest(unittest.TestCase):
    def test_python_types_have_the_members_of_the_description(self):
        schemas = yaml.safe_load(DESCRIPTION.read_text(encoding="utf-8"))["components"]["schemas"]
        found = members_of_python()
        sets = schemas["CreateSessionByCredential"]["properties"]["credential_sets"]["items"]
        for name, expected in {
            "Request": members_of_description(schemas, "CreateSessionByCredential", OF_GATEWAYS),
            "RequestOfIssuer": members_of_description(schemas, "CreateSessionByIssuer", OF_GATEWAYS),
            "SdJwtVc": members_of_description(schemas, "CredentialRequest", ("doc_type", "namespace")),
            "Mdoc": members_of_description(schemas, "CredentialRequest", ("claim_paths",)),
            "ClaimFilter": members_of_description(schemas, "ClaimFilter"),
            "Pages": members_of_description(schemas, "DcApiPages"),
            "CredentialSet": members_of_description({"set": sets}, "set"),
        }.items():
            with self.subTest(name):
                self.assertEqual(found[name], expected)


if __name__ == "__main__":
    unittest.main()
