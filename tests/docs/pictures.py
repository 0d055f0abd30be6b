"""Copies the pictures for the pages to docs/pictures: `python3 tests/docs/pictures.py`.

The browser tests draw every state of the page for people and of the sandbox's console into target/pictures
(`tests/run.sh --only 'pages for people'`). Four of these are in the documentation.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRAWN = ROOT / "target/pictures"
SHOWN = ROOT / "docs/pictures"

# Each picture in the documentation, and the state that it shows.
PICTURES = {
    "page-on-a-computer.png": "page-open-1280-light.png",
    "page-on-a-phone.png": "page-open-390-light.png",
    "console-checks.png": "console-checks-1280-light.png",
    "console-offer.png": "console-receive-1280-light.png",
}


def main() -> int:
    missing = [state for state in PICTURES.values() if not (DRAWN / state).exists()]
    if missing:
        print(f"{DRAWN} has no {', '.join(missing)}; run tests/run.sh --only 'pages for people' first", file=sys.stderr)
        return 1
    SHOWN.mkdir(exist_ok=True)
    for name, state in PICTURES.items():
        shutil.copyfile(DRAWN / state, SHOWN / name)
    for other in {path.name for path in SHOWN.iterdir()} - set(PICTURES):
        (SHOWN / other).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
