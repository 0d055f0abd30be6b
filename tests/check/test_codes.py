"""Every stable code of the core is documented, and no other."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = re.compile(r'=> "([a-z_]+)",')
ROW = re.compile(r"^\| `([a-z_]+)` \|", re.MULTILINE)


class CodesTest(unittest.TestCase):
    def test_the_tables_of_integrate_md_are_the_table_of_code_rs(self):
        source = (ROOT / "idgate-core/src/error/code.rs").read_text(encoding="utf-8")
        errors, rest = source.split("    Reason {")
        reasons, wallet_errors = rest.split("    WalletError {")
        text = (ROOT / "docs/integrate.md").read_text(encoding="utf-8")
        documented_errors, rest = text.split("### Errors")[1].split("### Reasons")
        documented_reasons, documented_wallet_errors = rest.split("### Wallet errors")
        self.assertEqual(CODE.findall(errors), ROW.findall(documented_errors))
        self.assertEqual(CODE.findall(reasons), ROW.findall(documented_reasons))
        self.assertEqual(CODE.findall(wallet_errors), ROW.findall(documented_wallet_errors))


if __name__ == "__main__":
    unittest.main()
