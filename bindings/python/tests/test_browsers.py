"""Pages that ask their browser: the requests that they pass on, and the answers."""

from __future__ import annotations

import json
import unittest
from typing import Any

import cases
import idgate

ISSUER = "https://issuer.example"
SHOP = "https://shop.example"
REQUEST = {
    "credentials": [{"format": "dc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}],
    "redirect_uri": "https://shop.example/back",
}
PAGE = {**REQUEST, "dc_api": {"origins": [SHOP]}}


def good(protocol: str) -> dict[str, Any]:
    """The first verified case of that protocol."""
    verified = (case for case in cases.load() if case["expected"].get("status") == "VERIFIED")
    return next(case for case in verified if case.get("dc_api") and protocol in case["title"])


class BrowserTest(unittest.TestCase):
    def setUp(self) -> None:
        given = cases.certified()
        self.now = cases.at(given["now_ms"])
        self.signer = idgate.Signer(cases.BASE_URL, cases.decode(given["key"]))
        self.certified = self.signer.certified(cases.decode(given["chain"]), now=self.now)
        issuer = idgate.Issuer(ISSUER, vcts=["urn:eudi:pid:1"], jwk=self.signer.public_key())
        self.trust = idgate.Trust([issuer])

    def verifier(self, **options: Any) -> idgate.Verifier:
        signers = [self.signer, self.certified]
        return idgate.Verifier(cases.BASE_URL, self.trust, signer=signers, **options)

    def test_a_page_passes_on_what_the_verifier_signs(self) -> None:
        names = ["openid4vp-v1-multisigned", "openid4vp-v1-signed", "openid4vp-v1-unsigned"]
        for ways, protocols in (("multisigned", names), ("signed", names[1:]), ("unsigned", names[2:])):
            verifier = self.verifier(profiles=["haip"], dc_api=ways)
            session = verifier.create_session(PAGE, mode="live", now=self.now).session
            info = session.info(self.now)
            self.assertEqual(info.dc_api, idgate.BrowserOffer("haip", (SHOP,), tuple(protocols)))
            self.assertEqual(len(info.offers), 1)
            requests = verifier.dc_api_requests(session, now=self.now)["requests"]
            self.assertEqual([one["protocol"] for one in requests], protocols)
            data = requests[-1]["data"]
            self.assertEqual(data["response_mode"], "dc_api.jwt")
            for signed in requests[:-1]:
                request = signed["data"]["request"]
                text = request["payload"] if isinstance(request, dict) else request.split(".")[1]
                claims = json.loads(cases.decode(text))
                self.assertEqual(claims["nonce"], data["nonce"])
                self.assertEqual(claims["expected_origins"], [SHOP])

    def test_an_answer_from_a_page_gives_the_result(self) -> None:
        case = good("openid4vp-v1-unsigned")
        now, session = cases.at(case["now_ms"]), idgate.Session.restore(cases.decode(case["session"]))
        verifier, answer = cases.verifier(case), json.loads(cases.decode(case["body"]))
        asked = verifier.dc_api_requests(session, now=now)["requests"]
        self.assertIn(answer["protocol"], [one["protocol"] for one in asked])
        # The answer as JSON, or as a value.
        for given in (answer, json.dumps(answer), json.dumps(answer).encode()):
            brought = idgate.Answer.dc_api(given)
            decision = verifier.decide(session, brought, cases.Kept(), now=now)
            self.assertEqual((decision.status, decision.redirect_uri), ("VERIFIED", None))
        settled = decision.session
        result = settled.result(idgate.Browser(response_code=None), now)
        self.assertEqual(result.claims, case["expected"]["claims"])
        self.assertEqual(result.verification_details["origin"], SHOP)
        with self.assertRaises(idgate.NotAnAnswer) as raised:
            verifier.begin(settled, brought, now=now)
        self.assertEqual(raised.exception.code, "session_not_pending")
        with self.assertRaises(idgate.NotAnAnswer) as raised:
            verifier.dc_api_requests(settled, now=now)

    def test_mdocs_are_also_asked_for_by_org_iso_mdoc_which_an_answer_may_be_to(self) -> None:
        case = good("org-iso-mdoc")
        now, session = cases.at(case["now_ms"]), idgate.Session.restore(cases.decode(case["session"]))
        verifier, answer = cases.verifier(case), json.loads(cases.decode(case["body"]))
        info = session.info(now)
        assert info.dc_api is not None
        self.assertEqual((answer["protocol"], info.dc_api.protocols[-1]), ("org-iso-mdoc", "org-iso-mdoc"))
        last = verifier.dc_api_requests(session, now=now)["requests"][-1]
        self.assertEqual(last["protocol"], "org-iso-mdoc")
        self.assertEqual(sorted(last["data"]), ["deviceRequest", "encryptionInfo"])
        self.assertIn(b"org.iso.18013.5.1.mDL", cases.decode(last["data"]["deviceRequest"]))
        decision = verifier.decide(session, idgate.Answer.dc_api(answer), cases.Kept(), now=now)
        result = decision.session.result(idgate.Backend(), now)
        self.assertEqual(result.claims, case["expected"]["claims"])
        credential = result.verification_details["credentials"][0]
        self.assertEqual(credential["session_transcript"], "iso18013-7-annex-c")

    def test_a_new_session_asks_for_an_mdoc_by_org_iso_mdoc_unless_the_tenant_does_without(self) -> None:
        case = good("org-iso-mdoc")
        now, entry = cases.at(case["now_ms"]), next(one for one in case["trust"] if "roots" in one)
        trust = idgate.Trust([cases.issuer(entry, revocation="off")])
        verifier = idgate.Verifier(cases.BASE_URL, trust, profiles=["1.0"], dc_api="unsigned")
        mdl = {"format": "mso_mdoc", "issuer_id": entry["issuer_id"], "claims": ["family_name"]}
        for more, protocols in (
            ({}, ["openid4vp-v1-unsigned", "org-iso-mdoc"]),
            ({"iso_mdoc": False}, ["openid4vp-v1-unsigned"]),
        ):
            request = {"credentials": [mdl], "dc_api": {"origins": [SHOP], **more}}
            session = verifier.create_session(request, mode="test", now=now).session
            requests = verifier.dc_api_requests(session, now=now)["requests"]
            self.assertEqual([one["protocol"] for one in requests], protocols)

    def test_an_invalid_answer_changes_nothing(self) -> None:
        verifier = self.verifier(profiles=["1.0"], dc_api="unsigned")
        session = verifier.create_session(PAGE, mode="live", now=self.now).session
        protocol = "openid4vp-v1-unsigned"
        for code, answer in (
            ("invalid_response", {}),
            ("invalid_response", "not JSON"),
            ("invalid_response", {"protocol": "openid4vp-v1-signed", "data": {"response": "j"}}),
            ("decryption_failed", {"protocol": protocol, "data": {"response": "a.b.c.d.e"}}),
        ):
            with self.assertRaises(idgate.NotAnAnswer) as raised:
                verifier.begin(session, idgate.Answer.dc_api(answer), now=self.now)
            self.assertEqual(raised.exception.code, code)

    def test_without_dc_api_there_is_no_request_for_pages(self) -> None:
        verifier = self.verifier(profiles=["haip"])
        with self.assertRaises(idgate.RequestInvalid) as raised:
            verifier.create_session(PAGE, mode="live", now=self.now)
        self.assertEqual(raised.exception.code, "unknown_field")
        session = verifier.create_session(REQUEST, mode="live", now=self.now).session
        self.assertIsNone(session.info(self.now).dc_api)
        with self.assertRaises(idgate.NotAnAnswer):
            verifier.dc_api_requests(session, now=self.now)
        with self.assertRaises(idgate.Misconfigured):
            self.verifier(profiles=["draft"], dc_api="unsigned")


if __name__ == "__main__":
    unittest.main()
