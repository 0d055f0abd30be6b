"""release/cold.ld, the linker script for seldom called code, names modules that exist."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOB = re.compile(r"\.text\.\*(idgate_[a-z]+)\*([a-z_]*)")
FOLDERS = {
    "idgate_core": "idgate-core",
    "idgate_sandbox": "idgate-server/sandbox",
    "idgate_server": "idgate-server",
    "idgate_store": "idgate-server/store",
    "idgate_testkit": "tests/testkit",
}


class ColdTest(unittest.TestCase):
    def test_each_glob_names_an_existing_crate_and_module(self):
        globs = GLOB.findall((ROOT / "release/cold.ld").read_text(encoding="utf-8"))
        self.assertGreater(len(globs), 8)
        for crate, word in globs:
            with self.subTest(crate=crate, word=word):
                sources = (ROOT / FOLDERS[crate] / "src").rglob("*.rs")
                self.assertTrue(any(word in str(path.relative_to(ROOT)) for path in sources))


if __name__ == "__main__":
    unittest.main()
