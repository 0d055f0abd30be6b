"""What is said when something is refused: never what was presented, nor a nonce or a key."""

from __future__ import annotations

import base64
import json
import re
import traceback
import unittest
from collections.abc import Iterator
from typing import Any

import cases
import idgate

PERSON = ("Erika", "Mustermann", "1984-01-26", "1986-03-22")


def said(case: dict[str, Any]) -> str:
    """All that a log would have of what comes of it."""
    now = cases.at(case["now_ms"])
    session = idgate.Session.restore(cases.decode(case["session"]))
    try:
        with cases.begin(case, session, now) as verification:
            decision = verification.decide(commit=lambda hold: None, fetch=lambda need: None)
    except idgate.IdgateError as error:
        parts = (error.args, error.path, error.clause, error.remedy, error.code, error.kind)
        return "\n".join([*traceback.format_exception_only(error), repr(error), repr(parts)])
    return f"{decision!r}\n{json.dumps(decision.report)}"


def secrets(case: dict[str, Any]) -> Iterator[str]:
    """What came and what is kept of the session, also as tokens carry it."""
    yield cases.decode(case["session"]).decode(errors="replace")
    body = cases.decode(case["body"]).decode(errors="replace")
    yield body
    for token in re.findall(r"[\w-]{24,}", body):
        yield base64.urlsafe_b64decode(token[: len(token) // 4 * 4]).decode(errors="replace")


class ErrorsTest(unittest.TestCase):
    def test_no_refusal_says_what_was_presented(self) -> None:
        refused = [case for case in cases.load() if case["expected"].get("status") != "VERIFIED"]
        self.assertGreaterEqual(len(refused), 15)
        seen = 0
        for case in refused:
            text = said(case)
            with self.subTest(case["title"], text=text):
                self.assertFalse([name for name in PERSON if name in text])
                own = "\n".join(secrets(case))
                seen += any(name in own for name in PERSON)
                # Names of the standards have no digit; parts of tokens, keys and nonces do.
                words = [word for word in re.findall(r"[\w-]{12,}", text) if re.search("[0-9][A-Za-z]|[A-Za-z][0-9]", word)]
                self.assertEqual([word for word in words if word in own], [])
        self.assertGreater(seen, 5, "there is something to say")

    def test_what_is_given_and_cannot_be_read_is_not_quoted(self) -> None:
        secret = "5ecret-0f-the-ca11er"
        jwk = {"kty": "EC", "crv": "P-256", "x": secret, "y": secret, "d": secret}
        trust = idgate.Trust()
        trust.add_issuer("https://issuer.example")
        verifier = idgate.Verifier(cases.BASE_URL, trust)
        session = idgate.Session.restore(cases.decode(cases.load()[0]["session"]))

        def verify(**changed: Any) -> None:
            expected = {"format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "client_id": secret}
            trust.verify("a~", **{**expected, "nonce": secret, **changed})  # type: ignore[arg-type]

        for number, work in enumerate([
            lambda: verify(),
            lambda: verify(format=secret),
            lambda: verify(nonce={"is": secret}),
            lambda: verify(alg=secret),
            lambda: verify(claims=[[secret]]),
            lambda: verify(enc_key={"kty": secret}),
            lambda: verify(enc_key=jwk),
            lambda: trust.verify(secret, format="vc+sd-jwt", issuer_id="https://issuer.example", client_id="c", nonce="n"),
            lambda: trust.add_jwk("https://issuer.example", jwk),
            lambda: trust.add_jwk("https://issuer.example", json.dumps(secret)),
            lambda: trust.add_jwk("https://issuer.example", {"keys": [secret]}),
            lambda: trust.add_public_key("https://issuer.example", f"-----BEGIN PUBLIC KEY-----\n{secret}\n"),
            lambda: trust.add_roots("https://issuer.example", secret),
            lambda: trust.add_issuer("https://issuer.example", revocation=secret),  # type: ignore[arg-type]
            lambda: trust.add_issuer("https://issuer.example", aki=secret),  # type: ignore[arg-type]
            lambda: idgate.Signer(cases.BASE_URL, secret.encode()),
            lambda: idgate.Signer.external(cases.BASE_URL, jwk, lambda text: text),
            lambda: idgate.did_document(cases.BASE_URL, [jwk]),
            lambda: idgate.Session.restore(secret.encode()),
            lambda: idgate.Session.restore(json.dumps({"nonce": secret}).encode()),
            lambda: verifier.begin(session, secret.encode(), "application/x-www-form-urlencoded"),
            lambda: verifier.begin(session, json.dumps({"vp_token": secret}).encode(), "application/json"),
            lambda: verifier.begin_dc_api(session, json.dumps({"protocol": secret, "data": secret})),
            lambda: verifier.create_session(f'{{"credentials": "{secret}" "'),
            lambda: idgate.Verifier(cases.BASE_URL, trust, client_id=secret),  # type: ignore[arg-type]
            lambda: idgate.webhook.verify(secret, {"X-IDGate-Signature": secret}, secret.encode()),
        ]):
            with self.subTest(number), self.assertRaises(Exception) as caught:
                work()
            self.assertIsInstance(caught.exception, idgate.IdgateError, f"{number}: {caught.exception!r}")
            text = "".join(traceback.format_exception_only(caught.exception)) + repr(vars(caught.exception))
            self.assertNotIn(secret, text, number)


if __name__ == "__main__":
    unittest.main()
