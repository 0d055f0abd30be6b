"""docs/supply-chain.md has notes on each crate that idgate-core links, for the linked release."""

import pathlib
import re
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([a-z0-9_-]+) \| ([0-9][^ ]*) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)


class SupplyChainTest(unittest.TestCase):
    maxDiff = None

    def test_each_crate_has_notes_for_the_linked_release(self):
        core = tomllib.loads((ROOT / "idgate-core/Cargo.toml").read_text(encoding="utf-8"))
        lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
        # The lock file may also have other versions, for other crates.
        wanted = next(it["dependencies"] for it in lock["package"] if it["name"] == "idgate-core")
        exact = dict(it.split(" ")[:2] for it in wanted if " " in it)
        locked = {it["name"]: it["version"] for it in lock["package"]} | exact
        linked = {name: locked[name] for name in core["dependencies"]}
        noted = ROW.findall((ROOT / "docs/supply-chain.md").read_text(encoding="utf-8"))
        self.assertEqual(len(noted), len(dict(noted)), "a crate is listed twice")
        self.assertEqual(dict(noted), linked)

    def test_actions_are_pinned_by_commit(self):
        text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir())
        used = re.findall(r"uses: (\S+)@(\S+)(.*)", text)
        self.assertTrue(used)
        for action, commit, version in used:
            with self.subTest(action=action):
                self.assertRegex(commit, r"^[0-9a-f]{40}$", "a tag can be moved")
                self.assertRegex(version, r"^ # v[0-9]+\.[0-9]+\.[0-9]+$")

    def test_third_party_images_are_pinned_by_digest(self):
        folder = ROOT / "examples/deploy"
        text = "\n".join(path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file())
        used = re.findall(r"^ *(?:FROM|(?:- )?image:) +(\S+)", text, re.MULTILINE)
        foreign = [image for image in used if not re.fullmatch(r"idgate(:1)?", image)]
        self.assertGreaterEqual(len(foreign), 4, used)
        for image in foreign:
            with self.subTest(image=image):
                self.assertRegex(image, r":[^@]+@sha256:[0-9a-f]{64}$", "a tag can be moved")


if __name__ == "__main__":
    unittest.main()
