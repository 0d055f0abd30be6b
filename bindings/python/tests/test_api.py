"""What a Python program meets: sessions, errors, handles, signers, webhooks, threads."""

from __future__ import annotations

import base64
import gc
import json
import pickle
import threading
import unittest
import weakref
from array import array
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import cases
import idgate
from idgate import _abi
from idgate._native import lib

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
ISSUER = "https://issuer.example"
REQUEST = {
    "credentials": [{"format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}]
}


def good_case() -> dict[str, object]:
    """Posted, not brought back by a page."""
    verified = (case for case in cases.load() if case["expected"].get("status") == "VERIFIED")
    return next(case for case in verified if "content_type" in case)


class SessionTest(unittest.TestCase):
    def setUp(self) -> None:
        self.verifier = cases.verifier(good_case())

    def test_a_session_is_made_stored_and_expires(self) -> None:
        made = self.verifier.create_session(REQUEST, tenant="shop", now=NOW)
        self.assertEqual(made.from_revision, 0)
        self.assertIn("expire_at", [effect["type"] for effect in made.effects])
        session = idgate.Session.restore(made.session.snapshot())
        info = session.info(NOW)
        self.assertEqual((info.status, info.tenant, info.livemode), ("PENDING", "shop", True))
        self.assertEqual(info.expires_at - info.created_at, timedelta(minutes=5))
        self.assertTrue(info.qr_code_url and info.qr_code_url.startswith("openid4vp://?"))
        self.assertEqual(set(info.deep_links), {"openid4vp", "eudi-wallet", "haip"})
        self.assertIsNone(session.due(NOW))
        expired = session.due(info.expires_at)
        assert expired is not None
        self.assertEqual(expired.from_revision, 1)
        later = expired.session.info(info.expires_at)
        self.assertEqual((later.status, later.reason), ("EXPIRED", "session_expired"))
        self.assertIsNone(later.qr_code_url)

    def test_what_the_wallet_said_is_told(self) -> None:
        for said, told in (("access_denied", "access_denied"), ("its own words", "other")):
            session = self.verifier.create_session(REQUEST, now=NOW).session
            info = session.info(NOW)
            assert info.qr_code_url is not None
            self.assertIsNone(info.wallet_error)
            (state,) = parse_qs(urlsplit(info.qr_code_url).query)["state"]
            body = urlencode({"state": state, "error": said}).encode()
            kind = "application/x-www-form-urlencoded"
            with self.verifier.begin(session, body, kind, now=NOW) as verification:
                decision = verification.step()
            assert isinstance(decision, idgate.Decision)
            self.assertEqual((decision.reply, decision.reason), ("error_noted", "wallet_error"))
            self.assertEqual(decision.wallet_error, told)
            self.assertEqual(decision.transition.session.info(NOW).wallet_error, told)

    def test_a_result_lives_for_30_seconds_and_survives_a_restart(self) -> None:
        case = good_case()
        now = cases.at(case["now_ms"])  # type: ignore[arg-type]
        session = idgate.Session.restore(cases.decode(case["session"]))  # type: ignore[arg-type]
        body, kind = cases.decode(case["body"]), case["content_type"]  # type: ignore[arg-type]
        with self.verifier.begin(session, body, kind, now=now) as verification:  # type: ignore
            decision = verification.step()
        assert isinstance(decision, idgate.Decision)
        self.assertEqual((decision.reply, decision.status), ("accepted", "VERIFIED"))
        # It is a draft's.
        self.assertEqual(decision.body, {"status": "ok"})
        settled = decision.transition.session
        kept = settled.result_snapshot(now)
        assert kept is not None
        again = idgate.Session.restore(settled.snapshot(), kept)
        self.assertEqual(again.result(now), settled.result(now))
        self.assertIsNone(again.result(now + timedelta(seconds=30)))
        self.assertIsNone(idgate.Session.restore(settled.snapshot()).result(now))

    def test_a_bad_request_names_its_field(self) -> None:
        with self.assertRaises(idgate.IdgateError) as raised:
            self.verifier.create_session({"credentials": [{"format": "x"}]})
        error = raised.exception
        self.assertEqual(error.kind, "bad_request")
        self.assertTrue(error.path.startswith("credentials[0]"), error.path)

    def test_times_need_a_zone(self) -> None:
        with self.assertRaises(ValueError):
            self.verifier.create_session(REQUEST, now=datetime(2026, 1, 1))


class HandleTest(unittest.TestCase):
    def test_a_closed_handle_is_misuse(self) -> None:
        trust = idgate.Trust()
        with trust:
            trust.add_issuer(ISSUER)
        with self.assertRaises(idgate.IdgateError) as raised:
            trust.add_issuer(ISSUER)
        self.assertEqual(raised.exception.kind, "misuse")
        trust.close()

    def test_errors_can_be_pickled(self) -> None:
        error = idgate.IdgateError("refused", "nonce_mismatch", "text", "path")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(
            (again.kind, again.code, str(again), again.path),
            ("refused", "nonce_mismatch", "text", "path"),
        )

    def test_an_empty_trust_refuses_everything(self) -> None:
        with idgate.Trust() as trust, self.assertRaises(idgate.IdgateError) as raised:
            trust.verify("x", format="vc+sd-jwt", issuer_id=ISSUER, client_id="c", nonce="n")
        self.assertEqual(raised.exception.kind, "config")


class PresentationTest(unittest.TestCase):
    def captured(self, kind: str) -> tuple[idgate.Trust, str, dict[str, Any]]:
        """What a wallet put into vp_token, and what its request said."""
        case = next(
            case
            for case in cases.load()
            if case["expected"].get("status") == "VERIFIED"
            and kind in case["trust"][0]
            and b"vp_token=" in cases.decode(case["body"])
            # A map is OpenID4VP 1.0: here a presentation stands alone.
            and b"vp_token=%7B" not in cases.decode(case["body"])
        )
        now = cases.at(case["now_ms"])
        token = parse_qs(cases.decode(case["body"]).decode())["vp_token"][0]
        info = idgate.Session.restore(cases.decode(case["session"])).info(now)
        request = parse_qs(urlsplit(info.qr_code_url or "").query)
        trust, given = idgate.Trust(), case["trust"][0]
        trust.add_issuer(given["issuer_id"], revocation="off")
        if kind == "jwks":
            trust.add_jwk(given["issuer_id"], {"keys": given["jwks"]})
        for root in given.get("roots", []):
            trust.add_roots(given["issuer_id"], memoryview(bytearray(cases.decode(root))))
        expected = {
            "issuer_id": given["issuer_id"],
            "client_id": request["client_id"][0],
            "nonce": request["nonce"][0],
            "response_uri": request["response_uri"][0],
            "livemode": False,
            "now": now,
        }
        return trust, token, expected

    def verified(self, kind: str, **more: Any) -> dict[str, Any]:
        trust, token, expected = self.captured(kind)
        before = lib.idgate_in_use()
        presentation = trust.verify(token, **expected, **more)
        self.assertNotIn("checks", presentation)
        told = trust.verify(token, **expected, **more, checks=True)
        checks = told.pop("checks")
        self.assertTrue(checks and all(check["passed"] for check in checks))
        self.assertEqual(told, presentation)
        signer = "not_published" if kind == "jwks" else "off"
        self.assertEqual(presentation["revocation"], "off")
        details = {"credential": "off", "signer": signer}
        self.assertEqual(presentation["revocation_details"], details)
        self.assertNotIn("issuing_country_unbound", presentation)
        assert presentation["valid_until"] is not None
        self.assertGreater(presentation["valid_until"], expected["now"])
        with self.assertRaises(idgate.IdgateError) as raised:
            trust.verify(token, **{**expected, "nonce": "another"}, **more)
        self.assertEqual(raised.exception.kind, "refused")
        self.assertEqual(lib.idgate_in_use(), before)
        return presentation["claims"]

    def test_one_sd_jwt_vc_is_verified(self) -> None:
        claims = self.verified("jwks", format="vc+sd-jwt", claims=["given_name"])
        self.assertEqual(list(claims), ["given_name"])

    def test_one_mdoc_is_verified(self) -> None:
        claims = self.verified(
            "roots",
            format="mso_mdoc",
            doc_type="org.iso.18013.5.1.mDL",
            namespace="org.iso.18013.5.1",
            claims=["family_name"],
        )
        self.assertEqual(list(claims), ["family_name"])

    def test_roots_for_sd_jwts_and_for_mdocs_never_stand_for_one_another(self) -> None:
        trust, token, expected = self.captured("roots")
        given = next(case["trust"][0] for case in cases.load() if "roots" in case["trust"][0])
        issuer_id, root = given["issuer_id"], cases.decode(given["roots"][0])
        trust.add_issuer(issuer_id, revocation="off")
        trust.add_sd_jwt_roots(issuer_id, root)
        trust.add_sd_jwt_signers(issuer_id, root, test_only=True)
        more = {"doc_type": "org.iso.18013.5.1.mDL", "namespace": "org.iso.18013.5.1"}
        with self.assertRaises(idgate.IdgateError) as raised:
            trust.verify(token, **expected, **more, format="mso_mdoc", claims=["family_name"])
        self.assertEqual(raised.exception.code, "untrusted_issuer")

    def test_an_entry_says_what_queries_take_from_it(self) -> None:
        with idgate.Trust() as trust:
            paths = {"city": ("address", "locality"), "all": ["nationalities", None]}
            trust.add_issuer(ISSUER, claim_paths=paths, aki=True, device_response_documents="any")
            with self.assertRaises(idgate.IdgateError) as raised:
                trust.add_issuer(ISSUER, claim_paths={"city": []})
            self.assertEqual(raised.exception.kind, "config")

    def test_an_entry_says_what_certificates_of_sd_jwt_issuers_are_for(self) -> None:
        with idgate.Trust() as trust:
            trust.add_issuer(ISSUER, sd_jwt_ekus=["1.2.3", "2.5.29.37.0"])
            with self.assertRaises(idgate.IdgateError) as raised:
                trust.add_issuer(ISSUER, sd_jwt_ekus=["one.two"])
            self.assertEqual(raised.exception.kind, "config")

    def test_a_status_root_vouches_for_no_credential(self) -> None:
        trust, _, _ = self.captured("roots")
        given = next(case["trust"][0] for case in cases.load() if "roots" in case["trust"][0])
        issuer_id, root = given["issuer_id"], cases.decode(given["roots"][0])
        trust.add_status_roots(issuer_id, root, test_only=True)
        trust.add_issuer(issuer_id, status_max_age_days=30, issuing_country_unbound=True)
        with self.assertRaises(idgate.IdgateError) as raised:
            trust.add_issuer(issuer_id, status_max_age_days=0)
        self.assertIn("status_max_age_days", str(raised.exception))

    def test_bytes_are_taken_whole_from_any_view_and_from_nothing_else(self) -> None:
        pointer, length = _abi.data(memoryview(array("I", [1, 2])))
        self.assertEqual((length, len(_abi.ffi.buffer(pointer, length))), (8, 8))
        with self.assertRaises(TypeError):
            _abi.data(5)  # type: ignore[arg-type]

    def test_a_time_beyond_datetimes_is_the_last_one(self) -> None:
        self.assertEqual(idgate.instant(2**64 - 1), datetime.max.replace(tzinfo=timezone.utc))


class SignerTest(unittest.TestCase):
    def request_object(self, signer: idgate.Signer, trust: idgate.Trust) -> list[str]:
        verifier = idgate.Verifier(cases.BASE_URL, trust, signer=signer)
        signer.close()
        made = verifier.create_session(REQUEST, now=NOW)
        query = parse_qs(urlsplit(made.session.info(NOW).qr_code_url or "").query)
        self.assertEqual(set(query), {"client_id", "request_uri"})
        jwt, transition = verifier.request_object(made.session, wallet_nonce="w", now=NOW)
        assert transition is not None
        self.assertEqual(transition.session.info(NOW).status, "PENDING")
        _, again = verifier.request_object(transition.session, now=NOW)
        self.assertIsNone(again)
        return jwt.split(".")

    def trust(self) -> idgate.Trust:
        trust = idgate.Trust()
        trust.add_issuer(ISSUER)
        trust.add_jwk(ISSUER, idgate.Signer(cases.BASE_URL, b"\x07" * 32).public_key())
        return trust

    def test_a_key_in_memory_signs_and_is_published(self) -> None:
        signer = idgate.Signer(cases.BASE_URL, idgate.generate_signing_key())
        key = signer.public_key()
        header, claims, _ = (
            cases.decode(part) for part in self.request_object(signer, self.trust())
        )
        document = idgate.did_document(cases.BASE_URL, [key])
        self.assertEqual(document["id"], "did:web:gateway.example")
        self.assertEqual(json.loads(header)["kid"], document["verificationMethod"][0]["id"])
        self.assertEqual(json.loads(claims)["wallet_nonce"], "w")
        published = idgate.jwks(cases.BASE_URL, [key])["keys"]
        self.assertEqual([one["kid"] for one in published], document["authentication"])
        self.assertNotIn("d", published[0])

    def test_a_function_signs_and_may_fail(self) -> None:
        key = idgate.Signer(cases.BASE_URL, b"\x07" * 32).public_key()
        seen: list[bytes] = []

        def sign(data: bytes) -> bytes:
            seen.append(data)
            return b"\x01" * 64

        signer = idgate.Signer.external(cases.BASE_URL, key, sign)
        parts = self.request_object(signer, self.trust())
        self.assertEqual(seen[0], f"{parts[0]}.{parts[1]}".encode())
        self.assertEqual(cases.decode(parts[2]), b"\x01" * 64)
        function = weakref.ref(sign)
        del signer, sign
        gc.collect()
        self.assertIsNone(function(), "nobody can sign with it any more")
        short = idgate.Signer.external(cases.BASE_URL, key, lambda data: b"short")
        with self.assertRaises(idgate.IdgateError) as raised:
            self.request_object(short, self.trust())
        self.assertEqual(raised.exception.kind, "unavailable")


class WebhookTest(unittest.TestCase):
    SECRET = "whsec_" + base64.b64encode(b"secret of 32 bytes for a test!!!").decode()
    BODY = b'{"sessionId":"ses_1"}'

    def headers(self) -> dict[str, str]:
        return idgate.webhook.headers(self.SECRET, id="whf_1", number=1, body=self.BODY, now=NOW)

    def test_both_signatures_are_believed(self) -> None:
        headers = self.headers()
        own = {name: headers[name] for name in ("X-Timestamp", "X-Signature")}
        for given in (headers, own):
            idgate.webhook.verify(self.SECRET, given, self.BODY, now=NOW)

    def test_what_is_changed_late_or_missing_is_refused(self) -> None:
        headers = self.headers()
        late = NOW + timedelta(minutes=5, seconds=1)
        for given, body, now in (
            (headers, self.BODY + b" ", NOW),
            (headers, self.BODY, late),
            ({}, self.BODY, NOW),
            ({**headers, "webhook-signature": "v1,"}, self.BODY, NOW),
        ):
            with self.assertRaises(idgate.IdgateError) as raised:
                idgate.webhook.verify(self.SECRET, given, body, now=now)
            self.assertEqual(raised.exception.code, "invalid_webhook")


class ThreadTest(unittest.TestCase):
    def test_threads_verify_at_once(self) -> None:
        case = good_case()
        before = threading.active_count()
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(lambda _: cases.outcome(case), range(64)))
        self.assertTrue(all(outcome == case["expected"] for outcome in outcomes))
        self.assertEqual(threading.active_count(), before)


if __name__ == "__main__":
    unittest.main()
