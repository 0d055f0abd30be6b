"""Multipaz, a wallet library for the JVM, against a running gateway. multipaz/Wallet.kt is a wallet that uses it."""

import base64
import unittest
import urllib.parse

from authority import CertifiedIssuer, Root

# After `authority`, which says where they are.
import cbor2
from gateway import Gateway
from jdk import missing
from jwcrypto.jwk import JWK
from kotlin import multipaz
from mdoc import MDL, MDL_NAMESPACE, Authority, generate_key
from sd_jwt.common import SDObj
from wallet import Issuer, Wallet

REDIRECT_URI = "https://shop.example/done"
PERSON = {"given_name": "Erika", "family_name": "Mustermann"}
CANCELED, NOTHING_FITS = "PresentmentCanceledException", "PresentmentCannotSatisfyRequestException"
NOT_OF_THE_READER = "Error verifying reader authentication"
CLAIMS = {"pid": {"given_name": "Erika"}, "licence": {"family_name": "Mustermann"}}
X509_HASH = {"IDGATE_PROFILES": "1.0", "OID4VP_REQUEST_MODE": "jar", "IDGATE_CLIENT_ID": "x509_hash"}
VARIANTS = {
    "haip": {"IDGATE_PROFILES": "haip"},
    "haip, post": {"IDGATE_PROFILES": "haip", "IDGATE_REQUEST_URI_METHOD": "post"},
    "1.0, x509_hash": X509_HASH,
    "1.0, x509_hash, post": X509_HASH | {"IDGATE_REQUEST_URI_METHOD": "post"},
}

# Variants of requests through a browser.
BROWSERS = {way: {"IDGATE_PROFILES": "haip", "IDGATE_DC_API": way} for way in ("signed", "unsigned")}
SHOP = "https://shop.example"
ISO_MDOC = "org-iso-mdoc"

# Variants that Multipaz does not support.
PLAIN = "1.0, x509_hash, plain"
BY_VALUE = "1.0, redirect_uri"
OTHERS = {
    PLAIN: X509_HASH | {"IDGATE_RESPONSE_MODE": "direct_post"},
    BY_VALUE: {"IDGATE_PROFILES": "1.0", "OID4VP_REQUEST_MODE": "inline"},
}


@unittest.skipIf(missing(), missing())
class MultipazTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.multipaz = multipaz()
        cls.addClassCleanup(cls.multipaz.stop)
        cls.access = Root("Access")
        cls.issuer = CertifiedIssuer("https://pid.example", "urn:example:pid", Root("Issuers"))
        cls.authority = Authority("https://iaca.example", "Utopia")
        cls.gateways = {}
        for variant, settings in (VARIANTS | OTHERS | BROWSERS).items():
            issuers = [cls.issuer, cls.authority]
            gateway = Gateway(issuers, test=True, settings=settings, access=cls.access)
            cls.addClassCleanup(gateway.stop)
            cls.gateways[variant] = gateway

    def setUp(self):
        self.wallet = Wallet()
        self.device_key = generate_key()

    def pid(self, issuer=None, key=None):
        """An SD-JWT VC for the wallet, held with its key, or with another."""
        disclosable = {SDObj(name): value for name, value in PERSON.items()}
        issued = (issuer or self.issuer).issue(self.wallet, disclosable).encode()
        key = (key or self.wallet).key
        return held("dc+sd-jwt", self.issuer.vct, issued, key)

    def licence(self, authority=None, key=None):
        """An mdoc for the device, held with its key, or with another."""
        issued = (authority or self.authority).issue(self.device_key, PERSON | {"issuing_country": "UT"})
        key = JWK.from_pyca(key or self.device_key)
        return held("mso_mdoc", MDL, cbor2.dumps(issued), key)

    def ask(self, variant, *ids, **more):
        """A session of this variant."""
        asked = {
            "pid": {"format": "vc+sd-jwt", "issuer_id": self.issuer.issuer_id, "claims": ["given_name"]},
            "licence": {
                "format": "mso_mdoc",
                "issuer_id": self.authority.issuer_id,
                "doc_type": MDL,
                "namespace": MDL_NAMESPACE,
                "claims": ["family_name"],
            },
        }
        credentials = [{"id": name} | asked[name] for name in ids]
        wanted = {"credentials": credentials, "redirect_uri": REDIRECT_URI} | more
        session = self.gateways[variant].create_session(wanted)
        by_post = "request_uri_method=post" in session["deep_links"]["haip"]
        self.assertEqual(by_post, variant.endswith("post"))
        return session

    def answer(self, session, *credentials, **strange):
        """Lets the wallet answer the session's request."""
        errand = {"link": session["deep_links"]["haip"], "trusted_root": self.access.pem}
        return self.multipaz.run(errand | {"credentials": credentials} | strange)

    def ask_browser(self, way, *ids):
        """A session for a page of the shop."""
        return self.ask(way, *ids, dc_api={"origins": [SHOP]})

    def answer_page(self, session, protocol, *credentials, origin=SHOP, **strange):
        """Lets the wallet answer one of the requests that a page from this origin passes on."""
        [asked] = [one for one in session["dc_api"]["requests"] if one["protocol"] == protocol]
        page = {"page": asked | {"origin": origin}, "trusted_root": self.access.pem}
        return self.multipaz.run(page | {"credentials": credentials} | strange)

    def assert_gets_nothing(self, way, error, *credentials, **strange):
        session = self.ask_browser(way, "licence")
        went = self.answer_page(session, ISO_MDOC, *credentials, **strange)
        self.assertEqual(list(went), ["error"], went)
        self.assertIn(error, went["error"])
        self.assertEqual(self.gateways[way].session(session["session_id"])["status"], "PENDING")

    def assert_verified(self, variant, *ids):
        holds = {"pid": self.pid, "licence": self.licence}
        session = self.ask(variant, *ids)
        went = self.answer(session, *(holds[name]() for name in ids))
        self.assertEqual(list(went), ["redirect_uri"], went)
        [code] = urllib.parse.parse_qs(urllib.parse.urlsplit(went["redirect_uri"]).query)["response_code"]
        result = self.gateways[variant].session(session["session_id"], code)
        self.assertEqual(result["status"], "VERIFIED")
        self.assertEqual(result["claims"], {name: CLAIMS[name] for name in ids})

    def assert_refused(self, reason, asked, credential, **strange):
        session = self.ask("haip", asked)
        went = self.answer(session, credential, **strange)
        self.assertIsNone(went.get("redirect_uri"))
        result = self.gateways["haip"].session(session["session_id"])
        self.assertEqual((result["status"], result.get("reason")), ("FAILED", reason))

    def assert_still_pending(self, variant, error, *credentials, **strange):
        session = self.ask(variant, "pid")
        went = self.answer(session, *credentials, **strange)
        self.assertEqual(self.gateways[variant].session(session["session_id"])["status"], "PENDING")
        self.assertIn(error, went["error"])

    def test_an_sd_jwt_vc_is_verified(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                self.assert_verified(variant, "pid")

    def test_an_mdoc_is_verified(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                self.assert_verified(variant, "licence")

    def test_both_at_once_are_verified(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                self.assert_verified(variant, "pid", "licence")

    def test_a_page_gets_an_mdoc_by_annex_c_that_is_verified(self):
        session = self.ask_browser("signed", "licence")
        went = self.answer_page(session, ISO_MDOC, self.licence())
        self.assertEqual(list(went), ["credential"], went)
        status, result = self.gateways["signed"].relay(session["session_id"], went["credential"])
        self.assertEqual((status, result["status"]), (200, "VERIFIED"))
        self.assertEqual(result["claims"], {"licence": CLAIMS["licence"]})
        [licence] = result["verification_details"]["credentials"]
        self.assertEqual(licence["session_transcript"], "iso18013-7-annex-c")
        self.assertEqual(result["verification_details"]["origin"], SHOP)

    def test_by_annex_c_a_user_who_declines_sends_nothing(self):
        self.assert_gets_nothing("signed", CANCELED, self.licence(), declined=True)

    def test_by_annex_c_a_reader_that_is_not_trusted_gets_nothing(self):
        stranger = Root("Another").pem
        self.assert_gets_nothing("signed", CANCELED, self.licence(), trusted_root=stranger)
        # This request is not signed.
        self.assert_gets_nothing("unsigned", CANCELED, self.licence())

    def test_by_annex_c_a_page_from_elsewhere_gets_nothing(self):
        # The reader signed for the shop's page. The signature does not verify for another page.
        elsewhere = "https://elsewhere.example"
        self.assert_gets_nothing("signed", NOT_OF_THE_READER, self.licence(), origin=elsewhere)

    def test_by_annex_c_a_device_signature_by_another_key_is_refused(self):
        session = self.ask_browser("signed", "licence")
        went = self.answer_page(session, ISO_MDOC, self.licence(key=generate_key()))
        status, error = self.gateways["signed"].relay(session["session_id"], went["credential"])
        self.assertEqual((status, error["error"]), (400, "invalid_presentation"))
        result = self.gateways["signed"].session(session["session_id"])
        self.assertEqual((result["status"], result["reason"]), ("FAILED", "device_auth_invalid"))

    def test_a_user_who_declines_sends_nothing(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                self.assert_still_pending(variant, CANCELED, self.pid(), declined=True)

    def test_a_gateway_whose_certificate_is_not_trusted_gets_nothing(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                stranger = Root("Another").pem
                self.assert_still_pending(variant, CANCELED, self.pid(), trusted_root=stranger)

    def test_a_wallet_without_the_credential_sends_nothing(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                self.assert_still_pending(variant, NOTHING_FITS, self.licence())

    def test_a_plain_answer_of_multipaz_is_not_taken(self):
        # It posts an unsigned JWT as `response` instead of `vp_token`.
        self.assert_still_pending(PLAIN, "this session expects vp_token", self.pid())

    def test_multipaz_does_not_read_a_request_in_a_link(self):
        self.assert_still_pending(BY_VALUE, "No request_uri", self.pid())

    def test_multipaz_does_not_read_an_sd_jwt_vc_without_a_certificate(self):
        bare = self.pid(issuer=Issuer(self.issuer.issuer_id, self.issuer.vct))
        self.assert_still_pending("haip", NOTHING_FITS, bare)

    def test_a_key_binding_for_another_nonce_is_refused(self):
        self.assert_refused("nonce_mismatch", "pid", self.pid(), changes={"nonce": "of-another-request"})

    def test_a_key_binding_for_another_verifier_is_refused(self):
        another = {"client_id": "x509_hash:another"}
        self.assert_refused("audience_mismatch", "pid", self.pid(), changes=another)

    def test_multipaz_does_not_sign_with_another_key_than_the_credentials(self):
        error = "signing key does not match key in `cnf`"
        self.assert_still_pending("haip", error, self.pid(key=Wallet()))

    def test_an_issuer_certified_by_another_root_is_refused(self):
        stranger = CertifiedIssuer(self.issuer.issuer_id, self.issuer.vct, Root("Another"))
        self.assert_refused("chain_invalid", "pid", self.pid(issuer=stranger))

    def test_a_transcript_of_another_nonce_is_refused(self):
        changes = {"nonce": "of-another-request"}
        self.assert_refused("device_auth_invalid", "licence", self.licence(), changes=changes)

    def test_a_transcript_of_another_verifier_is_refused(self):
        changes = {"client_id": "x509_hash:another"}
        self.assert_refused("device_auth_invalid", "licence", self.licence(), changes=changes)

    def test_a_transcript_of_another_place_is_refused(self):
        changes = {"response_uri": "https://elsewhere.example/"}
        self.assert_refused("device_auth_invalid", "licence", self.licence(), changes=changes)

    def test_a_device_signature_by_another_key_is_refused(self):
        self.assert_refused("device_auth_invalid", "licence", self.licence(key=generate_key()))

    def test_a_document_signer_under_another_root_is_refused(self):
        stranger = Authority("https://stranger.example", "Nowhere")
        self.assert_refused("chain_invalid", "licence", self.licence(authority=stranger))


def held(credential_format, credential_type, issued, key):
    """A credential in the form that the wallet reads."""
    return {
        "format": credential_format,
        "type": credential_type,
        "issued": base64.b64encode(issued).decode(),
        "key": key.export_private(as_dict=True),
    }


if __name__ == "__main__":
    unittest.main()
