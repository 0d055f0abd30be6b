"""The same decisions and codes as in Rust."""

from __future__ import annotations

import unittest

import cases


class CasesTest(unittest.TestCase):
    def test_every_case_gives_its_outcome(self) -> None:
        found = cases.load()
        self.assertGreaterEqual(len(found), 20)
        for case in found:
            with self.subTest(case["title"]):
                self.assertEqual(cases.outcome(case), case["expected"])


if __name__ == "__main__":
    unittest.main()
