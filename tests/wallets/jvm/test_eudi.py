"""The sandbox's samples in the EUDI library for Kotlin. Its version 0.7.1 speaks draft 15 of OpenID4VCI and presents
nothing. So the wallet of the tests in Python presents each sample to the same sandbox. Then the samples are withdrawn
and refused."""

import base64
import json
import unittest
import urllib.parse

from authority import Root, name

# After `authority`, which says where they are.
import cbor2
from cryptography.hazmat.primitives import serialization
from gateway import post_form
from jdk import missing
from jwcrypto.jwk import JWK
from kotlin import eudi
from mdoc import generate_key, present
from phones import SAMPLES, PhoneSandbox
from wallet import Wallet

# The number of credentials that the wallet requests at once.
BATCH = 2
# The configurations of drafts 13 and 14 have a format that the library does not know.
KNOWN = ["membership", "org.iso.18013.5.1.mDL", "pid_mdoc", "pid_sd_jwt", "proof_of_age"]


@unittest.skipIf(missing(), missing())
class EudiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.eudi = eudi()
        cls.addClassCleanup(cls.eudi.stop)
        cls.sandbox = PhoneSandbox(tls=True)
        cls.addClassCleanup(cls.sandbox.stop)
        key = generate_key()
        certificate = Root("Wallet providers").certify(name("A wallet provider"), key.public_key())
        der = certificate.public_bytes(serialization.Encoding.DER)
        cls.provider = {"key": exported(key), "certificate": base64.b64encode(der).decode()}

    def setUp(self):
        self.keys = [generate_key() for _ in range(BATCH)]

    def take(self, *options, **strange):
        """Lets the library accept a new offer of this sample for the keys, and returns the last step."""
        made = self.sandbox.offer(*options)
        code = {} if made["tx_code"] is None else {"tx_code": made["tx_code"]}
        given = {"offer": made["link"], "keys": [exported(key) for key in self.keys], "ca": self.sandbox.tls_root}
        went = self.eudi.run(given | code | strange)
        self.assertEqual(sorted(went.get("configurations", [])), KNOWN, went)
        return went

    def present(self, sample, credential, key):
        """Answers a new session with a credential of this key, and returns the outcome."""
        session = self.sandbox.ask(sample, "1.0")
        query = urllib.parse.urlsplit(session["qr_code_url"]).query
        request = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
        asked = SAMPLES[sample]
        if asked["format"] == "mso_mdoc":
            issued = cbor2.loads(base64.urlsafe_b64decode(credential + "=="))
            shown = present(issued, key, asked["claims"], request, asked["doc_type"], asked["namespace"])
        else:
            wallet = Wallet()
            wallet.key = JWK.from_pyca(key)
            shown = wallet.present(credential, dict.fromkeys(asked["claims"], True), request)
        # The listener that a tunnel leads to.
        path = urllib.parse.urlsplit(request["response_uri"]).path
        vp_token = json.dumps({"asked": [shown]})
        post_form(self.sandbox.url + path, {"vp_token": vp_token, "state": request["state"]})
        return self.sandbox.session(session["session_id"])

    def assert_verified_then_revoked(self, sample, went):
        self.assertNotIn("error", went)
        self.assertTrue(went["notified"])
        self.assertEqual(self.sandbox.newest_offer()["state"], "stored")
        held = list(zip(went["credentials"], self.keys, strict=True))
        for credential, key in held:
            verified = self.present(sample, credential, key)
            self.assertEqual(verified["status"], "VERIFIED", verified)
        self.assertEqual(self.sandbox.withdraw(), len(held))
        for credential, key in held:
            revoked = self.present(sample, credential, key)
            self.assertEqual((revoked["status"], revoked.get("reason")), ("FAILED", "credential_revoked"))

    def test_every_sample_goes_from_offer_to_verified_and_withdrawn_it_is_revoked(self):
        for sample in SAMPLES:
            with self.subTest(sample):
                went = self.take(sample)
                self.assertEqual(went["token"], "Bearer")
                self.assert_verified_then_revoked(sample, went)

    def test_a_token_that_is_bound_and_an_offer_by_reference_with_a_code(self):
        went = self.take("mdl", "--by-reference", "--tx-code", bound=True)
        self.assertEqual(went["token"], "DPoP")
        self.assert_verified_then_revoked("mdl", went)

    def test_a_wallet_that_attests_itself_receives(self):
        self.assert_verified_then_revoked("pid", self.take("pid", provider=self.provider))

    def test_a_single_key_is_proved_by_the_member_of_the_drafts(self):
        # A single key is in `proof`.
        self.keys = self.keys[:1]
        self.assert_verified_then_revoked("membership", self.take("membership"))

    def test_the_library_gets_a_token_of_the_attested_issuer_and_cannot_attest_keys(self):
        for strange in ({}, {"provider": self.provider}):
            with self.subTest(strange):
                went = self.take("pid", "--attested", **strange)
                self.assertEqual(went["token"], "Bearer")
                self.assertIn("key_attestation is missing", went["error"])
                refused = self.sandbox.newest_offer()
                self.assertEqual((refused["state"], refused["rule"]), ("failed", "key_attestation is missing"))


def exported(key):
    return JWK.from_pyca(key).export_private(as_dict=True)


if __name__ == "__main__":
    unittest.main()
