"""The examples of README.md. The first one is run unchanged."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path
from textwrap import indent
from typing import Any

import cases
import idgate

README = Path(__file__).parents[1] / "README.md"
PARTS = ("# POST /age/{own_id}/dc-api", "# GET /age/{own_id}")
DECLINED = {"protocol": "openid4vp-v1-unsigned", "data": {"error": "access_denied"}}


def first_example() -> list[str]:
    """The code for POST /age, and the addresses that a browser and a page request."""
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found
    begin, rest = found[1].split(PARTS[0])
    relay, outcome = rest.split(PARTS[1])
    return [begin, "#" + relay, "#" + outcome]


class ReadmeTest(unittest.TestCase):
    def setUp(self) -> None:
        """Makes `open` find the file that the example reads."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        case = next(case for case in cases.load() if "org-iso-mdoc" in case["title"])
        (root,) = next(entry for entry in case["trust"] if "roots" in entry)["roots"]
        os.chdir(folder.name)
        Path("iaca.pem").write_bytes(cases.decode(root))

    def test_the_first_example_goes_from_the_button_to_the_boolean(self) -> None:
        told: list[dict[str, Any]] = []
        world: dict[str, Any] = {"own_id": "own", "answer_with": told.append}
        world["store"] = store = cases.Kept()
        begin, relay, outcome = first_example()
        exec(begin, world)
        world |= {"session": world["made"].session, "request_body": json.dumps(DECLINED)}
        exec(f"async def relay():\n{indent(relay, '    ')}\n    return decision", world)
        world["session"] = asyncio.run(world["relay"]()).session
        self.assertEqual([one.from_revision for one in store.transitions], [0, 1])
        exec(outcome, world)
        begun, answered = told
        self.assertEqual(begun["id"], "own")
        self.assertTrue(begun["link"].startswith("openid4vp://?"))
        protocols = [one["protocol"] for one in begun["dc_api"]["requests"]]
        self.assertEqual(protocols, ["openid4vp-v1-unsigned", "org-iso-mdoc"])
        self.assertEqual(answered, {"adult": False})


    def test_every_example_compiles_and_names_what_there_is(self) -> None:
        examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
        self.assertGreater(len(examples), 8)
        for example in examples:
            compile(example, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            for name in re.findall(r"\bidgate\.([A-Za-z_]+)", example):
                self.assertTrue(hasattr(idgate, name) or name in ("fastapi", "django"), name)

    def test_the_error_example_matches_its_printed_output(self) -> None:
        (example,) = re.findall(r"```python\n(try:\n    idgate\.Trust.*?)```", README.read_text(), re.DOTALL)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(example, {"idgate": idgate})
        expected = re.findall(r"print\(.*?\) +# (.*)", example)
        self.assertEqual(printed.getvalue().splitlines(), expected)


if __name__ == "__main__":
    unittest.main()
