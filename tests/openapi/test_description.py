"""The interface description is valid OpenAPI 3.1 and 3.0, and the gateway behaves as described."""

import json
import os
import pathlib
import subprocess
import sys
import unittest
import urllib.request

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator, validate

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "wallets" / "python"))

from gateway import PATIENCE, Gateway  # noqa: E402

FILE = HERE.parents[1] / "idgate-server/openapi.yaml"
# The time limit for generated requests. A slow machine sends fewer of them, and does not fail.
SECONDS = 60


def operations(document):
    """Each operation with its path."""
    return {operation["operationId"]: (path, method) for path, item in document["paths"].items()
            for method, operation in item.items() if method != "parameters"}


class KeysOnce(yaml.SafeLoader):
    """A YAML loader that refuses repeated keys."""

    def construct_mapping(self, node, deep=False):
        names = [name.value for name, _ in node.value]
        if twice := {name for name in names if names.count(name) > 1}:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


class FileTest(unittest.TestCase):
    def test_the_file_in_the_repository_is_a_valid_document(self):
        document = yaml.load(FILE.read_text(encoding="utf-8"), KeysOnce)
        self.assertEqual(document["openapi"], "3.1.0")
        validate(document, cls=OpenAPIV31SpecValidator)

    def test_a_repeated_key_is_found(self):
        with self.assertRaises(yaml.constructor.ConstructorError):
            yaml.load("a: { b: 1, c: 2, b: 3 }", KeysOnce)


class DescriptionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Without rate limits, because a 429 says nothing about an operation. With a second profile and with browsers,
        # because the description of a gateway with only `draft` has fewer operations.
        settings = {"IDGATE_RATE_LIMITS": "off", "IDGATE_PROFILES": "draft,1.0",
                    "IDGATE_DC_API": "unsigned"}
        cls.gateway = Gateway([], test=True, settings=settings)
        cls.addClassCleanup(cls.gateway.stop)

    def get(self, path):
        with urllib.request.urlopen(self.gateway.url + path, timeout=PATIENCE) as answer:
            return answer.read()

    def test_each_form_is_a_valid_document(self):
        self.is_valid()

    def test_a_gateway_of_drafts_alone_has_a_valid_document(self):
        of_all = self.get("/api/openapi.json")
        self.gateway = Gateway([], test=True)
        self.addCleanup(self.gateway.stop)
        self.assertLess(len(self.get("/api/openapi.json")), len(of_all))
        self.is_valid()

    def test_a_gateway_with_everything_has_a_valid_document(self):
        self.gateway = Gateway([], test=True, settings={
            "IDGATE_PROFILES": "draft,1.0,haip", "IDGATE_PAGE": "on", "IDGATE_DC_API": "unsigned"})
        self.addCleanup(self.gateway.stop)
        self.is_valid()

    def is_valid(self):
        document = json.loads(self.get("/api/openapi.json"))
        self.assertEqual(document, yaml.safe_load(self.get("/api/openapi.yaml")))
        self.assertEqual(document["openapi"], "3.1.0")
        validate(document, cls=OpenAPIV31SpecValidator)
        older = yaml.load(self.get("/api/openapi-3.0.yaml"), KeysOnce)
        self.assertEqual(older["openapi"], "3.0.3")
        validate(older, cls=OpenAPIV30SpecValidator)
        self.assertEqual(operations(older), operations(document))

    def test_every_path_parameter_and_operation_is_described(self):
        document = json.loads(self.get("/api/openapi.json"))
        names = set()
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if method == "parameters":
                    continue
                with self.subTest(path=path, method=method):
                    self.assertIn("summary", operation)
                    self.assertIn("security", operation)
                    self.assertNotIn(operation["operationId"], names)
                    names.add(operation["operationId"])

    def test_generated_requests_get_documented_answers(self):
        command = [
            pathlib.Path(sys.executable).with_name("schemathesis"),
            "--config-file", HERE / "schemathesis.toml",
            "run", self.gateway.url + "/api/openapi.json",
            "--header", f"Authorization: Bearer {self.gateway.api_key}",
            "--max-time", str(SECONDS),
            # One: with two, CPython 3.11 raises "AST constructor recursion depth mismatch" now and
            # then, which it does where two threads parse at once (python/cpython#106905).
            "--workers", "1",
        ]
        done = subprocess.run(command, cwd=self.gateway.dir, env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
