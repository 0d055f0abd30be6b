"""Status lists that the package fetches itself: a wallet's answer, and sources on real sockets."""

from __future__ import annotations

import asyncio
import base64
import datetime
import hashlib
import http.server
import importlib.util
import ipaddress
import json
import os
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
import unittest
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import cases
import idgate
from idgate.fetcher import Fetching

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "harness"))

from patience import PATIENCE  # noqa: E402

ISSUER = "https://issuer.example"
VCTS = ("urn:one", "urn:two")
FORM = "application/x-www-form-urlencoded"
LOCAL = ["127.0.0.0/8"]
INSTALLED = all(importlib.util.find_spec(name) for name in ("jwcrypto", "cryptography"))

if INSTALLED:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from jwcrypto.jwk import JWK
    from jwcrypto.jws import JWS

    ISSUER_KEY, HOLDER_KEY = JWK.generate(kty="EC", crv="P-256"), JWK.generate(kty="EC", crv="P-256")


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(key: Any, typ: str, payload: dict[str, Any]) -> str:
    made = JWS(json.dumps(payload))
    made.add_signature(key, None, json.dumps({"alg": "ES256", "typ": typ}))
    return str(made.serialize(compact=True))


class Source(http.server.ThreadingHTTPServer):
    """A status list on loopback: revoked at 1. It calls `before` before it answers."""

    daemon_threads = True

    def __init__(self, before: Callable[[], object] = lambda: None, tls: ssl.SSLContext | None = None) -> None:
        self.asked, self.before = 0, before
        super().__init__(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_address[1]}/list"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client without roots closes the connection."""

    def token(self) -> bytes:
        lst = b64(zlib.compress(bytes([0b0000_0100, 0])))
        told = {"sub": self.url, "iat": int(time.time()), "ttl": 3600, "status_list": {"bits": 2, "lst": lst}}
        return jwt(ISSUER_KEY, "statuslist+jwt", told).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Source

    def do_GET(self) -> None:
        self.server.asked += 1
        self.server.before()
        token = self.server.token()
        self.send_response(200)
        self.send_header("Content-Length", str(len(token)))
        self.end_headers()
        self.wfile.write(token)

    def log_message(self, *_: Any) -> None:
        """Writes no log."""


class Flow:
    """A session, and a wallet's answer with a credential for each of `statuses`: index and list."""

    def __init__(self, *statuses: tuple[int, str], fetch: Any = True) -> None:
        self.trust = idgate.Trust([idgate.Issuer(ISSUER, vcts=VCTS, jwk=ISSUER_KEY.export_public())])
        self.fetch = fetch
        self.verifier = idgate.Verifier(cases.BASE_URL, self.trust, profiles=["1.0"], fetch=fetch)
        self.statuses = statuses
        self.store = cases.Kept()

    @property
    def stored(self) -> list[str]:
        """The statuses of the committed sessions."""
        return [transition.session.info().status for transition in self.store.transitions]

    def answered(self) -> tuple[idgate.Session, idgate.Answer]:
        chosen = VCTS[: len(self.statuses)]
        asked: list[Any] = [
            {"id": f"c{at}", "format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}
            for at in range(len(chosen))
        ]
        session = self.verifier.create_session({"credentials": asked}, mode="live").session
        request = {name: one for name, (one,) in parse_qs(urlsplit(session.info().qr_code_url or "").query).items()}
        shown = {
            f"c{at}": [self.presentation(vct, idx, uri, request)]
            for at, (vct, (idx, uri)) in enumerate(zip(chosen, self.statuses, strict=True))
        }
        body = f"state={request['state']}&vp_token={quote(json.dumps(shown))}"
        return session, idgate.Answer(to=session.info().id, body=body, content_type=FORM)

    def presentation(self, vct: str, idx: int, uri: str, request: dict[str, str]) -> str:
        now = int(time.time())
        credential = {
            "iss": ISSUER, "vct": vct, "iat": now, "exp": now + 3600, "given_name": "Erika",
            "cnf": {"jwk": HOLDER_KEY.export_public(as_dict=True)},
            "status": {"status_list": {"idx": idx, "uri": uri}},
        }  # fmt: skip
        issued = jwt(ISSUER_KEY, "dc+sd-jwt", credential) + "~"
        sd_hash = b64(hashlib.sha256(issued.encode()).digest())
        proof = {"iat": now, "aud": request["client_id"], "nonce": request["nonce"], "sd_hash": sd_hash}
        return issued + jwt(HOLDER_KEY, "kb+jwt", proof)

    def reason(self) -> str | None:
        return self.verifier.decide(*self.answered(), self.store).reason

    async def reason_async(self) -> str | None:
        return (await self.verifier.decide_async(*self.answered(), self.store)).reason

    def presented(self) -> tuple[str, dict[str, Any]]:
        """A presentation without a session, and its expectation."""
        ((idx, uri),) = self.statuses
        request = {"client_id": "redirect_uri:https://shop.example/answer", "nonce": "used once"}
        expected = {**request, "format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}
        return self.presentation(VCTS[0], idx, uri, request), {**expected, "fetch": self.fetch}

    def reason_of_one(self) -> str | None:
        token, expected = self.presented()
        try:
            assert self.trust.verify(token, **expected).revocation == "good"
        except idgate.Refused as refused:
            return refused.reason
        return None

    async def reason_of_one_async(self) -> str | None:
        token, expected = self.presented()
        try:
            assert (await self.trust.verify_async(token, **expected)).claims == {"given_name": "Erika"}
        except idgate.Refused as refused:
            return refused.reason
        return None


@unittest.skipUnless(INSTALLED, "jwcrypto and cryptography are not installed")
class SharedTest(unittest.TestCase):
    def test_verifiers_without_a_fetcher_share_one(self) -> None:
        first = Fetching(True).get()
        self.assertIs(Fetching(True).get(), first)
        own = idgate.Fetcher(allow=LOCAL)
        self.assertIs(Fetching(own).get(), own)

    @unittest.skipUnless(hasattr(os, "fork"), "a system without fork")
    def test_a_fork_while_the_shared_fetcher_is_made_does_not_block_the_child(self) -> None:
        with Fetching._making:
            child = os.fork()
            if child == 0:
                signal.alarm(int(PATIENCE))
                Fetching(True).get()
                os._exit(0)
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)


class FetchingTest(unittest.TestCase):
    def source(self, *given: Any, **named: Any) -> Source:
        source = Source(*given, **named)
        self.addCleanup(source.server_close)
        self.addCleanup(source.shutdown)
        return source

    def test_the_list_decides_and_is_neither_held_nor_asked_while_it_is_fresh(self) -> None:
        source, fetcher = self.source(), idgate.Fetcher(allow=LOCAL)
        good = Flow((0, source.url), fetch=fetcher)
        # The source is a thread of this process: it answers, so the GIL is free.
        self.assertEqual((good.reason(), good.stored), (None, ["VERIFYING", "VERIFIED"]))
        self.assertEqual((good.reason(), good.stored[2:]), (None, ["VERIFIED"]))
        good.statuses = ((1, source.url),)
        self.assertEqual((good.reason(), source.asked), ("credential_revoked", 1))
        # Another verifier has another trust, so its copies are separate.
        self.assertEqual((Flow((0, source.url), fetch=fetcher).reason(), source.asked), (None, 2))

    def test_the_list_decides_about_one_presentation_without_a_session(self) -> None:
        for way in (lambda flow: flow.reason_of_one(), lambda flow: asyncio.run(flow.reason_of_one_async())):
            source, fetcher = self.source(), idgate.Fetcher(allow=LOCAL)
            good, revoked = Flow((0, source.url), fetch=fetcher), Flow((1, source.url), fetch=fetcher)
            self.assertEqual((way(good), way(good), source.asked), (None, None, 1))
            self.assertEqual(way(revoked), "credential_revoked")
            self.assertEqual(way(Flow((0, source.url), fetch=lambda need: source.token())), None)
            for fetch in (True, False, lambda need: None):
                self.assertEqual(way(Flow((0, source.url), fetch=fetch)), "revocation_unknown")

    def test_two_lists_are_asked_before_either_answers(self) -> None:
        for way in (lambda flow: flow.reason(), lambda flow: asyncio.run(flow.reason_async())):
            together = threading.Barrier(2, timeout=PATIENCE)
            sources = [self.source(together.wait) for _ in VCTS]
            flow = Flow(*((0, source.url) for source in sources), fetch=idgate.Fetcher(allow=LOCAL))
            self.assertEqual((way(flow), flow.stored), (None, ["VERIFYING", "VERIFIED"]))

    def test_private_addresses_are_not_reached_unless_allowed(self) -> None:
        source = self.source()
        for fetch in (True, idgate.Fetcher(), idgate.Fetcher(allow=["10.0.0.0/8"])):
            self.assertEqual(Flow((0, source.url), fetch=fetch).reason(), "revocation_unknown")
        by_name = source.url.replace("127.0.0.1", "localhost")
        self.assertEqual(Flow((0, by_name)).reason(), "revocation_unknown")
        self.assertEqual(source.asked, 0)

    def test_without_a_fetcher_nothing_is_asked(self) -> None:
        source = self.source()
        flow = Flow((0, source.url), fetch=False)
        self.assertEqual(flow.reason(), "revocation_unknown")
        self.assertEqual(asyncio.run(flow.reason_async()), "revocation_unknown")
        self.assertEqual(source.asked, 0)

    def test_a_fetch_of_your_own_takes_its_place(self) -> None:
        source = self.source()
        flow = Flow((0, source.url), fetch=lambda need: source.token())
        self.assertEqual((flow.reason(), source.asked), (None, 0))
        self.assertEqual(flow.stored, ["VERIFYING", "VERIFIED"])

    def test_a_list_over_tls_needs_a_root_that_is_trusted(self) -> None:
        certificate, context = certified()
        source = self.source(tls=context)
        self.assertEqual(Flow((0, source.url), fetch=idgate.Fetcher(allow=LOCAL)).reason(), "revocation_unknown")
        for roots in (certificate, certificate.encode()):
            trusting = idgate.Fetcher(allow=LOCAL, roots=roots)
            self.assertEqual(Flow((0, source.url), fetch=trusting).reason(), None)
        self.assertEqual(source.asked, 2)

    def test_no_proxy_of_the_environment_is_asked(self) -> None:
        source, proxy = self.source(), socket.create_server(("127.0.0.1", 0))
        self.addCleanup(proxy.close)
        proxy.setblocking(False)
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            os.environ[name] = f"http://127.0.0.1:{proxy.getsockname()[1]}"
            self.addCleanup(os.environ.pop, name)
        self.assertEqual(Flow((0, source.url), fetch=idgate.Fetcher(allow=LOCAL)).reason(), None)
        with self.assertRaises(BlockingIOError):
            proxy.accept()

    def test_a_slow_source_does_not_block_the_event_loop(self) -> None:
        asked, open_ = threading.Event(), threading.Event()
        source = self.source(lambda: (asked.set(), open_.wait(PATIENCE)))
        flow = Flow((0, source.url), fetch=idgate.Fetcher(allow=LOCAL))

        async def both() -> tuple[str | None, int]:
            deciding, turns = asyncio.create_task(flow.reason_async()), 0
            while not deciding.done():
                # reason: one turn of the loop, which takes no time
                await asyncio.sleep(0)
                turns += asked.is_set()
                if turns == 20:
                    open_.set()
            return await deciding, turns

        reason, turns = asyncio.run(both())
        self.assertEqual(reason, None)
        self.assertGreaterEqual(turns, 20)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
    def test_a_process_that_was_forked_fetches_for_itself(self) -> None:
        source = self.source()
        flow = Flow((0, source.url), fetch=idgate.Fetcher(allow=LOCAL))
        self.assertEqual(flow.reason(), None)
        child = os.fork()
        if child == 0:
            signal.alarm(int(PATIENCE))
            try:
                os._exit(0 if flow.reason() is None else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(source.asked, 2)

    def test_unusable_fetcher_options_are_refused(self) -> None:
        for wrong in ({"allow": ["localhost"]}, {"allow": ["10.0.0.1/8"]}, {"roots": "no certificate"}, {"roots": b""}):
            with self.assertRaises(idgate.Misconfigured):
                idgate.Fetcher(**wrong)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            idgate.Fetcher(allow="10.0.0.0/8")
        with self.assertRaises(TypeError):
            Flow((0, "x"), fetch="yes")


def certified() -> tuple[str, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that is its own root, and a server with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Status")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + private)
        file.flush()
        context.load_cert_chain(file.name)
    return certificate.decode(), context


if __name__ == "__main__":
    unittest.main()
