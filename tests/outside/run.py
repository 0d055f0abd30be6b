"""Runs the programs outside the workspace, then gives the compiler each program of `refused/`, which must fail with
exactly the error code that its first line names."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {"CARGO_TARGET_DIR": str(HERE.parents[1] / "target/outside")}
MANIFEST = ("--locked", "--manifest-path", str(HERE / "Cargo.toml"))
STATED = ("idgate_core", "serde_json")


def libraries():
    """The files of the libraries that the programs name, and the folder with those below them."""
    built = subprocess.run(
        ("cargo", "build", "--message-format=json", *MANIFEST), check=True, env=ENVIRONMENT,
        stdout=subprocess.PIPE, text=True
    )
    found = {}
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["target"]["name"] in STATED:
            found[message["target"]["name"]] = next(it for it in message["filenames"] if it.endswith(".rlib"))
    return found, pathlib.Path(found["idgate_core"]).parent


class OutsideTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found, cls.below = libraries()

    def faults(self, program, folder):
        """The codes of the compiler's errors and warnings about a program."""
        extern = [part for name, path in self.found.items() for part in ("--extern", f"{name}={path}")]
        rustc = (
            os.environ.get("RUSTC", "rustc"), "--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=json",
            "-L", f"dependency={self.below}", "--out-dir", folder, *extern, str(program),
        )  # fmt: skip
        output = subprocess.run(rustc, stderr=subprocess.PIPE, text=True)
        messages = [json.loads(line) for line in output.stderr.splitlines()]
        return [it["code"] and it["code"]["code"] for it in messages if it.get("level") in ("error", "warning")
                and not it["message"].startswith("aborting due to")]  # fmt: skip

    def test_the_programs_run(self):
        subprocess.run(("cargo", "test", "--quiet", *MANIFEST), check=True, env=ENVIRONMENT)

    def test_a_program_that_is_right_has_no_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "right.rs")
            program.write_text(
                "pub fn read(text: &str) -> Option<idgate_core::Request> {\n"
                "    let _: serde_json::Value = serde_json::from_str(text).ok()?;\n"
                "    idgate_core::Request::from_json(text.as_bytes()).ok()\n}\n"
            )
            self.assertEqual(self.faults(program, folder), [])

    def test_each_wrong_program_is_refused_by_the_compiler(self):
        programs = sorted((HERE / "refused").glob("*.rs"))
        self.assertGreater(len(programs), 10)
        with tempfile.TemporaryDirectory() as folder:
            for program in programs:
                with self.subTest(program=program.stem):
                    stated = program.read_text(encoding="utf-8").removeprefix("//! ").partition(":")[0]
                    self.assertEqual(self.faults(program, folder), [stated])


if __name__ == "__main__":
    unittest.main()
