"""The endpoints for wallets inside FastAPI and Django, used over HTTP like a wallet does."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import threading
import unittest
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import cases
import idgate
from idgate import _web

ISSUER = "https://issuer.example"
FORM = "application/x-www-form-urlencoded"
ROOT = Path(__file__).parents[3]


class Store:
    """Sessions in memory, by their id and by those of their offers."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[int, idgate.Session]] = {}
        self.lock = threading.Lock()
        self.asked: list[str] = []

    def load(self, handle: str) -> idgate.Session | None:
        self.asked.append(handle)
        kept = self.kept.get(handle)
        return kept and kept[1]

    def commit(self, transition: idgate.Transition) -> bool:
        info = transition.session.info()
        with self.lock:
            if self.kept.get(info.id, (0, None))[0] != transition.from_revision:
                return False
            names = [info.id, *(offer.handle for offer in info.offers)]
            self.kept.update({name: (info.revision, transition.session) for name in names})
        return True


class AsyncStore:
    """The same store behind coroutine functions."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def load(self, handle: str) -> idgate.Session | None:
        return self.store.load(handle)

    async def commit(self, transition: idgate.Transition) -> bool:
        return self.store.commit(transition)


class Wallets:
    """The tests for both frameworks. `ask` makes a request: method, path, body, media type."""

    def setUp(self) -> None:
        self.signer = idgate.Signer(cases.BASE_URL, b"7" * 32)
        issuer = idgate.Issuer(ISSUER, vcts=["urn:eudi:pid:1"], jwk=self.signer.public_key())
        trust, self.store = idgate.Trust([issuer]), Store()
        profiles: Any = {"profiles": ["draft", "1.0"], "fetch": False}
        self.inline = idgate.Verifier(cases.BASE_URL, trust, **profiles)
        self.signed = idgate.Verifier(cases.BASE_URL, trust, signer=self.signer, **profiles)
        self.published = {"base_url": cases.BASE_URL, "keys": [self.signer.public_key()]}

    def start(self, verifier: idgate.Verifier) -> None:
        raise NotImplementedError

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = FORM) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError

    def json(self, *asked: Any) -> tuple[int, Any]:
        status, _, body = self.ask(*asked)
        return status, json.loads(body)

    def refused(self, *asked: Any) -> tuple[int, str, dict[str, str]]:
        """The status, the code and the headers of a refusal, whose form is checked."""
        status, headers, body = self.ask(*asked)
        self.assertEqual(headers["content-type"], "application/json", asked)
        self.assertEqual(headers["cache-control"], "no-store", asked)
        told = json.loads(body)
        self.assertEqual(list(told), ["error", "message"], asked)
        return status, told["error"], headers

    def made(self, verifier: idgate.Verifier, profiles: list[str]) -> idgate.SessionInfo:
        self.start(verifier)
        asked: Any = {"format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}
        made = verifier.create_session({"credentials": [asked], "profiles": profiles}, mode="live")
        assert self.store.commit(made)
        return made.session.info()

    def test_an_answer_settles_the_session_once(self) -> None:
        info = self.made(self.inline, ["draft"])
        path = f"/v1/oid4vp/response/{info.id}"
        status, told = self.json("POST", path, b"state=wrong&error=x")
        self.assertEqual((status, told["error"]), (400, "state_mismatch"))
        (state,) = parse_qs(urlsplit(info.qr_code_url or "").query)["state"]
        declined = f"state={state}&error=access_denied".encode()
        status, headers, body = self.ask("POST", path, declined)
        self.assertEqual((status, headers["cache-control"], body), (200, "no-store", b'{"status":"ok"}'))
        self.assertEqual(self.store.kept[info.id][1].info().wallet_error, "access_denied")
        status, told = self.json("POST", path, declined)
        self.assertEqual((status, told["error"]), (409, "session_not_pending"))

    def test_a_refused_presentation_gets_no_reason(self) -> None:
        info = self.made(self.inline, ["1.0"])
        (state,) = parse_qs(urlsplit(info.qr_code_url or "").query)["state"]
        body = f'state={state}&vp_token={{"credential_1":["not~an~sd-jwt"]}}'.encode()
        status, told = self.json("POST", f"/v1/oid4vp/response/{info.id}", body)
        self.assertEqual((status, told["error"]), (400, "invalid_presentation"))
        self.assertEqual(self.store.kept[info.id][1].info().status, "FAILED")

    def test_a_late_answer_settles_nothing(self) -> None:
        info = self.made(self.inline, ["draft"])
        (state,) = parse_qs(urlsplit(info.qr_code_url or "").query)["state"]
        self.store.commit = lambda transition: False  # type: ignore[method-assign]
        declined = f"state={state}&error=access_denied".encode()
        status, told = self.json("POST", f"/v1/oid4vp/response/{info.id}", declined)
        self.assertEqual((status, told["error"]), (409, "session_not_pending"))

    def test_strangers_and_large_bodies_are_turned_away(self) -> None:
        info = self.made(self.inline, ["draft"])
        status, told = self.json("POST", "/v1/oid4vp/response/ses_nobody", b"state=x")
        self.assertEqual((status, told["error"]), (409, "session_not_pending"))
        large = b"state=" + b"x" * 1024 * 1024
        status, told = self.json("POST", f"/v1/oid4vp/response/{info.id}", large)
        self.assertEqual((status, told["error"]), (413, "payload_too_large"))
        self.assertEqual(self.ask("GET", f"/v1/oid4vp/response/{info.id}")[0], 405)
        status, told = self.json("GET", "/v1/oid4vp/request/ses_nobody")
        self.assertEqual((status, told["error"]), (404, "not_found"))
        self.assertEqual(self.store.kept[info.id][1].info().status, "PENDING")

    def test_signed_requests_are_fetched_again_and_again(self) -> None:
        info = self.made(self.signed, ["draft", "1.0"])
        for handle in [offer.handle for offer in info.offers]:
            path = f"/v1/oid4vp/request/{handle}"
            status, headers, jwt = self.ask("GET", path)
            self.assertEqual((status, jwt.count(b".")), (200, 2))
            self.assertEqual(headers["content-type"], "application/oauth-authz-req+jwt")
            status, _, with_nonce = self.ask("POST", path, b"wallet_nonce=n0nce")
            claims = cases.decode(with_nonce.split(b".")[1].decode())
            self.assertEqual(status, 200)
            self.assertIn(b"n0nce", claims)
            status, told = self.json("POST", path, b"wallet_nonce=" + b"n" * 257)
            self.assertEqual(status, 400)
            status, _, without = self.ask("POST", path, b"wallet_nonce=&wallet_metadata=%7B%7D")
            self.assertEqual(status, 200)
            self.assertNotIn(b"wallet_nonce", cases.decode(without.split(b".")[1].decode()))
        self.assertEqual(self.store.kept[info.id][1].info().status, "PENDING")
        plain = self.made(self.inline, ["draft"])
        self.assertEqual(self.json("GET", f"/v1/oid4vp/request/{plain.id}")[0], 404)

    def test_a_form_without_exactly_one_nonce_gets_no_request(self) -> None:
        info = self.made(self.signed, ["draft"])
        path = f"/v1/oid4vp/request/{info.id}"
        before = self.store.kept[info.id][0]
        twice, same = b"wallet_nonce=a&wallet_nonce=b", b"wallet_nonce=a&wallet%5Fnonce=a"
        for form in (twice, same, b"wallet_nonce=%zz", b"wallet_nonce=%ff", b"wallet_nonce=\xff"):
            status, told = self.json("POST", path, form)
            self.assertEqual((status, told["error"]), (400, "invalid_request"), form)
        status, told = self.json("POST", path, b"wallet_nonce=a", "text/plain")
        self.assertEqual((status, told["error"]), (400, "invalid_request"))
        status, told = self.json("POST", path, b"x=" + b"x" * 64 * 1024)
        self.assertEqual((status, told["error"]), (413, "payload_too_large"))
        self.assertEqual(self.store.kept[info.id][0], before)

    def test_a_head_request_is_not_a_fetch(self) -> None:
        info = self.made(self.signed, ["draft"])
        before = self.store.kept[info.id][0]
        status, headers, _ = self.ask("HEAD", f"/v1/oid4vp/request/{info.id}")
        self.assertEqual((status, headers["allow"]), (405, "GET, POST"))
        self.assertEqual(self.store.kept[info.id][0], before)

    def test_wallets_do_not_see_an_error_of_the_server(self) -> None:
        info = self.made(self.inline, ["draft"])
        self.inline.close()
        for asked in (
            ("POST", f"/v1/oid4vp/response/{info.id}", b"state=x"),
            ("GET", f"/v1/oid4vp/request/{info.id}"),
        ):
            with self.assertLogs("idgate", "ERROR") as logged:
                status, code, _ = self.refused(*asked)
            self.assertEqual((status, code), (500, "internal_error"))
            self.assertIn("this Verifier is closed", logged.output[0])

    def test_a_store_that_fails_is_503_with_retry_after(self) -> None:
        info = self.made(self.signed, ["draft"])
        plain = self.made(self.inline, ["draft"])
        (state,) = parse_qs(urlsplit(plain.qr_code_url or "").query)["state"]
        declined = ("POST", f"/v1/oid4vp/response/{plain.id}", f"state={state}&error=access_denied".encode())
        for name in ("load", "commit"):
            for verifier, asked in ((self.signed, ("GET", f"/v1/oid4vp/request/{info.id}")), (self.inline, declined)):
                self.start(verifier)
                with mock.patch.object(self.store, name, side_effect=LookupError("the database is down")):
                    with self.assertLogs("idgate", "ERROR") as logged:
                        status, code, headers = self.refused(*asked)
                self.assertEqual((status, code, headers["retry-after"]), (503, "temporarily_unavailable", "1"))
                self.assertIn(f"the store failed at {name}", logged.output[0])
                self.assertIn("the database is down", logged.output[0])
        self.assertEqual(self.ask(*declined)[0], 200)

    def test_other_methods_are_405_and_say_which_there_are(self) -> None:
        info = self.made(self.signed, ["draft"])
        for method, path, allow in (
            ("GET", f"/v1/oid4vp/response/{info.id}", "POST"),
            ("PUT", f"/v1/oid4vp/response/{info.id}", "POST"),
            ("OPTIONS", f"/v1/oid4vp/request/{info.id}", "GET, POST"),
            ("DELETE", "/.well-known/jwks.json", "GET, HEAD"),
            ("POST", "/.well-known/did.json", "GET, HEAD"),
        ):
            status, code, headers = self.refused(method, path)
            self.assertEqual((status, code, headers["allow"]), (405, "method_not_allowed", allow))

    def test_a_post_for_a_request_is_a_form_also_where_it_is_empty(self) -> None:
        info = self.made(self.signed, ["draft"])
        path = f"/v1/oid4vp/request/{info.id}"
        for kind in ("", "application/json", "text/plain"):
            status, code, _ = self.refused("POST", path, b"", kind)
            self.assertEqual((status, code), (400, "invalid_request"), kind)
        self.assertEqual(self.ask("POST", path, b"", FORM)[0], 200)

    def test_an_invalid_handle_is_404_and_does_not_reach_the_store(self) -> None:
        self.made(self.signed, ["draft"])
        self.store.asked.clear()
        for handle in ("a" * 65, "%00", "a%3Fb", "a.b", "%C3%A4", "a%0A", "a%20", "a'b"):
            for method, kind in (("POST", "response"), ("GET", "response"), ("GET", "request"), ("PUT", "request")):
                status, code, _ = self.refused(method, f"/v1/oid4vp/{kind}/{handle}")
                self.assertEqual((status, code), (404, "not_found"), handle)
        self.assertEqual(self.store.asked, [])
        longest = "aZ_-" * 16
        self.assertEqual(self.refused("POST", f"/v1/oid4vp/response/{longest}")[:2], (409, "session_not_pending"))
        self.assertEqual(set(self.store.asked), {longest})

    def test_a_body_that_is_too_large_gets_the_librarys_reply(self) -> None:
        info = self.made(self.signed, ["draft"])
        for kind, size, text in (
            ("response", _web.MAX_ANSWER, "the response is larger than 1 MiB"),
            ("request", _web.MAX_FORM, "the form is larger than 64 KiB"),
        ):
            status, told = self.json("POST", f"/v1/oid4vp/{kind}/{info.id}", b"x" * (size + 1))
            self.assertEqual((status, told), (413, {"error": "payload_too_large", "message": text}))

    def test_parallel_fetches_get_the_same_request(self) -> None:
        info = self.made(self.signed, ["draft"])
        commit, refused = self.store.commit, []

        def second(transition: idgate.Transition) -> bool:
            if not refused:
                # The other fetch was first.
                refused.append(commit(transition))
                return False
            return commit(transition)

        self.store.commit = second  # type: ignore[method-assign]
        self.assertEqual(self.ask("GET", f"/v1/oid4vp/request/{info.id}")[0], 200)
        self.assertEqual(refused, [True])
        again = self.made(self.signed, ["draft"])
        self.store.commit = lambda transition: False  # type: ignore[method-assign]
        self.assertEqual(self.ask("GET", f"/v1/oid4vp/request/{again.id}")[0], 503)

    def test_keys_are_published(self) -> None:
        self.start(self.signed)
        status, told = self.json("GET", "/.well-known/did.json")
        self.assertEqual((status, told["id"]), (200, "did:web:gateway.example"))
        self.assertEqual(len(self.json("GET", "/.well-known/jwks.json")[1]["keys"]), 1)
        for name in ("did.json", "jwks.json"):
            for method in ("GET", "HEAD"):
                status, headers, _ = self.ask(method, f"/.well-known/{name}")
                self.assertEqual((status, headers["content-type"]), (200, "application/json"))
                self.assertEqual(headers["cache-control"], "public, max-age=300")
                self.assertEqual(headers["access-control-allow-origin"], "*")


class BodyTest(unittest.TestCase):
    """Incomplete, slow and broken bodies."""

    def setUp(self) -> None:
        signer = idgate.Signer(cases.BASE_URL, b"7" * 32)
        issuer = idgate.Issuer(ISSUER, vcts=["urn:eudi:pid:1"], jwk=signer.public_key())
        verifier = idgate.Verifier(cases.BASE_URL, idgate.Trust([issuer]), profiles=["1.0"], signer=signer, fetch=False)
        self.store, self.pulled = Store(), 0
        asked: Any = {"format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["a"]}
        made = verifier.create_session({"credentials": [asked]}, mode="live")
        self.assertTrue(self.store.commit(made))
        self.session_id = made.session.info().id
        self.response, self.request, *_ = _web.routes(verifier, self.store, None, ())

    def post(self, route: _web.Route, handle: str, *parts: Any) -> tuple[int, str, str]:
        """Posts a body of these parts: bytes, errors, and `None` for a part that never arrives."""

        async def body() -> AsyncGenerator[bytes, None]:
            for part in parts:
                self.pulled += 1
                if part is None:
                    await asyncio.Event().wait()
                if isinstance(part, Exception):
                    raise part
                yield part

        reply = asyncio.run(route.answer(_web.Asked("POST", handle, FORM, body)))
        told = json.loads(reply.body)
        return reply.status, told["error"], told["message"]

    def test_a_body_is_not_read_without_a_pending_session(self) -> None:
        closed = (409, "session_not_pending", "the session no longer accepts a response")
        nothing = (404, "not_found", "the session has no Request Object to fetch")
        self.assertEqual(self.post(self.response, "ses_0", b"x"), closed)
        self.assertEqual(self.post(self.request, "ses_0", b"x"), nothing)
        revision, session = self.store.kept[self.session_id]
        expired = session.due(session.info().expires_at)
        assert expired is not None
        self.store.kept[self.session_id] = (revision + 1, expired.session)
        self.assertEqual(self.post(self.response, self.session_id, b"x"), closed)
        self.assertEqual(self.post(self.request, self.session_id, b"x"), nothing)
        self.assertEqual(self.pulled, 0)

    def test_a_body_is_bounded_while_it_is_read(self) -> None:
        for route, room in ((self.response, _web.MAX_ANSWER), (self.request, _web.MAX_FORM)):
            self.pulled = 0
            status, code, _ = self.post(route, self.session_id, *[b"x" * (room // 2)] * 10)
            self.assertEqual((status, code, self.pulled), (413, "payload_too_large", 3))

    def test_a_body_that_does_not_come_is_not_waited_for(self) -> None:
        with mock.patch.object(_web, "BODY_SECONDS", 0):
            for route in (self.response, self.request):
                late = (400, "invalid_response", "the body did not arrive in time")
                self.assertEqual(self.post(route, self.session_id, b"x", None), late)
        for route in (self.response, self.request):
            incomplete = (400, "invalid_response", "the body is incomplete")
            self.assertEqual(self.post(route, self.session_id, b"x", _web.cut()), incomplete)

    def test_replies_and_bounds_are_those_of_the_crate(self) -> None:
        sources = (
            "idgate/src/wallets.rs",
            "idgate/src/wallets/service.rs",
            "idgate/src/limits.rs",
            "idgate-core/src/error/mod.rs",
            "idgate-core/src/limits/mod.rs",
            "idgate-core/src/reply.rs",
        )
        rust = "\n".join((ROOT / source).read_text() for source in sources)
        own = "\n".join((Path(_web.__file__).with_name(name)).read_text() for name in ("_web.py", "reply.py"))
        texts = re.findall(r'"((?:there is nothing|this path|the session|the body|a fault of this|try again)[^"]*)"', own)
        self.assertGreaterEqual(len(texts), 8, texts)
        for text in texts:
            self.assertIn(f'"{text}"', rust)
        for header in ("public, max-age=300", "GET, POST", "GET, HEAD"):
            self.assertIn(f'"{header}"', rust)
        self.assertIn(f"BODY_TIME: Duration = Duration::from_secs({_web.BODY_SECONDS:.0f});", rust)
        self.assertIn("MAX_HANDLE_BYTES: usize = 64;", rust)
        self.assertIn("MAX_RESPONSE_BYTES: usize = 1024 * 1024;", rust)
        self.assertIn("MAX_FETCH_FORM_BYTES: usize = 64 * 1024;", rust)


@unittest.skipUnless(
    all(importlib.util.find_spec(name) for name in ("fastapi", "httpx")), "fastapi and httpx are not installed"
)
class FastApiTest(Wallets, unittest.TestCase):
    @staticmethod
    def behind(store: Store) -> object:
        return store

    def start(self, verifier: idgate.Verifier) -> None:
        from fastapi import FastAPI
        from fastapi.testclient import TestClient
        from idgate.fastapi import wallet_router

        app = FastAPI()
        store = self.behind(self.store)
        app.include_router(wallet_router(verifier, store, **self.published))
        self.client = TestClient(app)
        self.assertEqual(app.openapi()["paths"], {}, "they are for wallets")

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = FORM) -> tuple[int, dict[str, str], bytes]:
        answer = self.client.request(method, path, content=body, headers={"Content-Type": kind})
        return answer.status_code, dict(answer.headers), answer.content


class AsyncFastApiTest(FastApiTest):
    """The same with a store of coroutine functions."""

    behind = AsyncStore


@unittest.skipUnless(importlib.util.find_spec("django"), "django is not installed")
class DjangoTest(Wallets, unittest.TestCase):
    def start(self, verifier: idgate.Verifier) -> None:
        import django
        from django.conf import settings

        if not settings.configured:
            settings.configure(
                ALLOWED_HOSTS=["testserver"],
                ROOT_URLCONF="django_urls_of_test",
                MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
                DATA_UPLOAD_MAX_MEMORY_SIZE=1000,
            )
            django.setup()
        import sys
        import types

        from django.test import Client
        from django.urls import clear_url_caches
        from idgate.django import wallet_urls

        module = types.ModuleType("django_urls_of_test")
        urls = wallet_urls(verifier, self.store, **self.published)
        module.urlpatterns = urls  # type: ignore[attr-defined]
        sys.modules["django_urls_of_test"] = module
        clear_url_caches()
        self.client = Client(enforce_csrf_checks=True)

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = FORM) -> tuple[int, dict[str, str], bytes]:
        answer = self.client.generic(method, path, body, content_type=kind, CONTENT_TYPE=kind)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return answer.status_code, headers, answer.content


if __name__ == "__main__":
    unittest.main()
