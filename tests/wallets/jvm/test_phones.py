"""The sandbox's samples in Multipaz. It receives each from the offer, checks it, and presents it to the same sandbox.
Then the sample is withdrawn and refused."""

import unittest
import urllib.parse

from authority import Root, name

# After `authority`, which says where they are.
from jdk import missing
from jwcrypto.jwk import JWK
from kotlin import multipaz
from mdoc import generate_key
from phones import SAMPLES, PhoneSandbox

# The number of credentials that the wallet requests at once.
BATCH = 3


@unittest.skipIf(missing(), missing())
class PhonesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.multipaz = multipaz()
        cls.addClassCleanup(cls.multipaz.stop)
        cls.sandbox = PhoneSandbox()
        cls.addClassCleanup(cls.sandbox.stop)
        key = generate_key()
        cls.provider = {
            "key": JWK.from_pyca(key).export_private(as_dict=True),
            "certificate": Root("Wallet providers").certify_pem(name("A wallet provider"), key.public_key()),
        }

    def receive(self, *options, typed=lambda code: [code], attested=(), **strange):
        """Lets the wallet accept a new offer of this sample. `attested`: what its provider must attest."""
        made = self.sandbox.offer(*options)
        codes = {} if made["tx_code"] is None else {"tx_codes": typed(made["tx_code"])}
        went = self.multipaz.run({"offer": made["link"], "provider": self.provider} | codes | strange)
        self.assertNotIn("error", went)
        self.assertEqual(went["findings"], [], "the library finds nothing wrong with the sample")
        self.assertEqual(went["credentials"], BATCH, "each of a batch is another credential")
        self.assertEqual(went["attested"], list(attested))
        return went

    def present(self, sample, received):
        """Lets the wallet answer a new session with the sample, and returns the outcome."""
        session = self.sandbox.ask(sample, "haip")
        went = self.multipaz.run({"link": session["deep_links"]["haip"], "received": received["received"]})
        # The library reports an answer that the gateway refuses as an error.
        query = urllib.parse.urlsplit(went.get("redirect_uri") or "").query
        [code] = urllib.parse.parse_qs(query).get("response_code", [None])
        return self.sandbox.session(session["session_id"], code)

    def assert_verified_then_revoked(self, sample, received):
        verified = self.present(sample, received)
        self.assertEqual(verified["status"], "VERIFIED", verified)
        self.assertEqual(list(verified["claims"]["asked"]), SAMPLES[sample]["claims"])
        self.assertEqual(self.sandbox.withdraw(), BATCH)
        revoked = self.present(sample, received)
        self.assertEqual((revoked["status"], revoked.get("reason")), ("FAILED", "credential_revoked"))

    def test_every_sample_goes_from_offer_to_verified_and_withdrawn_it_is_revoked(self):
        for sample in SAMPLES:
            with self.subTest(sample):
                self.assert_verified_then_revoked(sample, self.receive(sample))

    def test_every_sample_of_the_attested_issuer_goes_the_same_way(self):
        for sample in SAMPLES:
            with self.subTest(sample):
                self.assert_verified_then_revoked(sample, self.receive(sample, "--attested", attested=["keys"]))

    def test_a_wallet_that_attests_itself_receives_from_both_issuers(self):
        for issuer, attested in (([], ["wallet"]), (["--attested"], ["wallet", "keys"])):
            with self.subTest(issuer):
                received = self.receive("pid", *issuer, attests=True, attested=attested)
                self.assert_verified_then_revoked("pid", received)

    def test_an_offer_by_reference_with_a_code_is_taken_at_the_second_try(self):
        def typed(code):
            return ["000000" if code != "000000" else "000001", code]

        received = self.receive("mdl", "--by-reference", "--tx-code", typed=typed)
        self.assertEqual(received["asked_again"], 1)
        self.assert_verified_then_revoked("mdl", received)

    def test_a_client_attestation_of_a_provider_with_another_key_is_refused(self):
        stranger = JWK.from_pyca(generate_key()).export_private(as_dict=True)
        made = self.sandbox.offer("pid")
        forged = {"offer": made["link"], "provider": self.provider | {"key": stranger}, "attests": True}
        self.assertIn("Pre-authorized code rejected by the issuer", self.multipaz.run(forged)["error"])
        refused = self.sandbox.newest_offer()
        self.assertEqual(refused["state"], "failed")
        self.assertIn("signature", refused["rule"])


if __name__ == "__main__":
    unittest.main()
