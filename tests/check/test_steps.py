"""Each step of tests/run.sh is in one tier, and each step of --all names paths that exist."""

import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Prints only the declarations: `step TIER NAME` and `on PATH...`.
DECLARATIONS = r"""
root=$PWD logs=$PWD tested=$PWD idgate=idgate library=library mode=everyday
everyday() { echo "step everyday $1"; }
wider() { echo "step all $1"; }
long() { echo "step long $1"; }
on() { echo "on $*"; }
after() { echo "after $(IFS='|'; echo "$*")"; }
only_with() { :; }
partly_with() { :; }
alone() { :; }
beside() { :; }
for file in tests/steps/everyday.sh tests/steps/all.sh tests/steps/long.sh; do . "$file"; done
"""


def declarations():
    run = subprocess.run(["bash", "-c", DECLARATIONS], cwd=ROOT, check=True, capture_output=True, text=True)
    steps = []
    for line in run.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "step":
            tier, _, name = rest.partition(" ")
            steps.append({"tier": tier, "name": name, "on": [], "after": []})
        elif word == "on":
            steps[-1]["on"] = rest.split()
        elif word == "after":
            steps[-1]["after"] = rest.split("|")
    return steps


def run(*arguments):
    return subprocess.run(["tests/run.sh", *arguments], cwd=ROOT, capture_output=True, text=True)


class StepsTest(unittest.TestCase):
    def test_each_step_is_in_one_tier(self):
        names = [step["name"] for step in declarations()]
        self.assertEqual(sorted(set(names)), sorted(names))
        self.assertGreater(len(names), 40)

    def test_steps_of_all_name_existing_paths(self):
        for step in declarations():
            with self.subTest(step=step["name"]):
                self.assertEqual(bool(step["on"]), step["tier"] == "all")
                for path in step["on"]:
                    self.assertTrue(list(ROOT.glob(f"{path}*")), path)

    def test_a_step_runs_after_the_one_that_it_needs(self):
        seen = set()
        for step in declarations():
            with self.subTest(step=step["name"]):
                self.assertLessEqual(set(step["after"]), seen)
            seen.add(step["name"])

    def test_list_shows_each_step_with_its_tier(self):
        listed = [(line.split()[0], line[21:]) for line in run("--list").stdout.splitlines()]
        self.assertEqual(listed, [(step["tier"], step["name"]) for step in declarations()])

    def test_unknown_steps_and_options_are_refused(self):
        for arguments in (["--every"], ["--touched"], ["--touched", "no-such-commit"], ["--only"], ["--all", "more"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(run(*arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main()
