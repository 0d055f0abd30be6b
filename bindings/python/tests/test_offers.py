"""Several profiles: offers, the redirect of the browser, and the identity of a verifier."""

from __future__ import annotations

import base64
import json
import unittest
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import cases
import idgate

ISSUER = "https://issuer.example"
REQUEST: idgate.Request = {
    "credentials": [{"format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}]
}


class OfferTest(unittest.TestCase):
    def setUp(self) -> None:
        given = cases.certified()
        self.now = cases.at(given["now_ms"])
        self.signer = idgate.Signer(cases.BASE_URL, cases.decode(given["key"]))
        self.chain = cases.decode(given["chain"])
        issuer = idgate.Issuer(ISSUER, vcts=["urn:eudi:pid:1"], jwk=self.signer.public_key())
        self.trust = idgate.Trust([issuer])

    def offer(self, verifier: idgate.Verifier) -> tuple[idgate.Session, idgate.Offer]:
        request: idgate.Request = {**REQUEST, "redirect_uri": "https://shop.example/back"}
        session = verifier.create_session(request, mode="live", now=self.now).session
        (offer,) = session.info(self.now).offers
        return session, offer

    def test_a_certificate_names_the_verifier_and_is_in_its_requests(self) -> None:
        certified = self.signer.certified(self.chain, now=self.now)
        verifier = idgate.Verifier(
            cases.BASE_URL,
            self.trust,
            signer=[self.signer, certified],
            profiles=["haip", "draft"],
            request_uri_method="post",
        )
        for signer in (self.signer, certified):
            signer.close()
        session, offer = self.offer(verifier)
        self.assertEqual((offer.handle, offer.profile), (session.info(self.now).id, "haip"))
        self.assertTrue(offer.client_id.startswith("x509_hash:"), offer.client_id)
        query = parse_qs(urlsplit(offer.deep_links["haip"]).query)
        self.assertEqual(query["client_id"], [offer.client_id])
        self.assertEqual(query["request_uri"], [offer.request_uri])
        self.assertEqual(query["request_uri_method"], ["post"])
        jwt = verifier.request_object(session, offer.handle, wallet_nonce="w", now=self.now).jwt
        header, claims = (json.loads(cases.decode(part)) for part in jwt.split(".")[:2])
        self.assertEqual(header["x5c"], [base64.b64encode(self.chain).decode()])
        self.assertEqual((claims["client_id"], claims["wallet_nonce"]), (offer.client_id, "w"))
        self.assertEqual(claims["response_uri"], offer.response_uri)
        with self.assertRaises(idgate.NotAnAnswer) as raised:
            verifier.request_object(session, "off_1", now=self.now)
        self.assertEqual((raised.exception.code, raised.exception.http_status), ("not_found", 404))
        with self.assertRaises(idgate.NotAnAnswer):
            answer = idgate.Answer(to="off_1", body=b"vp_token=x", content_type=None)
            verifier.begin(session, answer, now=self.now)

    def test_a_request_names_its_profiles_and_gets_an_offer_for_each(self) -> None:
        certified = self.signer.certified(self.chain, now=self.now)
        both: idgate.Request = {**REQUEST, "profiles": ["draft", idgate.Profile.V1_0]}
        verifier = idgate.Verifier(
            cases.BASE_URL, self.trust, signer=[self.signer, certified], profiles=["1.0", "draft"]
        )
        session = verifier.create_session(both, mode="live", now=self.now).session
        own, other = session.info(self.now).offers
        self.assertEqual((own.profile, other.profile), ("draft", "1.0"))
        self.assertEqual(own.handle, session.info(self.now).id)
        self.assertNotEqual(other.handle, own.handle)
        self.assertTrue(other.response_uri.endswith(other.handle))
        jwt = verifier.request_object(session, other.handle, now=self.now).jwt
        self.assertIn("dcql_query", json.loads(cases.decode(jwt.split(".")[1])))
        without = idgate.Verifier(cases.BASE_URL, self.trust, profiles=["1.0"])
        back: Any = {**REQUEST, "redirect_uri": "https://shop.example/back"}
        for profile in ("haip", "draft"):
            with self.assertRaises(idgate.RequestInvalid) as raised:
                without.create_session({**back, "profile": profile}, mode="live", now=self.now)
            self.assertEqual(raised.exception.code, "unsupported_profile")
        # A profile that no session could have is refused immediately.
        with self.assertRaises(idgate.Misconfigured) as early:
            idgate.Verifier(cases.BASE_URL, self.trust, profiles=["1.0", "haip"])
        self.assertIn("haip, which needs a signer with a certificate", str(early.exception))

    def test_a_browser_reads_the_result_with_the_code_of_the_redirect(self) -> None:
        haip, now = verified("haip")
        assert haip.redirect_uri is not None
        (code,) = parse_qs(urlsplit(haip.redirect_uri).query)["response_code"]
        for wrong, reason in (
            (None, "response_code_missing"),
            ("", "response_code_wrong"),
            ("another", "response_code_wrong"),
            (code[:-1], "response_code_wrong"),
        ):
            with self.assertRaises(idgate.Withheld) as raised:
                haip.session.result(idgate.Browser(response_code=wrong), now)
            self.assertEqual(raised.exception.reason, reason)
        shown = haip.session.result(reader=idgate.Browser(response_code=code), now=now)
        self.assertEqual(shown, haip.session.result(idgate.Backend(), now))
        with self.assertRaises(idgate.Withheld) as raised:
            haip.session.result(idgate.Browser(response_code=code), now + timedelta(seconds=30))
        self.assertEqual(raised.exception.reason, "redacted")
        by_value, now = verified("1.0 by value")
        self.assertTrue(by_value.session.result(idgate.Browser(response_code=None), now).claims)

    def registration(self, claim: str) -> str:
        """Valid for a minute, and not signed by a registrar, which only wallets would check."""
        registered = {
            "format": "dc+sd-jwt",
            "meta": {"vct_values": ["urn:eudi:pid:1"]},
            "claim": [{"path": [claim]}],
        }
        begin = int(self.now.timestamp())
        payload = {"sub": "VATUT-123", "iat": begin, "exp": begin + 60, "credentials": [registered]}
        parts = ({"alg": "ES256", "typ": "rc-wrp+jwt"}, payload)
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
        return ".".join([*(part.rstrip("=") for part in encoded), "c2ln"])

    def test_a_registration_certificate_goes_to_wallets_and_excess_claims_are_reported(self) -> None:
        certified = self.signer.certified(self.chain, now=self.now)
        registration, later = self.registration("given_name"), self.now + timedelta(minutes=1)
        told = certified.check_registration(registration, now=self.now)
        self.assertEqual((told.subject, told.compared), ("VATUT-123", True))
        self.assertEqual((told.issued_at, told.expires_at), (self.now, later))
        for refused in (
            lambda: certified.check_registration(registration, now=later),
            lambda: certified.check_registration("a.b.c", now=self.now),
            lambda: self.signer.check_registration(registration, now=self.now),
        ):
            with self.assertRaises(idgate.Misconfigured):
                refused()
        verifier = idgate.Verifier(
            cases.BASE_URL,
            self.trust,
            signer=[self.signer, certified],
            profiles=["haip", "draft"],
        )
        request: idgate.Request = {**REQUEST, "redirect_uri": "https://shop.example/back"}
        compared = verifier.compare_registration(registration, request, mode="live", now=self.now)
        self.assertEqual(compared, idgate.Comparison(sent=True, expired=False, beyond=()))
        more: dict[str, Any] = {"registration": registration, "strict": True}
        session = verifier.create_session(request, mode="live", **more, now=self.now).session
        jwt = verifier.request_object(session, session.info(self.now).id, now=self.now).jwt
        claims = json.loads(cases.decode(jwt.split(".")[1]))
        sent = [{"format": "registration_cert", "data": registration}]
        self.assertEqual(claims["verifier_info"], sent)
        other = self.registration("family_name")
        compared = verifier.compare_registration(other, request, mode="live", now=self.now)
        self.assertEqual(compared.beyond, ("given_name of urn:eudi:pid:1",))
        verifier.create_session(request, mode="live", registration=other, now=self.now)
        draft: idgate.Request = {**REQUEST, "profile": "draft"}
        self.assertFalse(verifier.compare_registration(other, draft, mode="live", now=self.now).sent)
        expired = verifier.compare_registration(registration, request, mode="live", now=later)
        self.assertEqual((expired.sent, expired.expired), (False, True))
        for code, given, now in (
            ("invalid_request", other, self.now),
            ("unsupported_profile", registration, later),
        ):
            with self.assertRaises(idgate.RequestInvalid) as raised:
                verifier.create_session(request, mode="live", registration=given, strict=True, now=now)
            self.assertEqual(raised.exception.code, code)

    def test_openid4vp_1_0_goes_by_value_without_a_signer(self) -> None:
        verifier = idgate.Verifier(cases.BASE_URL, self.trust, profiles=["1.0"])
        session, offer = self.offer(verifier)
        self.assertEqual((offer.profile, offer.request_uri), ("1.0", None))
        query = parse_qs(urlsplit(session.info(self.now).qr_code_url or "").query)
        self.assertIn("dcql_query", query)
        self.assertEqual(query["response_mode"], ["direct_post"])
        encrypted = idgate.Verifier(
            cases.BASE_URL, self.trust, profiles=["1.0"], response_mode="direct_post.jwt"
        )
        _, offer = self.offer(encrypted)
        self.assertIn("response_mode=direct_post.jwt", offer.deep_links["openid4vp"])

    def test_options_that_do_not_fit_together_are_refused(self) -> None:
        certified = self.signer.certified(self.chain, now=self.now)
        other = idgate.Signer(cases.BASE_URL, idgate.generate_signing_key())
        san: dict[str, Any] = {"profiles": ["1.0"], "client_id": "x509_san_dns"}
        idgate.Verifier(cases.BASE_URL, self.trust, signer=certified, **san)
        for refused in (
            lambda: other.certified(self.chain, now=self.now),
            lambda: self.signer.certified(self.chain, now=self.now - timedelta(days=9000)),
            lambda: idgate.Verifier("https://b.example", self.trust, signer=certified, **san),
            lambda: idgate.Verifier(cases.BASE_URL, self.trust, profiles=["1.0"], request_mode="jar"),
            lambda: idgate.Verifier(cases.BASE_URL, self.trust, profiles=["2.0"]),  # type: ignore
        ):
            with self.assertRaises(idgate.Misconfigured):
                refused()


def verified(title: str) -> tuple[idgate.Decision, datetime]:
    """The outcome of the first valid answer to a link with this in its title, and its time."""
    good = (case for case in cases.load() if case["expected"].get("status") == "VERIFIED")
    case = next(case for case in good if title in case["title"] and not case.get("dc_api"))
    now, session = cases.at(case["now_ms"]), idgate.Session.restore(cases.decode(case["session"]))
    answer = cases.answer(case, session)
    return cases.verifier(case).decide(session, answer, cases.Kept(), now=now), now


if __name__ == "__main__":
    unittest.main()
