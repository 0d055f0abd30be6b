"""Every cap stands in a file of its own, where it can be found and weighed with the others."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAP = re.compile(r"const ((?:MAX|MIN)_[A-Z0-9_]+): [^=]+ = \(?[0-9]")


class LimitsTest(unittest.TestCase):
    def test_caps_stand_in_limits_rs_only(self):
        for crate in ("idgate-core", "idgate-server"):
            for path in (ROOT / crate / "src").rglob("*.rs"):
                if path.name == "limits.rs" or "tests" in path.stem or "tests" in path.parts:
                    continue
                for name in CAP.findall(path.read_text(encoding="utf-8")):
                    with self.subTest(file=str(path.relative_to(ROOT))):
                        self.fail(f"{name}: move it to {crate}/src/limits.rs")


if __name__ == "__main__":
    unittest.main()
