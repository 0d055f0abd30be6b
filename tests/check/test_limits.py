"""All limits of a crate are in limits.rs, where they can be found and compared."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAP = re.compile(r"const ((?:MAX|MIN)_[A-Z0-9_]+): [^=]+ = \(?[0-9]")
TIME = re.compile(r"const ([A-Z0-9_]+): (?:std::time::)?Duration =")
# Limits of the server's own work, not of a peer's, with their reasons.
OWN_TIMES = {
    "gateway.rs": {"SUMMARY_EVERY"},
    "listener.rs": {"PAUSE_AFTER_FAILURE", "LAST_HANDSHAKES", "LAST_REQUESTS"},
}
FOR_TESTS = "#[cfg(test)]"
CRATES = (
    "idgate-core",
    "idgate",
    "idgate-server/base",
    "idgate-server/xml-list",
    "idgate-server/store",
    "idgate-server",
    "idgate-server/sandbox",
    "idgate-ffi",
)


def sources(folder):
    """The source files of the product, without the tests at their ends."""
    for path in sorted((ROOT / folder).rglob("*.rs")):
        within = path.relative_to(ROOT)
        if path.name != "limits.rs" and "limits" not in within.parts and "tests" not in path.stem and "tests" not in within.parts:
            yield path, path.read_text(encoding="utf-8")


class LimitsTest(unittest.TestCase):
    def test_the_files_of_every_crate_are_found_wherever_the_clone_is(self):
        for crate in CRATES:
            self.assertGreater(len(list(sources(f"{crate}/src"))), 4, crate)

    def test_limits_are_only_in_limits_rs(self):
        for crate in CRATES:
            for path, code in sources(f"{crate}/src"):
                for name in CAP.findall(code):
                    with self.subTest(file=str(path.relative_to(ROOT))):
                        self.fail(f"{name}: move it to {crate}/src/limits.rs")

    def test_times_for_peers_are_only_in_limits_rs(self):
        found = {}
        for path, code in sources("idgate-server/src/http"):
            if names := set(TIME.findall(code.partition(FOR_TESTS)[0])):
                found[path.name] = names
        self.assertEqual(found, OWN_TIMES, "move it to idgate-server/src/limits.rs")


if __name__ == "__main__":
    unittest.main()
