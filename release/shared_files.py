"""Files that every package of the program contains: man pages, completions, licences."""

import pathlib

from archive import ROOT, Entry, below, gzipped


def manual(directory, packed=False):
    """The man pages and completions from release/program.sh, by path below share/."""
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
    """Our licence, and those of linked code if they were collected."""
    files = {"LICENSE": Entry((ROOT / "LICENSE").read_bytes())}
    third_party = pathlib.Path(directory, "build", "THIRD-PARTY.txt")
    if third_party.exists():
        files["THIRD-PARTY.txt"] = Entry(third_party.read_bytes())
    return files


def deployment():
    """The files of examples/deploy."""
    return below(ROOT / "examples" / "deploy")
