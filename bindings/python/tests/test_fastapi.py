"""The FastAPI example, asked as a browser and a wallet ask it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import cases

EXAMPLE = Path(__file__).parents[1] / "examples" / "fastapi_app.py"
INSTALLED = all(importlib.util.find_spec(name) for name in ("fastapi", "httpx"))


def session_of(made: dict[str, str]) -> str:
    """As whoever sees the QR code reads it."""
    (uri,) = parse_qs(urlsplit(made["qr_code_url"]).query)["response_uri"]
    return uri.rsplit("/", 1)[-1]


@unittest.skipUnless(INSTALLED, "fastapi and httpx are not installed")
class FastApiTest(unittest.TestCase):
    def setUp(self) -> None:
        from fastapi.testclient import TestClient

        key = cases.load()[0]["trust"][0]["jwks"][0]
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(key, file)
        self.addCleanup(os.unlink, file.name)
        os.environ["IDGATE_ISSUER_JWK"] = file.name
        spec = importlib.util.spec_from_file_location("fastapi_app", EXAMPLE)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["fastapi_app"] = module  # FastAPI resolves annotations by it
        spec.loader.exec_module(module)
        self.browser = lambda: TestClient(module.app)
        self.client = self.browser()

    def test_what_the_qr_code_says_opens_nothing(self) -> None:
        made = self.client.post("/checks").json()
        session_id = session_of(made)
        self.assertNotEqual(session_id, made["id"])
        self.assertEqual(self.client.get(f"/checks/{made['id']}").json()["status"], "PENDING")
        stranger = self.browser()
        for who in (stranger, self.client):
            self.assertEqual(who.get(f"/checks/{session_id}").status_code, 404)
        for cookie in (None, "", "another", made["id"]):
            if cookie is not None:
                stranger.cookies.set("browser", cookie)
            self.assertEqual(stranger.get(f"/checks/{made['id']}").status_code, 404)
        self.assertNotEqual(stranger.post("/checks").json()["id"], made["id"])
        self.assertEqual(stranger.get(f"/checks/{made['id']}").status_code, 404)

    def test_a_check_is_made_and_a_bad_answer_is_refused(self) -> None:
        made = self.client.post("/checks").json()
        self.assertTrue(made["qr_code_url"].startswith("openid4vp://?"))
        url = f"/v1/oid4vp/response/{session_of(made)}"
        self.assertEqual(self.client.post(url, content=b"x").json()["error"], "invalid_response")
        wrong = {"state": "wrong", "error": "access_denied"}
        self.assertEqual(self.client.post(url, data=wrong).json()["error"], "state_mismatch")
        self.assertEqual(self.client.get(f"/checks/{made['id']}").json()["status"], "PENDING")
        self.assertEqual(self.client.get("/checks/ses_x").status_code, 404)


if __name__ == "__main__":
    unittest.main()
