"""Messages of errors: in words for Python, and without a claim, a nonce or a key."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
import re
import traceback
import unittest
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import cases
import idgate
from idgate import webhook

PERSON = ("Erika", "Mustermann", "1984-01-26", "1986-03-22")
ISSUER = "https://issuer.example"
SECRET = "5ecret-0f-the-ca11er"
FORM = "application/x-www-form-urlencoded"
#: Words of C, of the library's own parser, and of a gateway.
FOREIGN = ("--", "IDGATE_", "idgate_", "NULL", "line 1 column", "the operator", "expected value", "Some(")
JWK = {"kty": "EC", "crv": "P-256", "x": SECRET, "y": SECRET, "d": SECRET}


def said(case: dict[str, Any]) -> str:
    """Everything that a log would have of the outcome."""
    now = cases.at(case["now_ms"])
    session = idgate.Session.restore(cases.decode(case["session"]))
    try:
        decision = cases.verifier(case).decide(session, cases.answer(case, session), cases.Kept(), now=now)
    except idgate.IdgateError as error:
        return written(error)
    return f"{decision!r}\n{decision.report!r}"


def written(error: BaseException) -> str:
    """Everything that a log could have of an error."""
    return "".join(traceback.format_exception_only(error)) + f"{error!r} {vars(error)!r}"


def secrets(case: dict[str, Any]) -> Iterator[str]:
    """The answer and the stored session, also in the encodings of tokens."""
    yield cases.decode(case["session"]).decode(errors="replace")
    body = cases.decode(case["body"]).decode(errors="replace")
    yield body
    for token in re.findall(r"[\w-]{24,}", body):
        yield base64.urlsafe_b64decode(token[: len(token) // 4 * 4]).decode(errors="replace")


class RefusalTest(unittest.TestCase):
    def test_no_refusal_contains_presented_data(self) -> None:
        refused = [case for case in cases.load() if case["expected"].get("status") != "VERIFIED"]
        self.assertGreaterEqual(len(refused), 15)
        seen = 0
        for case in refused:
            text = said(case)
            with self.subTest(case["title"], text=text):
                self.assertFalse([name for name in PERSON if name in text])
                self.assertFalse([word for word in FOREIGN if word in text])
                own = "\n".join(secrets(case))
                seen += any(name in own for name in PERSON)
                # Names in the standards have no digit; parts of tokens, keys and nonces do.
                words = [
                    word
                    for word in re.findall(r"[\w-]{12,}", text)
                    if re.search("[0-9][A-Za-z]|[A-Za-z][0-9]", word)
                ]
                self.assertEqual([word for word in words if word in own], [])
        self.assertGreater(seen, 5, "there is something to say")


class WrongInputTest(unittest.TestCase):
    """Unusable arguments: each raises an exception of this package, a ValueError or a TypeError."""

    def setUp(self) -> None:
        self.key = idgate.Signer("https://a.example", b"7" * 32).public_key()
        issuer = idgate.Issuer(ISSUER, vcts=["urn:eudi:pid:1"], jwk=self.key)
        self.trust = idgate.Trust([issuer, idgate.Issuer("https://empty.example")])
        self.verifier = idgate.Verifier(cases.BASE_URL, self.trust, profiles=["1.0"], dc_api="unsigned")
        self.asked = {"format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}
        request: Any = {"credentials": [self.asked]}
        self.session = self.verifier.create_session(request, mode="live").session
        self.signer = idgate.Signer(cases.BASE_URL, b"7" * 32)

    def issuers(self) -> Iterator[Callable[[], Any]]:
        wrong: dict[str, list[Any]] = {
            "jwk": [JWK, SECRET, json.dumps(SECRET), {"keys": [SECRET]}, {"keys": []}, {}, 5, [self.key, None], "{"],
            "public_key_pem": [SECRET, f"-----BEGIN PUBLIC KEY-----\n{SECRET}\n-----END PUBLIC KEY-----\n", 5, [b"x"]],
            "iaca_roots": [SECRET, b"", Path("iaca.pem"), 5, [SECRET, 5], None],
            "mdoc_signers": [SECRET, [b"x", b"y"], {}],
            "x5c_roots": [SECRET, b"\x30\x00"],
            "x5c_signers": [SECRET],
            "status_roots": [SECRET],
            "crls": [SECRET, b"\x30\x00", [SECRET]],
            "vical": [SECRET, idgate.ListFile(SECRET), idgate.ListFile(b"\xd2\x84", signed_below=SECRET)],
            "master_list": [b"x", idgate.ListFile(SECRET), [idgate.ListFile(SECRET), 5]],
            "trusted_list": [b"x", idgate.ListFile(SECRET), idgate.ListFile(f"{SECRET}.{SECRET}.{SECRET}")],
            "vct": ["urn:eudi:pid:1", 5, [5]],
            "doc_types": ["org.iso.18013.5.1.mDL", [b"x"]],
            "namespaces": [5],
            "claim_paths": [{"city": []}, {"city": "locality"}, {"city": [5]}, {5: ["x"]}, [], 5, {"city": [None]}],
            "default_claims": ["given_name", [None]],
            "iss": [5, b"x"],
            "any_iss": [SECRET, None],
            "countries": ["LU", [5]],
            "mdoc_ekus": ["1.2.3", [SECRET], ["1.2."]],
            "x5c_ekus": [[SECRET], [""]],
            "revocation": [SECRET, None, True],
            "on_unknown_revocation": [SECRET, None, True],
            "status_max_age_days": [0, -1, 3651, SECRET, 1.5, True],
            "named_in_queries": [SECRET, 1],
            "trusted_list_urls": [SECRET],
            "device_response_documents": [SECRET, 2],
            "issuing_country_unbound": [SECRET],
            "test_only": [SECRET, None],
        }
        for name, values in wrong.items():
            for value in values:
                if name == "claim_paths" and value == []:
                    continue  # nothing is said
                given = {name: value}
                yield lambda given=given: idgate.Trust([idgate.Issuer(ISSUER, **given)])  # type: ignore[misc]
        yield lambda: idgate.Issuer(5)  # type: ignore[arg-type]
        yield lambda: idgate.Trust([SECRET])  # type: ignore[list-item]
        yield lambda: idgate.Trust(idgate.Issuer(ISSUER))  # type: ignore[arg-type]
        yield lambda: idgate.Trust([], version=-1)
        yield lambda: idgate.ListFile(5)  # type: ignore[arg-type]
        yield lambda: idgate.ListFile(b"", now=SECRET)  # type: ignore[arg-type]

    def presentations(self) -> Iterator[Callable[[], Any]]:
        def verify(vp_token: Any = "a~", **changed: Any) -> None:
            expected = {"format": "dc+sd-jwt", "issuer_id": ISSUER, "client_id": SECRET, "nonce": SECRET}
            self.trust.verify(vp_token, **{**expected, "fetch": False, **changed})

        yield lambda: verify()
        for token in (SECRET, "", 5, None, b"x", f"{SECRET}~{SECRET}~"):
            yield lambda token=token: verify(token)  # type: ignore[misc]
        mdoc = {"format": "mso_mdoc", "doc_type": "d", "namespace": "n", "response_uri": SECRET}
        for changed in (
            {"format": SECRET},
            {"format": "sd-jwt"},
            {"issuer_id": "https://none.example"},
            {"issuer_id": "https://empty.example"},
            {"issuer_id": None},
            {"client_id": 5},
            {"nonce": {"is": SECRET}},
            {"alg": SECRET},
            {"alg": "RS256"},
            {"claims": [[SECRET]]},
            {"claims": "given_name"},
            {"claim_paths": {"city": [5]}},
            {"claim_paths": {"city": []}},
            {"mode": SECRET},
            {"mode": True},
            {"profile": "2.0"},
            {"sent_at": datetime(2026, 1, 1)},
            {"sent_at": 5},
            {"now": "now"},
            {"fetch": SECRET},
            {"format": "mso_mdoc"},
            mdoc,
            {**mdoc, "origin": SECRET},
            {**mdoc, "response_uri": None},
            {**mdoc, "enc_key": {"kty": SECRET}},
            {**mdoc, "enc_key": JWK},
            {**mdoc, "enc_key": SECRET},
            {**mdoc, "enc_key": 5},
            {**mdoc, "apu": "=" + SECRET},
            {**mdoc, "profile": "draft", "apu": "=" + SECRET},
            {**mdoc, "doc_type": 5},
        ):
            yield lambda changed=changed: verify(**changed)  # type: ignore[misc]

    def verifiers(self) -> Iterator[Callable[[], Any]]:
        def verifier(base_url: Any = cases.BASE_URL, trust: Any = self.trust, **changed: Any) -> None:
            idgate.Verifier(base_url, trust, **{"profiles": ["1.0"], **changed})

        for base_url in (SECRET, "http://shop.example", "https://shop.example/path", "", 5, None):
            yield lambda base_url=base_url: verifier(base_url)  # type: ignore[misc]
        yield lambda: verifier(trust=SECRET)
        yield lambda: verifier(trust=[idgate.Issuer(ISSUER)])
        for changed in (
            {"profiles": []},
            {"profiles": "1.0"},
            {"profiles": ["2.0"]},
            {"profiles": [5]},
            {"profiles": ["draft"], "dc_api": "unsigned"},
            {"client_id": SECRET},
            {"request_mode": SECRET},
            {"request_mode": "jar"},
            {"response_mode": SECRET},
            {"request_uri_method": "get"},
            {"dc_api": SECRET},
            {"signer": SECRET},
            {"signer": [SECRET]},
            {"former_signers": 5},
            {"fetch": SECRET},
        ):
            yield lambda changed=changed: verifier(**changed)  # type: ignore[misc]
        yield lambda: idgate.Verifier(cases.BASE_URL, self.trust)  # type: ignore[call-arg]
        yield lambda: idgate.Fetcher(allow=["localhost"])
        yield lambda: idgate.Fetcher(allow="10.0.0.0/8")
        yield lambda: idgate.Fetcher(allow=[5])  # type: ignore[list-item]
        yield lambda: idgate.Fetcher(roots=SECRET)
        yield lambda: idgate.Fetcher(roots=Path("ca.pem"))  # type: ignore[arg-type]

    def requests(self) -> Iterator[Callable[[], Any]]:
        good = self.asked
        for request in (
            f'{{"credentials": "{SECRET}" "',
            SECRET,
            b"\xff",
            b"",
            "[]",
            5,
            None,
            Path("request.json"),
            {},
            {"credential": [good]},
            {"credentials": []},
            {"credentials": [good] * 11},
            {"credentials": {"pid": good}},
            {"credentials": [{**good, "format": "sd-jwt"}]},
            {"credentials": [{**good, "format": "mso_mdoc", "claim_paths": {"a": ["b"]}}]},
            {"credentials": [{**good, "issuer_id": SECRET}]},
            {"credentials": [{**good, "claims": []}]},
            {"credentials": [{**good, "claims": ["<script>"]}]},
            {"credentials": [{**good, "alg": "RS256"}]},
            {"credentials": [{**good, "id": ""}]},
            {"credentials": [{**good, "id": "a"}, {**good, "id": "a"}]},
            {"credentials": [{**good, "claim_filters": {"given_name": {"pattern": "("}}}]},
            {"credentials": [{**good, "claim_filters": {"family_name": {}}}]},
            {"credentials": [{**good, "claim_paths": {"given_name": []}}]},
            {"credentials": [good], "ttl_ms": 1},
            {"credentials": [good], "ttl_ms": 1 << 70},
            {"credentials": [good], "ttl_ms": float("nan")},
            {"credentials": [good], "ttl_ms": SECRET.encode()},
            {"credentials": [good], "redirect_uri": "javascript:alert(1)"},
            {"credentials": [good], "profiles": ["2.0"]},
            {"credentials": [good], "profiles": ["haip"]},
            {"credentials": [good], "profiles": []},
            {"credentials": [good], "same_device": True},
            {"credentials": [good], "same_subject_groups": [["a"]]},
            {"credentials": [good], "credential_sets": [{"options": []}]},
            {"credentials": [good], "dc_api": {"origins": []}},
            {"credentials": [good], "dc_api": {"origins": ["shop.example"]}},
            {"credentials": [good], "transaction_data": [{"type": "t", "credential_ids": ["x"]}]},
            {"issuer_id": SECRET},
        ):
            yield lambda request=request: self.verifier.create_session(request, mode="live")  # type: ignore[misc]
        asked: Any = {"credentials": [good]}
        for changed in (
            {"mode": "production"},
            {"mode": True},
            {"tenant": 5},
            {"registration": SECRET},
            {"registration": 5},
            {"strict": SECRET},
            {"now": datetime(2026, 1, 1)},
            {"livemode": True},
        ):
            yield lambda changed=changed: self.verifier.create_session(asked, **{"mode": "live", **changed})  # type: ignore[misc]
        yield lambda: self.verifier.create_session(asked)  # type: ignore[call-arg]
        yield lambda: self.verifier.compare_registration(SECRET, asked, mode="live")
        yield lambda: self.verifier.dc_api_requests(self.session)
        yield lambda: self.verifier.dc_api_requests(SECRET)  # type: ignore[arg-type]
        yield lambda: self.verifier.request_object(self.session, SECRET)
        yield lambda: self.verifier.request_object(self.session, self.session.info().id)
        yield lambda: self.verifier.request_object(self.session, 5)  # type: ignore[arg-type]

    def answers(self) -> Iterator[Callable[[], Any]]:
        def answer(body: Any, content_type: Any = FORM, to: Any = None) -> None:
            made = idgate.Answer(to=to or self.session.info().id, body=body, content_type=content_type)
            self.verifier.decide(self.session, made, cases.Kept())

        twice = f"state={SECRET}&state={SECRET}"
        for body in (SECRET, b"", "state=x&vp_token=x", twice, "%zz", 5, None, b"x" * (1 << 21)):
            yield lambda body=body: answer(body)  # type: ignore[misc]
        yield lambda: answer(json.dumps({"vp_token": SECRET}), "application/json")
        yield lambda: answer("state=x", None)
        yield lambda: answer("state=x", 5)
        yield lambda: answer("state=x", to="off_unknown")
        yield lambda: answer("state=x", to="ses_another")
        yield lambda: idgate.Answer(to=5, body=b"", content_type=None)  # type: ignore[arg-type]
        yield lambda: idgate.Answer(body=b"", content_type=None)  # type: ignore[call-arg]
        yield lambda: idgate.Answer.dc_api(5)  # type: ignore[arg-type]
        for brought in (SECRET, {}, {"protocol": SECRET, "data": SECRET}, {"protocol": "openid4vp-v1-unsigned"}):
            yield lambda brought=brought: self.verifier.decide(  # type: ignore[misc]
                self.session, idgate.Answer.dc_api(brought), cases.Kept()
            )
        good = idgate.Answer(to="x", body=b"", content_type=None)
        yield lambda: self.verifier.decide(SECRET, good, cases.Kept())  # type: ignore[arg-type]
        yield lambda: self.verifier.decide(self.session, SECRET, cases.Kept())  # type: ignore[arg-type]
        wrong: Any = SECRET
        yield lambda: asyncio.run(self.verifier.decide_async(self.session, wrong, cases.Kept()))

    def others(self) -> Iterator[Callable[[], Any]]:
        for snapshot in (SECRET.encode(), b"", json.dumps({"nonce": SECRET}).encode(), 5, None):
            yield lambda snapshot=snapshot: idgate.Session.restore(snapshot)  # type: ignore[misc]
        yield lambda: idgate.Session.restore(self.session.snapshot(), SECRET.encode())
        yield lambda: self.session.result()  # type: ignore[call-arg]
        yield lambda: self.session.result(idgate.Backend())
        yield lambda: self.session.result(idgate.Browser(response_code=SECRET))
        yield lambda: self.session.result(SECRET)  # type: ignore[arg-type]
        yield lambda: self.session.result(idgate.Browser(response_code=5))  # type: ignore[arg-type]
        yield lambda: idgate.Browser()  # type: ignore[call-arg]
        for key in (SECRET.encode(), b"\x00" * 32, b"", 5, Path("key")):
            yield lambda key=key: idgate.Signer(cases.BASE_URL, key)  # type: ignore[misc]
        yield lambda: idgate.Signer(SECRET, b"7" * 32)
        yield lambda: idgate.Signer.external(cases.BASE_URL, JWK, lambda text: text)
        yield lambda: idgate.Signer.external(cases.BASE_URL, SECRET, lambda text: text)
        yield lambda: idgate.Signer.external(cases.BASE_URL, self.key, SECRET)  # type: ignore[arg-type]
        yield lambda: self.signer.certified(SECRET)
        yield lambda: self.signer.certified(Path("chain.pem"))  # type: ignore[arg-type]
        yield lambda: self.signer.check_registration(SECRET)
        yield lambda: idgate.did_document(cases.BASE_URL, [JWK])
        yield lambda: idgate.did_document(SECRET, [self.key])
        yield lambda: idgate.jwks(cases.BASE_URL, self.key)  # type: ignore[arg-type]
        yield lambda: idgate.jwks(cases.BASE_URL, [SECRET])  # type: ignore[list-item]
        for secret in (SECRET, "", 5, None):
            yield lambda secret=secret: webhook.Webhook(secret).verify(  # type: ignore[misc]
                {"X-Timestamp": SECRET, "X-Signature": SECRET}, SECRET
            )
        genuine = webhook.Webhook(SECRET)
        yield lambda: genuine.verify({}, b"{}")
        yield lambda: genuine.verify([], b"{}")  # type: ignore[arg-type]
        yield lambda: genuine.verify({"X-Timestamp": 5}, b"{}")  # type: ignore[dict-item]
        yield lambda: genuine.verify({"webhook-signature": SECRET}, b"{}")
        yield lambda: genuine.verify(genuine.headers(SECRET, id="whd_1", number=1), SECRET)
        yield lambda: genuine.verify(genuine.headers("{}", id="whd_1", number=1), {})  # type: ignore[arg-type]
        yield lambda: genuine.headers(b"{}", id="whd_1", number=0)
        yield lambda: genuine.headers(b"{}", id="whd_1", number=1 << 32)
        yield lambda: genuine.headers(b"{}", id="whd_1", number=1, previous_secret="")
        yield lambda: webhook.Webhook(SECRET, tolerance=5)  # type: ignore[arg-type]
        yield lambda: webhook.Webhook(SECRET, tolerance=timedelta(minutes=-1))
        for handle in (idgate.Trust(), idgate.Signer(cases.BASE_URL, b"7" * 32), idgate.Fetcher()):
            handle.close()
        yield lambda: self.closed(idgate.Trust()).verify(
            "x", format="dc+sd-jwt", issuer_id=ISSUER, client_id="c", nonce="n"
        )
        yield lambda: self.closed(idgate.Signer(cases.BASE_URL, b"7" * 32)).public_key()
        yield lambda: self.closed(idgate.Session.restore(self.session.snapshot())).info()

    @staticmethod
    def closed(handle: Any) -> Any:
        handle.close()
        return handle

    def test_each_error_is_in_words_for_python_and_quotes_nothing(self) -> None:
        groups = (self.issuers, self.presentations, self.verifiers, self.requests, self.answers, self.others)
        fed = [(group.__name__, number, work) for group in groups for number, work in enumerate(group())]
        self.assertGreater(len(fed), 200)
        for group, number, work in fed:
            with self.subTest(group, number=number):
                with self.assertRaises((idgate.IdgateError, ValueError, TypeError)) as caught:
                    work()
                error = caught.exception
                text = written(error)
                self.assertNotIn(SECRET, text)
                self.assertFalse([word for word in FOREIGN if word in text], text)
                self.assertTrue(str(error).strip())
                self.assertIsNone(error.__cause__)
                if isinstance(error, idgate.IdgateError):
                    self.assertRegex(error.code, "^[a-z_]+$")
                    again = pickle.loads(pickle.dumps(error))
                    self.assertEqual((type(again), str(again), vars(again)), (type(error), str(error), vars(error)))

    def test_a_path_where_bytes_are_wanted_says_how_to_read_it(self) -> None:
        path: Any = Path("iaca.pem")
        for work in (
            lambda: idgate.Issuer(ISSUER, iaca_roots=path),
            lambda: idgate.Issuer(ISSUER, jwk=[path]),
            lambda: idgate.ListFile(path),
            lambda: idgate.Fetcher(roots=path),
            lambda: self.signer.certified(path),
            lambda: self.verifier.create_session(path, mode="live"),
        ):
            with self.assertRaisesRegex(TypeError, r"\.read_bytes\(\)"):
                work()


class ErrorTest(unittest.TestCase):
    def test_each_class_carries_what_a_program_acts_on(self) -> None:
        text = "is at fault"
        for error, values in (
            (idgate.RequestInvalid("ttl_ms", text), {"code": "invalid_request", "path": "ttl_ms", "rule": text}),
            (idgate.Misconfigured(text, issuer=ISSUER, field="jwk"), {"issuer": ISSUER, "field": "jwk"}),
            (
                idgate.Refused(text, reason="nonce_mismatch", check="nonce", clause="RFC 9901 7.3"),
                {"code": "nonce_mismatch", "check": "nonce", "clause": "RFC 9901 7.3"},
            ),
            (idgate.NotAnAnswer(text, code="session_not_pending"), {"http_status": 409}),
            (idgate.NotAnAnswer(text, code="payload_too_large"), {"http_status": 413}),
            (idgate.NotAnAnswer(text, code="state_mismatch"), {"http_status": 400}),
            (idgate.Withheld(text, reason="redacted"), {"code": "redacted", "reason": "redacted"}),
            (idgate.NotAvailable(text, retry_after=5), {"retry_after": 5}),
            (idgate.InternalError(text), {"code": "internal_error"}),
            (idgate.ClaimsError("city", text), {"code": "claims", "path": "city", "rule": text}),
        ):
            self.assertIsInstance(error, idgate.IdgateError)
            for name, value in values.items():
                self.assertEqual(getattr(error, name), value, name)
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), vars(again)), (type(error), str(error), vars(error)))

    def test_refusals_name_their_check_and_clause(self) -> None:
        trust = idgate.Trust([idgate.Issuer("i")])
        with self.assertRaises(idgate.Refused) as raised:
            trust.verify("not an SD-JWT", format="dc+sd-jwt", issuer_id="i", client_id="c", nonce="n")
        error = raised.exception
        self.assertIs(error.reason, idgate.Reason.MALFORMED_PRESENTATION)
        self.assertTrue(error.check)
        self.assertRegex(error.clause or "", "^(RFC|OpenID4VP|SD-JWT|ISO|HAIP|IETF|draft)")


if __name__ == "__main__":
    unittest.main()
