"""The FastAPI example over HTTP, used by its page, by wallets and by strangers.

Its wallet is that of tests/wallets/python, on the sd-jwt package.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlencode, urlsplit

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "bindings" / "python" / "examples"
NEEDED = ("fastapi", "httpx", "uvicorn", "sd_jwt", "jwcrypto")
INSTALLED = all(importlib.util.find_spec(name) for name in NEEDED)
UNSIGNED = "openid4vp-v1-unsigned"
EVIL = "https://evil.example"
#: Shorter than the 300 seconds in which a session accepts answers, so that checks are dropped before sessions expire.
CHECK_SECONDS = 200

sys.path.insert(0, str(ROOT / "tests" / "harness"))

from machine import Machine  # noqa: E402
from patience import PATIENCE, accepts, eventually, free_port  # noqa: E402

if INSTALLED:
    sys.path.insert(0, str(ROOT / "tests" / "wallets" / "python"))
    import httpx
    from jwcrypto.jwe import JWE
    from jwcrypto.jwk import JWK
    from sd_jwt.common import SDObj
    from wallet import Issuer, Wallet


def session_of(check: dict[str, Any]) -> str:
    """The session id in the link, which everyone who sees the link can read."""
    (uri,) = parse_qs(urlsplit(check["link"]).query)["response_uri"]
    return uri.rsplit("/", 1)[-1]


def parameters(link: str) -> dict[str, Any]:
    """The request in a link of OpenID4VP 1.0."""
    request: dict[str, Any] = {name: one for name, (one,) in parse_qs(urlsplit(link).query).items()}
    return {**request, "dcql_query": json.loads(request["dcql_query"])}


@unittest.skipUnless(INSTALLED, f"not all of {', '.join(NEEDED)} are installed")
class FastApiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.issuer, cls.wallet = Issuer("https://issuer.example", "urn:eudi:pid:1"), Wallet()
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            file.write(cls.issuer.key.export_public())
        cls.addClassCleanup(os.unlink, file.name)
        cls.issuer_jwk = file.name
        cls.base = cls.start({}, cls.addClassCleanup)

    @classmethod
    def start(cls, settings: dict[str, str], clean_up: Callable[..., None]) -> str:
        """Starts the example. Returns its address."""
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "uvicorn", "fastapi_app:app", "--port", str(port), "--log-level", "warning"]
        environment = {**os.environ, "BASE_URL": base, "IDGATE_ISSUER_JWK": cls.issuer_jwk, **settings}
        server = subprocess.Popen(command, cwd=EXAMPLES, env=environment)
        clean_up(server.wait, PATIENCE)
        clean_up(server.terminate)
        eventually("the example listens", lambda: accepts(port) or server.poll() is not None)
        if server.poll() is not None:
            raise AssertionError("the example does not start")
        return base

    def browser(self) -> httpx.Client:
        """A browser with its own cookies, on a page of the shop."""
        client = httpx.Client(base_url=self.base, headers={"Origin": self.base}, timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def begin(self, browser: httpx.Client) -> dict[str, Any]:
        """The first request of `idgate.js`."""
        response = browser.post("/age")
        self.assertEqual(response.status_code, 201)
        check: dict[str, Any] = response.json()
        return check

    def present(
        self, request: dict[str, Any], audience: str, adult: bool, nonce: str | None = None, **more: Any
    ) -> str:
        """The presentation of the wallet, which discloses the age and no name."""
        claims = {SDObj("given_name"): "Erika", "age_equal_or_over": {SDObj("18"): adult}, **more}
        credential = self.issuer.issue(self.wallet, claims)
        asked = {"client_id": audience, "nonce": nonce or request["nonce"]}
        (query,) = request["dcql_query"]["credentials"]
        shown = self.wallet.present(credential, {"age_equal_or_over": {"18": True}}, asked)
        return json.dumps({query["id"]: [shown]})

    def answer_link(self, check: dict[str, Any], adult: bool, nonce: str | None = None) -> httpx.Response:
        request = parameters(check["link"])
        shown = self.present(request, request["client_id"], adult, nonce)
        form = {"vp_token": shown, "state": request["state"]}
        return httpx.post(request["response_uri"], data=form, timeout=PATIENCE)

    def ask_browser(self, check: dict[str, Any], origin: str, adult: bool) -> dict[str, Any]:
        """The credential that the browser gives a page from `origin`."""
        (data,) = (one["data"] for one in check["dc_api"]["requests"] if one["protocol"] == UNSIGNED)
        shown = self.present(data, f"origin:{origin}", adult)
        (key,) = data["client_metadata"]["jwks"]["keys"]
        header = {"alg": "ECDH-ES", "enc": "A128GCM", "kid": key["kid"]}
        answer = JWE(f'{{"vp_token": {shown}}}', json.dumps(header), recipient=JWK(**key))
        return {"protocol": UNSIGNED, "data": {"response": answer.serialize(compact=True)}}

    def test_the_page_has_the_button_and_the_module_that_it_asks_with(self) -> None:
        browser = self.browser()
        self.assertIn("I am 18 or older", browser.get("/").text)
        module = browser.get("/idgate.js")
        self.assertIn("javascript", module.headers["content-type"])
        self.assertIn("export async function verify", module.text)
        for path in ("/test/age.js", "/idgate.d.js", "/..%2Fage.js", "/docs", "/openapi.json"):
            self.assertEqual(browser.get(path).status_code, 404, path)

    def test_the_page_runs_only_its_own_scripts_and_cannot_be_framed(self) -> None:
        for path in ("/", "/age.css", "/age.js", "/idgate.js"):
            headers = self.browser().get(path).headers
            policy = headers["content-security-policy"].split("; ")
            self.assertIn("default-src 'none'", policy)
            self.assertIn("script-src 'self'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertEqual(headers["permissions-policy"], "digital-credentials-get=(self)")
            self.assertEqual(headers["x-content-type-options"], "nosniff")

    def test_the_store_is_limited_and_drops_expired_checks(self) -> None:
        machine = Machine()
        self.addCleanup(machine.remove)
        settings = {"MAX_CHECKS": "2", "CHECK_SECONDS": str(CHECK_SECONDS), **machine.environment}
        base = self.start(settings, self.addCleanup)
        answers = [httpx.post(f"{base}/age", headers={"Origin": base}, timeout=PATIENCE) for _ in range(3)]
        self.assertEqual([answer.status_code for answer in answers], [201, 201, 503])
        self.assertIn("retry-after", answers[2].headers)
        check, secret = answers[0].json(), answers[0].cookies["age"]
        path, cookie = f"{base}/age/{check['id']}", {"Cookie": f"age={secret}"}
        self.assertEqual(httpx.get(path, headers=cookie, timeout=PATIENCE).status_code, 409)
        machine.jump(CHECK_SECONDS)
        again = httpx.post(f"{base}/age", headers={"Origin": base}, timeout=PATIENCE)
        self.assertEqual(again.status_code, 201)
        self.assertEqual(httpx.get(path, headers=cookie, timeout=PATIENCE).status_code, 404)
        self.assertEqual(self.answer_link(check, True).status_code, 409)

    def test_by_the_link_from_the_button_to_the_boolean(self) -> None:
        for adult in (True, False):
            browser = self.browser()
            check = self.begin(browser)
            path = f"/age/{check['id']}"
            self.assertEqual(browser.get(path).status_code, 409)
            with browser.stream("GET", f"{path}/events") as events:
                self.assertIn("event-stream", events.headers["content-type"])
                lines = (line for line in events.iter_lines() if line)
                self.assertEqual(next(lines), 'data: {"status": "PENDING"}')
                self.assertEqual(self.answer_link(check, adult).status_code, 200)
                self.assertEqual(list(lines), ['data: {"status": "VERIFIED"}', "event: end", "data: {}"])
            self.assertEqual(browser.get(path).json(), {"adult": adult})

    def test_by_the_browsers_dialogue_from_the_button_to_the_boolean(self) -> None:
        for adult in (True, False):
            browser = self.browser()
            check = self.begin(browser)
            path, answer = f"/age/{check['id']}", self.ask_browser(check, self.base, adult)
            # The second answer comes too late, and the page asks for the outcome.
            for _ in range(2):
                self.assertEqual(browser.post(f"{path}/dc-api", json=answer).status_code, 200)
                self.assertEqual(browser.get(path).json(), {"adult": adult})

    def test_another_browser_gets_nothing_with_the_link(self) -> None:
        browser, stranger = self.browser(), self.browser()
        check, others = self.begin(browser), self.begin(stranger)
        session_id, answer = session_of(check), self.ask_browser(check, self.base, True)
        self.assertNotEqual(session_id, check["id"])
        (theirs,) = (cookie.value for cookie in stranger.cookies.jar)

        def gets_nothing() -> None:
            for cookie in (None, "", check["id"], session_id, theirs):
                headers = {} if cookie is None else {"Cookie": f"age={cookie}"}
                for path in (check["id"], f"{check['id']}/events", session_id):
                    self.assertEqual(stranger.get(f"/age/{path}", headers=headers).status_code, 404)
                relayed = stranger.post(f"/age/{check['id']}/dc-api", json=answer, headers=headers)
                self.assertEqual(relayed.status_code, 404)
            self.assertEqual(browser.get(f"/age/{session_id}").status_code, 404)

        gets_nothing()
        self.assertEqual(self.answer_link(check, True).status_code, 200)
        gets_nothing()
        self.assertEqual(browser.get(f"/age/{check['id']}").json(), {"adult": True})
        self.assertEqual(stranger.get(f"/age/{others['id']}").status_code, 409)

    def test_a_page_of_another_origin_can_neither_begin_nor_answer(self) -> None:
        browser = self.browser()
        check = self.begin(browser)
        path = f"/age/{check['id']}"
        copied = self.ask_browser(check, EVIL, True)
        for origin in (EVIL, "null", ""):
            headers = {"Origin": origin}
            self.assertEqual(browser.post("/age", headers=headers).status_code, 403)
            self.assertEqual(browser.post(f"{path}/dc-api", json=copied, headers=headers).status_code, 403)
        self.assertEqual(httpx.post(f"{self.base}/age", timeout=PATIENCE).status_code, 403)
        # A copied page's answer is refused, too.
        self.assertEqual(browser.post(f"{path}/dc-api", json=copied).status_code, 200)
        self.assertEqual(browser.get(path).json(), {"adult": False})

    def test_an_invalid_answer_changes_nothing_and_a_refused_one_is_no(self) -> None:
        browser = self.browser()
        check = self.begin(browser)
        path, url = f"/age/{check['id']}", f"/v1/oid4vp/response/{session_of(check)}"
        self.assertEqual(browser.post(url, content=b"x").json()["error"], "invalid_response")
        wrong = {"state": "wrong", "error": "access_denied"}
        self.assertEqual(browser.post(url, data=wrong).json()["error"], "state_mismatch")
        rubbish = browser.post(f"{path}/dc-api", json={})
        self.assertEqual((rubbish.status_code, rubbish.json()["detail"]), (400, "invalid_response"))
        large = browser.post(f"{path}/dc-api", content=b" " * (1024 * 1024 + 1))
        self.assertEqual(large.status_code, 413)
        self.assertEqual(browser.get(path).status_code, 409)
        replayed = self.answer_link(check, True, nonce="of-another-session")
        self.assertEqual((replayed.status_code, replayed.json()["error"]), (400, "invalid_presentation"))
        self.assertEqual(browser.get(path).json(), {"adult": False})

    def test_a_person_who_declines_is_not_of_age(self) -> None:
        browser = self.browser()
        path = f"/age/{self.begin(browser)['id']}"
        declined = {"protocol": UNSIGNED, "data": {"error": "access_denied"}}
        self.assertEqual(browser.post(f"{path}/dc-api", json=declined).status_code, 200)
        self.assertEqual(browser.get(path).json(), {"adult": False})

    def test_there_is_no_outcome_while_a_status_list_is_fetched(self) -> None:
        from fastapi.testclient import TestClient

        sys.path.insert(0, str(EXAMPLES))
        self.addCleanup(sys.path.remove, str(EXAMPLES))
        # reason: an address that is never requested
        base = "http://127.0.0.1:8000"
        with mock.patch.dict(os.environ, {"BASE_URL": base, "IDGATE_ISSUER_JWK": self.issuer_jwk}):
            import fastapi_app as app
        browser = TestClient(app.app, base_url=base, headers={"Origin": base})
        check = self.begin(browser)
        path, session_id = f"/age/{check['id']}", session_of(check)
        listed = {"status_list": {"idx": 0, "uri": "https://issuer.example/list"}}
        request = parameters(check["link"])
        shown = self.present(request, request["client_id"], True, status=listed)
        body = urlencode({"vp_token": shown, "state": request["state"]}).encode()
        answer = app.idgate.Answer(to=session_id, body=body, content_type="application/x-www-form-urlencoded")

        async def told() -> list[str]:
            """The events for the page. The fetch ends between them."""
            response = await app.events(session_id)
            events = [str(await anext(response.body_iterator))]
            verification.supply(asked.needs[0], None)
            decision = verification.step()
            self.assertIsInstance(decision, app.idgate.Decision)
            self.assertTrue(app.store.commit(decision.transition))
            return [*events, *[str(event) async for event in response.body_iterator]]

        with app.verifier.begin(app.store.load(session_id), answer) as verification:
            asked = verification.step()
            self.assertIsInstance(asked, app.idgate.Ask)
            self.assertTrue(app.store.commit(asked.hold))
            early = browser.get(path)
            self.assertEqual((early.status_code, early.json()), (409, {"detail": "no_answer_yet"}))
            verifying, failed, end = asyncio.run(told())
        self.assertIn("VERIFYING", verifying)
        self.assertIn("FAILED", failed)
        self.assertIn("event: end", end)
        self.assertEqual(browser.get(path).json(), {"adult": False})


if __name__ == "__main__":
    unittest.main()
