"""The sd-jwt package as issuer and holder against a running gateway."""

import unittest

from gateway import Gateway
from sd_jwt.common import SDObj
from wallet import Issuer, Wallet, read_request

PERSON = {"given_name": "Erika", "family_name": "Mustermann", "birthdate": "1984-01-26"}
SHOW_NAME = {"given_name": True, "family_name": True}
DISCLOSABLE_PERSON = {SDObj(name): value for name, value in PERSON.items()}


class GatewayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def issuer(name, **options):
            return Issuer(f"https://{name}.example", f"urn:example:{name}", **options)

        cls.es256 = issuer("es256")
        cls.vc_typ = issuer("vc-typ", typ="vc+sd-jwt")
        cls.es384 = issuer("es384", alg="ES384")
        cls.es512 = issuer("es512", alg="ES512")
        cls.gateway = Gateway([cls.es256, cls.vc_typ, cls.es384, cls.es512])
        cls.addClassCleanup(cls.gateway.stop)

    def invite(self, *credentials):
        session = self.gateway.create_session({"credentials": credentials})
        request = read_request(session["qr_code_url"])
        self.assertEqual(request["response_type"], "vp_token")
        self.assertEqual(request["response_mode"], "direct_post")
        self.assertEqual(request["client_id"], "redirect_uri:" + request["response_uri"])
        return session["session_id"], request

    def assert_verified(self, session_id, answer, claims):
        self.assertEqual(answer, (200, {"status": "ok"}))
        result = self.gateway.session(session_id)
        self.assertEqual(result["status"], "VERIFIED")
        self.assertEqual(result["claims"], claims)
        return result["verification_details"]["credentials"]

    def assert_refused(self, session_id, answer, reason):
        status, body = answer
        self.assertEqual((status, body["error"]), (400, "invalid_presentation"))
        self.assertNotIn(reason, str(body))
        result = self.gateway.session(session_id)
        self.assertEqual((result["status"], result["reason"]), ("FAILED", reason))
        self.assertNotIn("claims", result)

    def check_one_credential(self, issuer, wallet):
        session_id, request = self.invite(asks_for(issuer, "given_name", "family_name"))
        credential = issuer.issue(wallet, DISCLOSABLE_PERSON)
        presentation = wallet.present(credential, SHOW_NAME, request)
        answer = wallet.answer(request, [presentation])
        claims = {"given_name": "Erika", "family_name": "Mustermann"}
        [details] = self.assert_verified(session_id, answer, {"credential_1": claims})
        self.assertEqual(details["alg"], issuer.alg)
        self.assertEqual(details["issuer"], issuer.issuer_id)
        self.assertEqual(details["credential_type"], issuer.vct)
        self.assertEqual(details["holder_binding"], "kb_jwt")

    def test_es256_typ_dc_sd_jwt(self):
        self.check_one_credential(self.es256, Wallet())

    def test_es256_typ_vc_sd_jwt(self):
        self.check_one_credential(self.vc_typ, Wallet())

    def test_es384_issuer_and_holder(self):
        self.check_one_credential(self.es384, Wallet("ES384"))

    def test_es512_issuer_and_holder(self):
        self.check_one_credential(self.es512, Wallet("ES512"))

    def test_two_credentials_in_one_answer(self):
        wallet = Wallet()
        wanted = {"pid": self.es256, "membership": self.es384}
        session_id, request = self.invite(
            *(asks_for(issuer, "given_name", id=name) for name, issuer in wanted.items())
        )
        presentations = [
            wallet.present(
                wanted[descriptor["id"]].issue(wallet, DISCLOSABLE_PERSON),
                {"given_name": True},
                request,
            )
            for descriptor in request["presentation_definition"]["input_descriptors"]
        ]
        claims = {name: {"given_name": "Erika"} for name in wanted}
        details = self.assert_verified(session_id, wallet.answer(request, presentations), claims)
        self.assertEqual({one["id"] for one in details}, set(wanted))

    def test_nested_members_array_elements_and_decoys(self):
        wallet = Wallet()
        session_id, request = self.invite(asks_for(self.es256, "address", "nationalities"))
        claims = DISCLOSABLE_PERSON | {
            SDObj("address"): {SDObj("locality"): "Köln", SDObj("postal_code"): "50667"},
            "nationalities": [SDObj("DE"), SDObj("FR"), SDObj("AT")],
        }
        credential = self.es256.issue(wallet, claims, decoys=True)
        show = {"address": {"locality": True}, "nationalities": [False, True, False]}
        answer = wallet.answer(request, [wallet.present(credential, show, request)])
        shown = {"address": {"locality": "Köln"}, "nationalities": ["FR"]}
        self.assert_verified(session_id, answer, {"credential_1": shown})

    def test_wrong_nonce_is_refused(self):
        wallet = Wallet()
        session_id, request = self.invite(asks_for(self.es256, "given_name"))
        credential = self.es256.issue(wallet, DISCLOSABLE_PERSON)
        presentation = wallet.present(credential, SHOW_NAME, request, nonce="of-another-request")
        answer = wallet.answer(request, [presentation])
        self.assert_refused(session_id, answer, "nonce_mismatch")

    def test_key_binding_by_another_key_is_refused(self):
        owner, thief = Wallet(), Wallet()
        session_id, request = self.invite(asks_for(self.es256, "given_name"))
        credential = self.es256.issue(owner, DISCLOSABLE_PERSON)
        answer = thief.answer(request, [thief.present(credential, SHOW_NAME, request)])
        self.assert_refused(session_id, answer, "holder_binding_invalid")

    def test_typ_of_another_format_is_refused(self):
        wallet = Wallet()
        session_id, request = self.invite(asks_for(self.es256, "given_name"))
        other = Issuer(self.es256.issuer_id, self.es256.vct, typ="example+sd-jwt")
        other.key = self.es256.key
        credential = other.issue(wallet, DISCLOSABLE_PERSON)
        answer = wallet.answer(request, [wallet.present(credential, SHOW_NAME, request)])
        self.assert_refused(session_id, answer, "malformed_presentation")


def asks_for(issuer, *claims, **more):
    """One credential request."""
    request = {"format": "vc+sd-jwt", "issuer_id": issuer.issuer_id, "claims": claims}
    return request | more


if __name__ == "__main__":
    unittest.main()
