"""The API: sessions, errors, handles, signers, webhooks, threads."""

from __future__ import annotations

import asyncio
import base64
import copy
import dataclasses
import gc
import json
import os
import pickle
import re
import threading
import unittest
import weakref
from array import array
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlencode, urlsplit

import cases
import idgate
from idgate import _abi, _checks
from idgate._native import lib

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
ISSUER = "https://issuer.example"
VECTORS = Path(os.environ.get("IDGATE_VECTORS", Path(__file__).parents[4] / "shared" / "vectors"))
VICAL = VECTORS / "vical" / "aamva-vical-2025-11-18.cbor"
FORM = "application/x-www-form-urlencoded"
MDL = {"doc_type": "org.iso.18013.5.1.mDL", "namespace": "org.iso.18013.5.1"}
REQUEST: idgate.Request = {
    "credentials": [{"format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}],
    "profiles": ["draft"],
}


def good_case() -> dict[str, Any]:
    """A posted answer, not one from a page."""
    verified = (case for case in cases.load() if case["expected"].get("status") == "VERIFIED")
    return next(case for case in verified if "content_type" in case)


class SessionTest(unittest.TestCase):
    def setUp(self) -> None:
        self.verifier = cases.verifier(good_case())

    def test_a_session_is_made_stored_and_expires(self) -> None:
        made = self.verifier.create_session(REQUEST, mode="live", tenant="shop", now=NOW)
        self.assertEqual(made.from_revision, 0)
        session = idgate.Session.restore(made.session.snapshot())
        info = session.info(NOW)
        self.assertEqual((info.status, info.tenant, info.mode), ("PENDING", "shop", "live"))
        self.assertEqual(info.expires_at - info.created_at, timedelta(minutes=5))
        self.assertIn(idgate.ExpireAt(info.expires_at), made.effects)
        self.assertTrue(info.qr_code_url and info.qr_code_url.startswith("openid4vp://?"))
        self.assertEqual(set(info.deep_links), {"openid4vp", "eudi-wallet", "haip"})
        self.assertIsNone(session.due(NOW))
        expired = session.due(info.expires_at)
        assert expired is not None
        self.assertEqual(expired.from_revision, 1)
        later = expired.session.info(info.expires_at)
        self.assertEqual((later.status, later.reason), ("EXPIRED", "session_expired"))
        self.assertIsNone(later.qr_code_url)
        (published,) = (effect for effect in expired.effects if isinstance(effect, idgate.PublishStatus))
        self.assertEqual((published.status, published.reason), ("EXPIRED", "session_expired"))
        self.assertEqual(published.occurred_at, info.expires_at)

    def test_a_mapping_and_json_make_the_same_session(self) -> None:
        text = json.dumps(REQUEST)
        for request in (REQUEST, text, text.encode(), bytearray(text.encode())):
            info = self.verifier.create_session(request, mode="test", now=NOW).session.info(NOW)
            self.assertEqual((info.mode, [offer.profile for offer in info.offers]), ("test", ["draft"]))
            self.assertEqual(info.offers[0].handle, info.id)

    def test_the_wallets_error_is_recorded(self) -> None:
        for said, told in (("access_denied", "access_denied"), ("its own words", "other")):
            session = self.verifier.create_session(REQUEST, mode="live", now=NOW).session
            info = session.info(NOW)
            assert info.qr_code_url is not None
            self.assertIsNone(info.wallet_error)
            (state,) = parse_qs(urlsplit(info.qr_code_url).query)["state"]
            body = urlencode({"state": state, "error": said}).encode()
            answer = idgate.Answer(to=info.id, body=body, content_type=FORM)
            decision = self.verifier.decide(session, answer, cases.Kept(), now=NOW)
            self.assertEqual((decision.reply.status, decision.reason), (200, "wallet_error"))
            self.assertEqual(decision.wallet_error, told)
            self.assertEqual(decision.session.info(NOW).wallet_error, told)

    def test_a_result_lives_for_30_seconds_and_survives_a_restart(self) -> None:
        case, kept = good_case(), cases.Kept()
        now = cases.at(case["now_ms"])
        session = idgate.Session.restore(cases.decode(case["session"]))
        decision = self.verifier.decide(session, cases.answer(case, session), kept, now=now)
        self.assertEqual((decision.reply.status, decision.status), (200, "VERIFIED"))
        # The answer is for a draft.
        self.assertEqual(json.loads(decision.reply.body), {"status": "ok"})
        self.assertEqual(kept.transitions, [decision.transition])
        settled, reader = decision.session, idgate.Backend()
        result = settled.result_snapshot(now)
        assert result is not None
        again = idgate.Session.restore(settled.snapshot(), result)
        self.assertEqual(again.result(reader, now), settled.result(reader, now))
        for session, at in (
            (again, now + timedelta(seconds=30)),
            (idgate.Session.restore(settled.snapshot()), now),
        ):
            with self.assertRaises(idgate.Withheld) as raised:
                session.result(reader, at)
            self.assertEqual(raised.exception.reason, "redacted")

    def test_a_bad_request_names_its_field(self) -> None:
        with self.assertRaises(idgate.RequestInvalid) as raised:
            wrong: Any = {"credentials": [{"format": "x"}]}
            self.verifier.create_session(wrong, mode="live")
        error = raised.exception
        self.assertTrue(error.path.startswith("credentials[0]"), error.path)
        self.assertEqual(str(error), f"{error.path}: {error.rule}")

    def test_mode_has_no_default(self) -> None:
        silent: Any = self.verifier
        for work in (lambda: silent.create_session(REQUEST), lambda: silent.compare_registration("x", REQUEST)):
            with self.assertRaisesRegex(TypeError, "'mode'"):
                work()

    def test_times_need_a_zone(self) -> None:
        with self.assertRaises(ValueError):
            self.verifier.create_session(REQUEST, mode="live", now=datetime(2026, 1, 1))


class HandleTest(unittest.TestCase):
    def test_an_issuer_is_copied_and_pickled(self) -> None:
        file = idgate.ListFile(b"list", signed_below=b"ca", allow_stale=True, now=NOW)
        issuer = idgate.Issuer(ISSUER, iaca_roots=b"root", vical=file, test_only=True)
        for copied in (copy.copy(issuer), copy.deepcopy(issuer), pickle.loads(pickle.dumps(issuer))):
            self.assertEqual((copied.id, copied.entry, copied.test_only), (issuer.id, issuer.entry, True))
            (_, _, again) = copied.material[1]
            self.assertEqual((again.content, again.signed_below, again.now), (b"list", b"ca", NOW))
            with self.assertRaises(AttributeError):
                copied.id = "another"

    def test_a_handle_is_neither_copied_nor_pickled(self) -> None:
        with idgate.Trust() as trust:
            for work in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "this Trust cannot be copied or pickled: pass it on as it is"):
                    work(trust)

    def test_the_last_handle_is_released_at_interpreter_exit(self) -> None:
        trust = idgate.Trust()
        with mock.patch.object(_abi, "ffi", None):
            trust.__del__()
        with self.assertRaises(ValueError):
            trust.pointer

    def test_a_closed_object_is_a_value_error(self) -> None:
        trust = idgate.Trust([idgate.Issuer(ISSUER)])
        verifier = idgate.Verifier(cases.BASE_URL, trust, profiles=["1.0"])
        session = idgate.Session.restore(cases.decode(good_case()["session"]))
        for handle in (trust, verifier, session):
            handle.close()
            handle.close()
        expected = {"issuer_id": ISSUER, "client_id": "c", "nonce": "n"}
        for name, work in (
            ("Trust", lambda: trust.verify("x", format="dc+sd-jwt", **expected)),
            ("Trust", lambda: idgate.Verifier(cases.BASE_URL, trust, profiles=["1.0"])),
            ("Verifier", lambda: verifier.create_session(REQUEST, mode="live")),
            ("Session", lambda: session.info()),
        ):
            with self.assertRaisesRegex(ValueError, f"^this {name} is closed$"):
                work()

    def test_an_empty_trust_refuses_everything(self) -> None:
        with idgate.Trust() as trust, self.assertRaises(idgate.Refused) as raised:
            trust.verify("x", format="dc+sd-jwt", issuer_id=ISSUER, client_id="c", nonce="n")
        self.assertEqual(raised.exception.reason, "untrusted_issuer")


class TrustTest(unittest.TestCase):
    def test_unusable_material_names_issuer_and_field(self) -> None:
        given = good_case()["trust"][0]["jwks"][0]
        for field, value in (
            ("jwk", "{"),
            ("jwk", [given, {"kty": "EC"}]),
            ("public_key_pem", "-----BEGIN PUBLIC KEY-----"),
            ("iaca_roots", b"not a certificate"),
            ("mdoc_signers", b"not a certificate"),
            ("x5c_roots", [b"not a certificate"]),
            ("x5c_signers", b""),
            ("status_roots", b"not a certificate"),
            ("crls", b"not a list"),
            ("vical", idgate.ListFile(b"not a list")),
            ("master_list", [idgate.ListFile(b"not a list", signed_below=b"")]),
            ("trusted_list", idgate.ListFile("not a list")),
            ("claim_paths", {"city": []}),
            ("x5c_ekus", ["one.two"]),
            ("mdoc_ekus", ["one.two"]),
            ("status_max_age_days", 0),
            ("revocation", "sometimes"),
            ("on_unknown_revocation", "sometimes"),
            ("device_response_documents", "two"),
        ):
            with self.subTest(field), self.assertRaises(idgate.Misconfigured) as raised:
                idgate.Trust([idgate.Issuer(ISSUER, **{field: value})])
            error = raised.exception
            self.assertEqual((error.issuer, error.field), (ISSUER, field))
            self.assertTrue(str(error).startswith(f"{ISSUER}: {field}"), error)

    def test_the_index_of_one_of_several_is_in_the_text(self) -> None:
        root = cases.decode(next(case["trust"][0] for case in cases.load() if "roots" in case["trust"][0])["roots"][0])
        with self.assertRaisesRegex(idgate.Misconfigured, re.escape(f"{ISSUER}: iaca_roots[1]: ")):
            idgate.Trust([idgate.Issuer(ISSUER, iaca_roots=[root, b"not a certificate"])])

    def test_every_argument_of_an_issuer_is_used(self) -> None:
        paths = {"city": ("address", "locality"), "all": ["nationalities", None]}
        issuer = idgate.Issuer(
            ISSUER,
            vcts=("urn:eudi:pid:1",),
            doc_types=["org.iso.18013.5.1.mDL"],
            namespaces=["org.iso.18013.5.1"],
            claim_paths=paths,
            default_claims=["given_name"],
            iss="https://other.example",
            countries=["LU"],
            mdoc_ekus=["1.0.18013.5.1.2"],
            x5c_ekus=["1.2.3", "2.5.29.37.0"],
            revocation="if_published",
            on_unknown_revocation="tenant",
            status_max_age_days=30,
            named_in_queries=True,
            device_response_documents="any",
            issuing_country_unbound=True,
            test_only=True,
        )
        with idgate.Trust([issuer]) as trust:
            self.assertEqual(trust.lists, ())


    def test_trust_and_its_issuers_are_immutable(self) -> None:
        issuer, file = idgate.Issuer(ISSUER), idgate.ListFile(b"x")
        for value, name in ((issuer, "id"), (issuer, "more"), (file, "content"), (idgate.Trust([issuer]), "version")):
            with self.assertRaises(AttributeError):
                setattr(value, name, "another")
            with self.assertRaises(AttributeError):
                delattr(value, name)

    def test_an_issuer_is_named_once(self) -> None:
        with self.assertRaisesRegex(idgate.Misconfigured, "id: is given twice") as raised:
            idgate.Trust([idgate.Issuer(ISSUER), idgate.Issuer(ISSUER)])
        self.assertEqual((raised.exception.issuer, raised.exception.field), (ISSUER, "id"))

    @unittest.skipUnless(VICAL.exists(), "no vectors")
    def test_a_list_of_certificates_is_reported_on(self) -> None:
        aamva, content = "https://aamva.example", VICAL.read_bytes()

        def lists(**rules: Any) -> tuple[idgate.ListReport, ...]:
            file = idgate.ListFile(content, **rules)
            return idgate.Trust([idgate.Issuer(aamva, vical=file, test_only=True)]).lists

        self.assertEqual(lists(allow_stale=True), (idgate.ListReport(aamva, "vical", 14, ()),))
        with self.assertRaisesRegex(idgate.Misconfigured, "vical: is stale"):
            lists()
        with self.assertRaisesRegex(idgate.Misconfigured, "needs the CA of its signer"):
            idgate.Trust([idgate.Issuer(aamva, vical=idgate.ListFile(content, allow_stale=True))])


class PresentationTest(unittest.TestCase):
    def captured(self, kind: str, **entry: Any) -> tuple[idgate.Trust, str, dict[str, Any]]:
        """The vp_token of a wallet, and the terms of its request."""
        case = next(
            case
            for case in cases.load()
            if case["expected"].get("status") == "VERIFIED"
            and kind in case["trust"][0]
            and b"vp_token=" in cases.decode(case["body"])
            # OpenID4VP 1.0 has a map, here with one presentation.
            and b"vp_token=%7B" not in cases.decode(case["body"])
        )
        now = cases.at(case["now_ms"])
        token = parse_qs(cases.decode(case["body"]).decode())["vp_token"][0]
        info = idgate.Session.restore(cases.decode(case["session"])).info(now)
        request = parse_qs(urlsplit(info.qr_code_url or "").query)
        given = case["trust"][0]
        trust = idgate.Trust([cases.issuer(given, **{"revocation": "off", **entry})])
        expected = {
            "issuer_id": given["issuer_id"],
            "client_id": request["client_id"][0],
            "nonce": request["nonce"][0],
            "mode": "test",
            "now": now,
        }
        if kind == "roots":
            way = {"response_uri": request["response_uri"][0], "profile": "draft"}
            expected |= {"format": "mso_mdoc", **MDL, **way, "claims": ["family_name"]}
        else:
            expected |= {"format": "dc+sd-jwt", "claims": ["given_name"]}
        return trust, token, expected

    def verified(self, kind: str) -> dict[str, Any]:
        trust, token, expected = self.captured(kind)
        before = lib.idgate_in_use()
        presentation = trust.verify(token, **expected)
        self.assertEqual(presentation.checks, ())
        told = trust.verify(token, **expected, checks=True)
        self.assertTrue(told.checks and all(check.passed for check in told.checks))
        self.assertEqual(dataclasses.replace(told, checks=()), presentation)
        signer = "not_published" if kind == "jwks" else "off"
        self.assertEqual(presentation.revocation, "off")
        self.assertEqual(presentation.revocation_details, idgate.RevocationDetails("off", signer))
        self.assertFalse(presentation.issuing_country_unbound)
        assert presentation.valid_until is not None
        self.assertGreater(presentation.valid_until, expected["now"])
        self.assertEqual(asyncio.run(trust.verify_async(token, **expected)), presentation)
        with self.assertRaises(idgate.Refused) as raised:
            trust.verify(token, **{**expected, "nonce": "another"})
        self.assertTrue(raised.exception.clause and raised.exception.check and raised.exception.hint)
        self.assertEqual(lib.idgate_in_use(), before)
        return presentation.claims

    def test_one_sd_jwt_vc_is_verified(self) -> None:
        self.assertEqual(list(self.verified("jwks")), ["given_name"])

    def test_one_mdoc_is_verified(self) -> None:
        self.assertEqual(list(self.verified("roots")), ["family_name"])

    def test_an_mdoc_needs_its_type_and_the_way_of_its_answer(self) -> None:
        trust, token, expected = self.captured("roots")
        for missing in ("doc_type", "namespace", "response_uri"):
            with self.assertRaisesRegex(TypeError, missing):
                trust.verify(token, **{name: value for name, value in expected.items() if name != missing})
        with self.assertRaisesRegex(TypeError, "not both"):
            trust.verify(token, **expected, origin="https://shop.example")

    def test_roots_for_sd_jwts_and_for_mdocs_are_separate(self) -> None:
        given = next(case["trust"][0] for case in cases.load() if "roots" in case["trust"][0])
        root = cases.decode(given["roots"][0])
        trust, token, expected = self.captured("roots", iaca_roots=(), x5c_roots=root, x5c_signers=root)
        with self.assertRaises(idgate.Refused) as raised:
            trust.verify(token, **expected)
        self.assertEqual(raised.exception.reason, "untrusted_issuer")

    def test_a_status_root_does_not_trust_credentials(self) -> None:
        given = next(case["trust"][0] for case in cases.load() if "roots" in case["trust"][0])
        root = cases.decode(given["roots"][0])
        trust, token, expected = self.captured("roots", iaca_roots=(), status_roots=root)
        with self.assertRaises(idgate.Refused) as raised:
            trust.verify(token, **expected)
        self.assertEqual(raised.exception.reason, "untrusted_issuer")

    def test_bytes_are_taken_whole_from_any_view_and_from_nothing_else(self) -> None:
        view = memoryview(array("I", [1, 2]))
        self.assertEqual(_checks.octets(view, "it"), bytes(view))
        for wrong in (5, None, ["x"]):
            with self.assertRaises(TypeError):
                _checks.octets(wrong, "it")

    def test_a_time_beyond_datetimes_is_the_last_one(self) -> None:
        self.assertEqual(_abi.instant(2**64 - 1), datetime.max.replace(tzinfo=timezone.utc))


class SignerTest(unittest.TestCase):
    def request_object(self, signer: idgate.Signer, trust: idgate.Trust) -> list[str]:
        verifier = idgate.Verifier(cases.BASE_URL, trust, signer=signer, profiles=["draft", "1.0"])
        signer.close()
        made = verifier.create_session(REQUEST, mode="live", now=NOW)
        query = parse_qs(urlsplit(made.session.info(NOW).qr_code_url or "").query)
        self.assertEqual(set(query), {"client_id", "request_uri"})
        handle = made.session.info(NOW).id
        asked = verifier.request_object(made.session, handle, wallet_nonce="w", now=NOW)
        assert asked.transition is not None
        fetched = asked.transition.session
        self.assertEqual(fetched.info(NOW).status, "PENDING")
        self.assertEqual(asked.reply.content_type, "application/oauth-authz-req+jwt")
        self.assertIsNone(verifier.request_object(fetched, handle, now=NOW).transition)
        form = verifier.request_object(fetched, handle, form=b"wallet_nonce=w", content_type=FORM, now=NOW)
        self.assertEqual(form.jwt.split(".")[1], asked.jwt.split(".")[1])
        return asked.jwt.split(".")

    def trust(self) -> idgate.Trust:
        key = idgate.Signer(cases.BASE_URL, b"\x07" * 32).public_key()
        return idgate.Trust([idgate.Issuer(ISSUER, jwk=key)])

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
        with self.assertRaises(idgate.NotAvailable) as raised:
            self.request_object(short, self.trust())
        self.assertEqual((raised.exception.retry_after, raised.exception.reply.status), (1, 503))


class WebhookTest(unittest.TestCase):
    SECRET = "whsec_" + base64.b64encode(b"secret of 32 bytes for a test!!!").decode()
    BODY = b'{"sessionId":"ses_1"}'

    def setUp(self) -> None:
        self.webhook = idgate.Webhook(self.SECRET)
        self.headers = self.webhook.headers(self.BODY, id="whf_1", number=1, now=NOW)

    def test_both_signatures_are_accepted_in_any_header_case(self) -> None:
        own = {name: self.headers[name] for name in ("X-Timestamp", "X-Signature")}
        upper = {name.upper(): value for name, value in self.headers.items()}
        for given in (self.headers, own, upper, {**self.headers, "host": "shop.example"}):
            self.assertEqual(self.webhook.verify(given, self.BODY, now=NOW), {"sessionId": "ses_1"})

    def test_a_replaced_secret_signs_as_well(self) -> None:
        other = idgate.Webhook("whsec_" + base64.b64encode(b"a secret of thirty-two bytes too").decode())
        headers = other.headers(self.BODY, id="whf_1", number=1, previous_secret=self.SECRET, now=NOW)
        self.assertEqual(self.webhook.verify(headers, self.BODY, now=NOW), {"sessionId": "ses_1"})

    def test_changed_late_and_incomplete_notifications_are_refused(self) -> None:
        late = NOW + timedelta(minutes=5, seconds=1)
        for given, body, now in (
            (self.headers, self.BODY + b" ", NOW),
            (self.headers, self.BODY, late),
            ({}, self.BODY, NOW),
            ({**self.headers, "webhook-signature": "v1,"}, self.BODY, NOW),
        ):
            with self.assertRaises(idgate.Refused) as raised:
                self.webhook.verify(given, body, now=now)
            self.assertEqual(raised.exception.code, "invalid_webhook")
        patient = idgate.Webhook(self.SECRET, tolerance=timedelta(minutes=6))
        self.assertEqual(patient.verify(self.headers, self.BODY, now=late), {"sessionId": "ses_1"})

    def test_a_refusal_says_which_check_failed_and_which_clause_demands_it(self) -> None:
        own = {name: self.headers[name] for name in ("X-Timestamp", "X-Signature")}
        standard, gateway = "Standard Webhooks, signature scheme", "idgate webhooks, X-Signature"
        for given, body, clause in (
            (self.headers, b"{}", standard),
            (own, b"{}", gateway),
            ({}, self.BODY, gateway),
            ({"webhook-signature": "v1,"}, self.BODY, standard),
            (self.webhook.headers(b"[]", id="whf_1", number=1, now=NOW), b"[]", standard),
        ):
            with self.assertRaises(idgate.Refused) as raised:
                self.webhook.verify(given, body, now=NOW)
            refused = raised.exception
            self.assertEqual((refused.code, refused.clause), ("invalid_webhook", clause))
            self.assertEqual(refused.check, "the sender signed these bytes a short time ago")
        node = (Path(__file__).parents[2] / "node" / "src" / "webhook.js").read_text()
        for text in (standard, gateway, str(refused.check)):
            self.assertIn(f"'{text}'", node)

    def test_a_header_that_is_there_twice_in_another_case_is_refused(self) -> None:
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            with self.assertRaisesRegex(idgate.Refused, f"the header {name} is repeated"):
                self.webhook.verify({**self.headers, name.title(): "another"}, self.BODY, now=NOW)

    def test_a_secret_that_cannot_be_used_is_misconfigured_at_once(self) -> None:
        for secret in ("x", "", "whsec_", "whsec_!"):
            with self.assertRaises(idgate.Misconfigured) as raised:
                idgate.Webhook(secret)
            self.assertEqual(raised.exception.field, "secret")

    def test_the_secret_is_in_no_repr(self) -> None:
        self.assertNotIn(self.SECRET, repr(self.webhook))


class ThreadTest(unittest.TestCase):
    def test_threads_verify_in_parallel(self) -> None:
        case = good_case()
        before = threading.active_count()
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(lambda _: cases.outcome(case), range(64)))
        self.assertTrue(all(outcome == case["expected"] for outcome in outcomes))
        self.assertEqual(threading.active_count(), before)


if __name__ == "__main__":
    unittest.main()
