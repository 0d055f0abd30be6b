"""The replies to wallets after a fault of this machine, by the example and by the program of docs/python.md."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlencode, urlsplit

import idgate

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

from patience import PATIENCE, accepts, eventually, free_port  # noqa: E402

INSTALLED = all(importlib.util.find_spec(name) for name in ("fastapi", "httpx"))
FAULTS: list[tuple[Exception, int, str, str | None]] = [
    (idgate.NotAvailable("a fault of the test"), 503, "temporarily_unavailable", "1"),
    (idgate.InternalError("a fault of the test"), 500, "internal_error", None),
    (ValueError("a fault of the test"), 500, "internal_error", None),
]
#: A prefix for the program that makes it fail.
FAILING = """
import idgate
def decide(*_, **__):
    raise {fault}
idgate.Verifier.decide = decide
"""


def declined(link: str) -> tuple[str, bytes]:
    """The address and the body of a wallet that declines."""
    request = {name: one for name, (one,) in parse_qs(urlsplit(link).query).items()}
    return request["response_uri"], urlencode({"state": request["state"], "error": "access_denied"}).encode()


class PageTest(unittest.TestCase):
    def test_the_program_reports_its_own_fault(self) -> None:
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        (program,) = re.findall(r"```python\n# ask\.py\n(.*?)```", page, re.DOTALL)
        for fault, *expected in FAULTS:
            with self.subTest(fault=fault):
                self.assertEqual(self.told(program, fault), tuple(expected))

    def told(self, program: str, fault: Exception) -> tuple[int, str, str | None]:
        port = free_port()
        name = f"idgate.{type(fault).__name__}" if isinstance(fault, idgate.IdgateError) else type(fault).__name__
        text = FAILING.format(fault=f"{name}('at fault')") + program.replace("3000", str(port))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([sys.executable, "-c", text], text=True, **pipes) as running:
            try:
                assert running.stdout
                url, body = declined(running.stdout.readline().strip())
                # The link is printed before the program listens.
                eventually("the program listens", lambda: accepts(port) or running.poll() is not None)
                with self.assertRaises(urllib.error.HTTPError) as raised:
                    urllib.request.urlopen(url, body, timeout=PATIENCE)
                with raised.exception as answer:
                    return answer.code, json.loads(answer.read())["error"], answer.headers["Retry-After"]
            finally:
                running.terminate()


@unittest.skipUnless(INSTALLED, "fastapi and httpx are not installed")
class ExampleTest(unittest.TestCase):
    example: Any

    @classmethod
    def setUpClass(cls) -> None:
        signer = idgate.Signer("https://issuer.example", b"7" * 32)
        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder, "issuer.jwk.json")
            key.write_text(json.dumps(signer.public_key()))
            path = ROOT / "bindings" / "python" / "examples" / "fastapi_app.py"
            spec = importlib.util.spec_from_file_location("fastapi_app", path)
            assert spec and spec.loader
            cls.example = importlib.util.module_from_spec(spec)
            with mock.patch.dict(os.environ, IDGATE_ISSUER_JWK=str(key)), mock.patch.dict(
                sys.modules, fastapi_app=cls.example
            ):
                spec.loader.exec_module(cls.example)

    def test_the_example_reports_its_own_fault(self) -> None:
        from fastapi.testclient import TestClient

        origin = {"Origin": self.example.BASE_URL}
        relayed = {"protocol": "openid4vp-v1-unsigned", "data": {"error": "access_denied"}}
        for fault, status, _, retry_after in FAULTS:
            with (
                self.subTest(fault=fault),
                mock.patch.object(idgate.Verifier, "decide_async", side_effect=fault),
                TestClient(self.example.app, self.example.BASE_URL, raise_server_exceptions=False) as client,
            ):
                begun = client.post("/age", headers=origin).json()
                url, body = declined(begun["link"])
                form = {"Content-Type": "application/x-www-form-urlencoded"}
                for response in (
                    client.post(f"/age/{begun['id']}/dc-api", json=relayed, headers=origin),
                    client.post(url, content=body, headers=form),
                ):
                    told = response.status_code, response.headers.get("retry-after")
                    self.assertEqual(told, (status, retry_after))


if __name__ == "__main__":
    unittest.main()
