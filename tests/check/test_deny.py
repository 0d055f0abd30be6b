"""The rules of deny.py on made-up packages."""

import unittest

from deny import CRATES_IO, check, permitted

RULES = {
    "licenses": {"allow": ["MIT", "Apache-2.0"]},
    "bans": {
        "deny": [{"crate": "openssl", "reason": "no"}],
        "features": [{"crate": "serde_json", "deny": ["arbitrary_precision"]}],
    },
}


def metadata(features=(), **changes):
    package = {"id": "1", "name": "serde_json", "version": "1.0.0", "license": "MIT"}
    package |= {"source": CRATES_IO} | changes
    nodes = [{"id": "1", "features": list(features)}]
    return {"packages": [package], "resolve": {"nodes": nodes}}


class DenyTest(unittest.TestCase):
    def breaches(self, **changes):
        return list(check(metadata(**changes), RULES))

    def test_an_allowed_package_passes(self):
        self.assertEqual(self.breaches(), [])

    def test_a_banned_crate_is_named(self):
        self.assertEqual(self.breaches(name="openssl"), ["openssl 1.0.0: banned: no"])

    def test_a_banned_feature_is_named(self):
        found = self.breaches(features=["arbitrary_precision"])
        self.assertEqual(found, ["serde_json: feature arbitrary_precision is on"])

    def test_a_package_from_another_source_is_a_breach(self):
        self.assertEqual(len(self.breaches(source="git+https://example.com/x")), 1)

    def test_a_missing_licence_is_a_breach(self):
        self.assertEqual(len(self.breaches(license=None)), 1)

    def test_an_exception_covers_one_crate_and_one_licence(self):
        exceptions = [{"crate": "cbindgen", "allow": ["MPL-2.0"]}]
        rules = RULES | {"licenses": RULES["licenses"] | {"exceptions": exceptions}}
        for name, licence, breaches in (
            ("cbindgen", "MPL-2.0", 0),
            ("cbindgen", "GPL-3.0", 1),
            ("other", "MPL-2.0", 1),
        ):
            found = list(check(metadata(name=name, license=licence), rules))
            self.assertEqual(len(found), breaches, f"{name} {licence}")

    def test_licence_expressions(self):
        allow = {"MIT", "Apache-2.0"}
        for good in ("MIT", "MIT/GPL-3.0", "GPL-3.0 OR (MIT AND Apache-2.0)"):
            self.assertTrue(permitted(good, allow), good)
        for bad in ("GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH Some-exception"):
            self.assertFalse(permitted(bad, allow), bad)

    def test_unreadable_expressions_are_errors(self):
        for bad in ("(MIT", "MIT OR", "MIT )", "MIT, Apache-2.0"):
            with self.assertRaises(ValueError, msg=bad):
                permitted(bad, {"MIT"})


if __name__ == "__main__":
    unittest.main()
