"""What comes with the program, wherever it is installed: man pages, completions, licences."""

import pathlib

from archive import ROOT, Entry, below, gzipped


def manual(directory, packed=False):
    """Man pages and completions by their path below share/, as release/program.sh left them."""
    made = pathlib.Path(directory, "build", "manual")
    if not (made / "man").is_dir():
        raise SystemExit(f"no man pages in {made}; run release/program.sh")
    files = {}
    for path, entry in below(made / "man").items():
        section = path.rsplit(".", 1)[1]
        name = f"man/man{section}/{path}"
        files[f"{name}.gz" if packed else name] = Entry(gzipped(entry.data)) if packed else entry
    places = {
        "idgate": "bash-completion/completions/idgate",
        "_idgate": "zsh/vendor-completions/_idgate",
        "idgate.fish": "fish/vendor_completions.d/idgate.fish",
    }
    for name, place in places.items():
        files[place] = Entry((made / "completions" / name).read_bytes())
    return files


def licences(directory):
    """Ours, and, where it was collected, what those whose code is inside ask to be told."""
    files = {"LICENSE": Entry((ROOT / "LICENSE").read_bytes())}
    third_party = pathlib.Path(directory, "build", "THIRD-PARTY.txt")
    if third_party.exists():
        files["THIRD-PARTY.txt"] = Entry(third_party.read_bytes())
    return files


def deployment():
    """The files of examples/deploy."""
    return below(ROOT / "examples" / "deploy")
