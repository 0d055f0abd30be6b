"""The sandbox's SD-JWT VCs in irmago. It receives each from the offer, checks it and its status list, stores it, and
presents it to the same sandbox. Then the sample is withdrawn and refused."""

import pathlib
import sys
import unittest
import urllib.request

from irmago import Irmago, missing

WALLETS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(WALLETS / "python"), str(WALLETS / "jvm")]

from authority import Root  # noqa: E402
from errands import PATIENCE  # noqa: E402
from phones import PhoneSandbox  # noqa: E402

# The number of credentials that irmago requests: as many as the issuer allows.
BATCH = 10


@unittest.skipIf(missing(), missing())
class IrmagoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.irmago = Irmago()
        cls.addClassCleanup(cls.irmago.stop)
        cls.sandbox = PhoneSandbox()
        cls.addClassCleanup(cls.sandbox.stop)
        with urllib.request.urlopen(cls.sandbox.page + "files/iaca.pem", timeout=PATIENCE) as answer:
            cls.root = answer.read().decode()

    def take(self, made, *codes, root=None):
        """Lets a new wallet that trusts issuers under this root accept an offer, and returns the outcome."""
        return self.irmago.run({"offer": made["link"], "tx_codes": codes, "trusted_root": root or self.root})

    def present(self, sample, received):
        """Lets the wallet answer a new session with the sample, and returns both outcomes."""
        session = self.sandbox.ask(sample, "haip")
        went = self.irmago.run({"link": session["deep_links"]["haip"], "received": received["received"]})
        return went, self.sandbox.session(session["session_id"])

    def assert_verified_then_revoked(self, sample, received):
        self.assertNotIn("error", received)
        self.assertEqual(received["credentials"], BATCH)
        went, verified = self.present(sample, received)
        self.assertEqual((went.get("error"), verified["status"]), (None, "VERIFIED"))
        self.assertEqual(self.sandbox.withdraw(), BATCH)
        _, revoked = self.present(sample, received)
        self.assertEqual((revoked["status"], revoked.get("reason")), ("FAILED", "credential_revoked"))

    def test_each_sd_jwt_vc_goes_from_offer_to_verified_and_withdrawn_it_is_revoked(self):
        for sample in ("pid", "membership"):
            with self.subTest(sample):
                self.assert_verified_then_revoked(sample, self.take(self.sandbox.offer(sample)))

    def test_an_offer_by_reference_with_a_code_is_taken_at_the_second_try(self):
        made = self.sandbox.offer("pid", "--by-reference", "--tx-code")
        wrong = "000000" if made["tx_code"] != "000000" else "000001"
        received = self.take(made, wrong, made["tx_code"])
        self.assertEqual(received["asked_again"], 1)
        self.assert_verified_then_revoked("pid", received)

    def test_irmago_reads_no_mdoc(self):
        went = self.take(self.sandbox.offer("mdl"))
        self.assertIn('unsupported credential format "mso_mdoc"', went["error"])

    def test_irmago_reads_no_issuer_that_demands_key_attestations(self):
        went = self.take(self.sandbox.offer("pid", "--attested"))
        self.assertIn("unsupported 'key_attestations_required'", went["error"])

    def test_irmago_takes_nothing_from_an_issuer_under_another_root(self):
        stranger = self.take(self.sandbox.offer("pid"), root=Root("Another").pem)
        self.assertIn("failed to verify x5c end-entity certificate", stranger["error"])
        self.assertNotIn("received", stranger)


if __name__ == "__main__":
    unittest.main()
