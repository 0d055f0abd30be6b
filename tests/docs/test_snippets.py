"""Runs every example of the site, word for word.

    unshare -rn python3 -m unittest        # in tests/docs; with separate ports and no network

DOCS_BUILT: the folder of the built programs; the default is target/release. DOCS_WHEELS: the folder of the Python wheel
and its dependencies; the default is target/wheels. Without a wheel the page about Python is skipped, and without
pkg-config the page about C. IDGATE_PYTHON: a Python with pip; the default is the system's. IDGATE_LONG: builds the
program in Rust from nothing, in a separate project."""

from __future__ import annotations

import collections
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import unittest
import urllib.error
import urllib.parse
import urllib.request

import reference
from blocks import DOCS, ROOT, Block, blocks, pages, pattern, shown
from scene import GATEWAY, PATIENCE, Scene
from scenes import INSTEAD, SCENES
from world import BUILT, LONG, WHEELS, World

#: The number of `shown` blocks of each page, and why no test can run them.
SHOWN = {
    "verify.md": 2,  # answers that only the browser's own key opens: tests/it/src/verify_dc_api.rs has them
    "scale.md": 3,  # a PostgreSQL, which the tests of the store start
    "trusted-lists.md": 3,  # lists on the internet; docs/sandbox.md has the command for one that is there
}
#: Drawings, and texts that a program sends.
TEXT = {"integrate.md": 2, "live-events.md": 1, "release.md": 2, "tracing.md": 1, "performance.md": 2,
        "supply-chain.md": 1, "walk.md": 1, "walk-mdoc.md": 1, "decisions/0020-a-key-for-each-sealed-value.md": 1}
RUN = {"sh", "console", "python", "js", "c", "rust", "json", "html", "http"}
MARKS = {"shown", "waits", "no_run", "answer", "request"}


def loopback() -> None:
    """Starts the loopback interface, which is down in a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, 0x8913, name))[1]
        if not flags & 1:
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


class SnippetsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        loopback()

    def run_page(self, page: str) -> None:
        found = blocks(page)
        world = World()
        self.addCleanup(world.close)
        scene = SCENES.get(page, Scene)(world)
        later, files = [], {}
        for block in found:
            with self.subTest(block=str(block)):
                if "waits" in block.marks:
                    later += [world.leave_waiting(*command) for command in shown(block.text)]
                    continue
                run_block(scene, block)
                if block.file and "shown" not in block.marks:
                    files[block.file] = block
                if block.language == "console":
                    for check in later:
                        check()
                    later = []
        self.assertEqual(later, [], "a waiting program is answered on the same page")
        text = "".join(block.text for block in found if block.language in ("sh", "console"))
        for name in files:
            stem = "cargo run" if name == "src/main.rs" else os.path.splitext(os.path.basename(name))[0]
            self.assertIn(stem, text, f"docs/{page}: no command runs {name}")

    def refuses(self, page: str) -> None:
        """The program that waits for a wallet refuses any other body with its code and a sentence."""
        world = World()
        self.addCleanup(world.close)
        scene = SCENES.get(page, Scene)(world)
        for block in blocks(page):
            if "waits" in block.marks:
                break
            run_block(scene, block)
        [command] = shown(block.text)
        world.leave_waiting(*command)
        link = world.wait_for(lambda: re.findall(r"response_uri=([^&\s]+)&", world.told_beside))[0]
        request = urllib.request.Request(urllib.parse.unquote(link), b"nonsense=1")
        with self.assertRaises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(request, timeout=PATIENCE)
        with raised.exception as refused:
            told = json.load(refused)
            self.assertEqual((refused.code, told["error"]), (400, "invalid_response"))
            self.assertLessEqual(set(told), {"error", "message"})


def run_block(scene: Scene, block: Block) -> None:
    """Does what a reader does with a block."""
    world = scene.world
    if "shown" in block.marks or block.language == "text":
        return
    if block.file:
        folder = world.run("pwd")[0].strip()
        place = os.path.join(folder, block.file)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(block.text)
    elif block.language == "sh":
        scene.before(block)
        world.run_all(block.text)
    elif block.language == "console":
        scene.before(block)
        run_shown(world, block.text)
    elif block.language == "json":
        scene.json(block, json.loads(block.text))
    elif block.language != "rust":  # these run as documentation tests of the examples crate
        scene.code(block)


def run_shown(world: World, text: str) -> None:
    """Each command succeeds and prints the text shown below it. If none is shown, any output is right."""
    for command, expected in shown(text):
        output, code = world.run(command)
        if code != 0:
            raise AssertionError(f"ends with {code}: {command}\n{output}")
        if not re.fullmatch(whole(expected), output.rstrip() + "\n"):
            raise AssertionError(f"{command}\nprinted\n{output}\nand not\n{expected}")


def kind_of(block: Block) -> str | None:
    """Whether a block runs or is only counted. `None`: the page does not say."""
    if not block.language or not set(block.marks) <= MARKS:
        return None
    if "shown" in block.marks:
        return "shown"
    return "text" if block.language == "text" else "run" if block.language in RUN else None


def whole(expected: str) -> str:
    return pattern(expected).pattern if expected.strip() else "(?s:.*)"


def test_of(page: str, run):
    def test(self) -> None:
        if page == "python.md" and not list(WHEELS.glob("idgate-*.whl")):
            self.skipTest(f"no wheel of the package in {WHEELS}")
        if page == "c.md" and not shutil.which("pkg-config"):
            self.skipTest("no pkg-config")
        if page == "rust.md" and not (LONG or (BUILT / "quick_start").exists()):
            self.skipTest("the examples are not built")
        run(self, page)

    return test


for each in pages():
    name, parts = re.sub("[^a-z0-9]+", "_", each[:-3].lower()), blocks(each)
    if any(block.language in RUN and "shown" not in block.marks for block in parts):
        setattr(SnippetsTest, f"test_{name}", test_of(each, SnippetsTest.run_page))
    if any("waits" in block.marks for block in parts):
        setattr(SnippetsTest, f"test_the_program_of_{name}_answers_what_it_refuses",
                test_of(each, SnippetsTest.refuses))


class ReferenceTest(unittest.TestCase):
    def test_the_reference_page_matches_a_gateway(self) -> None:
        loopback()
        world = World()
        self.addCleanup(world.close)
        world.run_all("export IDGATE_PROFILES=draft,1.0,haip IDGATE_PAGE=on IDGATE_DC_API=unsigned\n"
                      "idgate client create shop --test\nidgate serve\n"
                      f"curl -s {GATEWAY}/api/openapi.json -o openapi.json\n")
        document = json.loads((world.clone / "openapi.json").read_text(encoding="utf-8"))
        same = reference.page(document) == reference.PAGE.read_text(encoding="utf-8")
        self.assertTrue(same, "docs/http.md is out of date; run python3 tests/docs/reference.py")


class BlocksTest(unittest.TestCase):
    """No block of the site is left out by accident."""

    def test_every_block_is_run_or_counted(self) -> None:
        counted = {"shown": collections.Counter(), "text": collections.Counter()}
        for page in pages():
            for block in blocks(page):
                with self.subTest(block=str(block)):
                    kind = kind_of(block)
                    self.assertIsNotNone(kind, "no test runs this: write `shown` after the language, and count it")
                    if kind in counted:
                        counted[kind][page] += 1
        self.assertEqual(counted["shown"], collections.Counter(SHOWN))
        self.assertEqual(counted["text"], collections.Counter(TEXT))

    def test_replaced_commands_are_documented(self) -> None:
        told = " ".join((DOCS / "README.md").read_text(encoding="utf-8").split())
        for text, instead in INSTEAD.items():
            self.assertIn(f"`{instead}` instead of `{text}`", told)

    def test_pages_that_use_the_program_say_how_to_get_it(self) -> None:
        for page in ("c.md", "node.md", "python.md", "rust.md"):
            self.assertIn("[`idgate` in `PATH`](README.md#how-to-read-the-examples)", (DOCS / page).read_text("utf-8"))

    def test_the_first_program_in_c_has_at_most_100_lines_speaks_1_0_and_fetches(self) -> None:
        [program] = [block.text for block in blocks("c.md") if block.file == "ask.c"]
        self.assertLessEqual(len(program.splitlines()), 100)
        for call in ("IDGATE_PROFILE_1_0", "idgate_verification_fetch(", "idgate_verification_settle("):
            self.assertIn(call, program)

    def test_the_blocks_in_rust_are_documentation_tests(self) -> None:
        tested = (ROOT / "examples/src/lib.rs").read_text(encoding="utf-8")
        for page in pages():
            if any(block.language == "rust" for block in blocks(page)):
                self.assertIn(f'include_str!("../../docs/{page}")', tested)


class HarnessTest(unittest.TestCase):
    """The tests detect wrong examples."""

    def test_a_different_output_is_found(self) -> None:
        for expected, printed, same in (
            ("a …\n", "a b\n", True),
            ("…\nend\n", "one\ntwo\nend\n", True),
            ("…\nend\n", "one\n", False),
            ("a\n", "a\nb\n", False),
            ('{"a":1,…}\n', '{"a":1,"b":2}\n', True),
            ('{"a":1}\n', '{"a":2}\n', False),
            ("a …\n", "a\nb\n", False),
        ):
            with self.subTest(expected=expected, printed=printed):
                self.assertEqual(bool(re.fullmatch(whole(expected), printed)), same)

    def test_a_block_that_no_test_runs_is_found(self) -> None:
        for info, kind in (("", None), ("ruby", None), ("sh later", None), ("sh", "run"), ("sh shown", "shown"),
                           ("console waits", "run"), ("rust,no_run", "run"), ("text", "text")):
            with self.subTest(info=info):
                [block] = blocks("page.md", f"# A\n\n```{info}\na\n```\n")
                self.assertEqual(kind_of(block), kind)

    def test_a_failing_command_is_found(self) -> None:
        world = World()
        self.addCleanup(world.close)
        world.patience = 0.1
        with self.assertRaises(AssertionError):
            world.run_all("true\nfalse\n")
        for text in ("$ true\n$ false\n", "$ false\n…\n", "$ true\na\n"):
            with self.subTest(text=text), self.assertRaises(AssertionError):
                run_shown(world, text)
        run_shown(world, "$ true\n$ echo a\n")
        with self.assertRaises(AssertionError):
            world.fill("echo ses_…")


if __name__ == "__main__":
    unittest.main()
