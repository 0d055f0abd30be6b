"""The scene of a page: what the page assumes, and how blocks run that are not for a shell."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request

from blocks import ROOT, Block
from world import World

sys.path.insert(0, str(ROOT / "tests" / "harness"))

from patience import PATIENCE  # noqa: E402

# reason: the pages name these ports; the test runs in its own network, where they are free
GATEWAY, SANDBOX, RECEIVER = "http://127.0.0.1:8080", "http://127.0.0.1:8081", "http://127.0.0.1:3000"


class Scene:
    """A page that needs no preparation."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.prepare()

    def prepare(self) -> None:
        """Runs before the first block."""

    def before(self, block: Block) -> None:
        """Prepares what a block needs and a reader has."""

    def json(self, block: Block, value: object) -> None:
        """Handles a block of JSON. Pages about an interface do more."""

    def code(self, block: Block) -> None:
        raise AssertionError(f"{block}: give it a file name, or say in scenes.py how it runs")


class Gateway(Scene):
    """A page with a running sandbox and its API key."""

    def ask(self, path: str, body: object = None, method: str | None = None, **headers: str):
        key = self.world.wait_for(lambda: re.findall(r"sk_(?:test|live)_\w+", self.world.told))[0]
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(GATEWAY + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read() or "null")


def run(*command: str, cwd: pathlib.Path) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout
