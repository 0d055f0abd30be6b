"""pymdoccbor as mdoc issuer against a running gateway in test mode."""

import unittest

from gateway import Gateway
from mdoc import MDL, MDL_NAMESPACE, Authority, generate_key, present
from wallet import post_answer, read_request

ELEMENTS = {
    "family_name": "Mustermann",
    "birth_date": "1984-01-26",
    "age_over_18": True,
    "issuing_country": "UT",
}


class MdocTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority("https://iaca.example", "Utopia")
        cls.stranger = Authority("https://stranger.example", "Nowhere")
        cls.gateway = Gateway([cls.authority], test=True)
        cls.addClassCleanup(cls.gateway.stop)

    def setUp(self):
        self.device_key = generate_key()

    def invite(self, *claims):
        credential = {
            "format": "mso_mdoc",
            "issuer_id": self.authority.issuer_id,
            "doc_type": MDL,
            "namespace": MDL_NAMESPACE,
            "claims": claims,
        }
        session = self.gateway.create_session({"credentials": [credential]})
        return session["session_id"], read_request(session["qr_code_url"])

    def assert_refused(self, session_id, answer, reason):
        status, body = answer
        self.assertEqual((status, body["error"]), (400, "invalid_presentation"))
        result = self.gateway.session(session_id)
        self.assertEqual((result["status"], result["reason"]), ("FAILED", reason))
        self.assertNotIn("claims", result)

    def test_issued_by_pymdoccbor_is_verified(self):
        claims = ("family_name", "birth_date", "age_over_18")
        session_id, request = self.invite(*claims)
        issued = self.authority.issue(self.device_key, ELEMENTS)
        answer = post_answer(request, [present(issued, self.device_key, claims, request)])
        self.assertEqual(answer, (200, {"status": "ok"}))
        result = self.gateway.session(session_id)
        self.assertEqual(result["status"], "VERIFIED")
        expected = {name: ELEMENTS[name] for name in claims}
        self.assertEqual(result["claims"], {"credential_1": expected})
        [details] = result["verification_details"]["credentials"]
        self.assertEqual(details["holder_binding"], "device_signature")
        self.assertEqual(details["session_transcript"], "openid4vp-1.0")

    def test_a_proof_for_another_nonce_is_refused(self):
        session_id, request = self.invite("family_name")
        issued = self.authority.issue(self.device_key, ELEMENTS)
        another = request | {"nonce": "another"}
        shown = present(issued, self.device_key, ("family_name",), another)
        answer = post_answer(request, [shown])
        self.assert_refused(session_id, answer, "device_auth_invalid")

    def test_a_proof_by_another_device_is_refused(self):
        session_id, request = self.invite("family_name")
        issued = self.authority.issue(self.device_key, ELEMENTS)
        shown = present(issued, generate_key(), ("family_name",), request)
        answer = post_answer(request, [shown])
        self.assert_refused(session_id, answer, "device_auth_invalid")

    def test_an_unknown_root_is_refused(self):
        session_id, request = self.invite("family_name")
        issued = self.stranger.issue(self.device_key, ELEMENTS)
        shown = present(issued, self.device_key, ("family_name",), request)
        answer = post_answer(request, [shown])
        self.assert_refused(session_id, answer, "chain_invalid")

    def test_a_document_that_ended_before_it_was_signed_is_refused(self):
        # pymdoccbor always signs for the present, so it cannot make an expired document.
        session_id, request = self.invite("family_name")
        issued = self.authority.issue(self.device_key, ELEMENTS, days=-1)
        shown = present(issued, self.device_key, ("family_name",), request)
        answer = post_answer(request, [shown])
        self.assert_refused(session_id, answer, "malformed_presentation")

    def test_a_withheld_element_is_missing(self):
        session_id, request = self.invite("family_name", "birth_date")
        issued = self.authority.issue(self.device_key, ELEMENTS)
        shown = present(issued, self.device_key, ("family_name",), request)
        answer = post_answer(request, [shown])
        self.assert_refused(session_id, answer, "claim_missing")


if __name__ == "__main__":
    unittest.main()
