"""The public surface of idgate-core, one line for each item, method, field and variant, read from its
sources. `python3 tests/check/surface.py` writes `tests/check/surface.txt`. The tests fail if it differs
from the sources, so a change of the surface shows in a diff."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "idgate-core/src"
SNAPSHOT = pathlib.Path(__file__).with_name("surface.txt")
# Items that are hidden from programs that depend on the library.
HIDDEN = re.compile(r'cfg\((?:all\()?(?:test\b|doc\b|feature = "(?:internals|counting|shell)")')
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<text>b?r?\#*"(?:\\.|[^"\\])*"\#*)|(?P<char>b?'(?:\\u\{[^}]*\}|\\x..|\\.|[^'\\])')""",
    re.DOTALL,
)
ITEM = re.compile(r"(?:(?:const|async|unsafe) )*(fn|struct|enum|trait|const|static|type|mod|use)\b")
NAME = re.compile(r"\b(?:fn|struct|enum|trait|(?:const|static)(?! fn)|type|mod) (\w+)")
TO_SEMICOLON = ("use", "const", "static", "type")


def without_noise(text):
    """The code without comments and string literals. Literals that are single words, for example features, are kept."""

    def kept(found):
        if found["text"]:
            return found["text"] if re.fullmatch(r'"[a-z-]+"', found["text"]) else '""'
        return "0" if found["char"] else " "

    return NOISE.sub(kept, text)


def end_of_group(code, at):
    """The position after the bracket that closes the one at `at`."""
    depth = 0
    while at < len(code):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        at += 1
        if depth == 0:
            return at
    return at


def one_line(code):
    code = re.sub(r"\s+", " ", code).strip()
    code = re.sub(r",? ?([)\]}>])", r"\1", code) if "{" not in code else code
    return re.sub(r"([(\[]) ", r"\1", code)


def items(code):
    """Each item as its attributes, its head, and the code in its braces."""
    at = 0
    while at < len(code):
        if code[at].isspace() or code[at] in ";,":
            at += 1
            continue
        attributes = ""
        while code.startswith("#", at):
            end = end_of_group(code, code.index("[", at))
            attributes, at = attributes + code[at:end], end
            at += len(code[at:]) - len(code[at:].lstrip())
        start, body = at, None
        kind = ITEM.match(re.sub(r"^pub(?:\([^)]*\))? ", "", one_line(code[start : start + 80])))
        while at < len(code):
            if code[at] == ";":
                break
            if code[at] == "{" and not (kind and kind[1] in TO_SEMICOLON and "fn" not in kind[0]):
                body = code[at + 1 : end_of_group(code, at) - 1]
                break
            at = end_of_group(code, at) if code[at] in "([{" else at + 1
        yield attributes, one_line(code[start:at]), body
        at = at + 1 if body is None else end_of_group(code, at)


def members(code):
    """The parts between commas of a list of fields, variants or imports."""
    found, start, at = [], 0, 0
    while at < len(code):
        if code[at] in "([{<":
            at = end_of_group(code.replace("<", "(").replace(">", ")").replace("-)", "->"), at)
            continue
        if code[at] == ",":
            found.append(code[start:at])
            start = at + 1
        at += 1
    return [part for part in [*found, code[start:]] if part.strip()]


def imports(tree, before=()):
    """Each path of a use tree with the name that it imports."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if brace:
        parts = (*before, *[part for part in head.strip().split("::") if part])
        for branch in members(rest.rstrip().removesuffix("}")):
            yield from imports(branch, parts)
        return
    path, _, alias = tree.partition(" as ")
    parts = (*before, *path.split("::"))
    if parts[-1] == "self":
        parts = parts[:-1]
    yield parts, alias.strip() or parts[-1]


class Crate:
    def __init__(self):
        self.defined, self.used, self.public, self.impls = {}, {}, {(): True}, []
        for path in sorted(SOURCES.rglob("*.rs")):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib") else parts
            self.read(module, without_noise(path.read_text(encoding="utf-8")))

    def read(self, module, code):
        for attributes, head, body in items(code):
            if HIDDEN.search(attributes):
                continue
            is_public = head.startswith("pub ")
            head = re.sub(r"^pub(?:\([^)]*\))? ", "", head)
            if head.startswith("use "):
                for parts, name in imports(head[4:]):
                    self.used[(*module, name)] = (self.absolute(module, parts), is_public)
            elif head.startswith("impl"):
                self.impls.append((module, head, body or ""))
            elif named := NAME.search(head):
                where = (*module, named[1])
                self.defined[where] = (head, body or "", is_public)
                if head.startswith("mod "):
                    self.public[where] = is_public
                    if body is not None:
                        self.read(where, body)

    @staticmethod
    def absolute(module, parts):
        parts = list(parts)
        base = ()
        if parts[0] in ("self", "super"):
            base = module
            while parts and parts[0] in ("self", "super"):
                base = base[:-1] if parts.pop(0) == "super" else base
        elif parts[0] == "crate":
            parts.pop(0)
        else:
            return ("?", *parts)
        return (*base, *parts)

    def resolve(self, path):
        """The place where the item of this path is defined."""
        for _ in range(8):
            if path in self.defined or path not in self.used:
                return path
            path = self.used[path][0]
        return path

    def is_public_module(self, module):
        return all(self.public.get(module[:end], False) for end in range(len(module) + 1))

    def lines(self):
        homes, aliases = {}, []
        for path, (head, _, is_public) in self.defined.items():
            if is_public and self.is_public_module(path[:-1]) and not head.startswith("mod "):
                homes[path] = path
        for path, (_, is_public) in sorted(self.used.items(), key=lambda one: (-len(one[0]), one)):
            if not is_public or not self.is_public_module(path[:-1]):
                continue
            target = self.resolve(path)
            if target in homes or target not in self.defined:
                aliases.append((path, homes.get(target, target)))
            else:
                homes[target] = path
        for target, path in homes.items():
            yield from self.item("::".join(path), *self.defined[target][:2])
        for path, target in aliases:
            yield f"{'::'.join(path)} = {'::'.join(target)}"
        for module, head, body in self.impls:
            yield from self.methods(module, head, body, homes)

    @staticmethod
    def item(path, head, body):
        if head.startswith(("const ", "static ")) and "fn " not in head:
            head = head.partition(" = ")[0]
        yield f"{path}: {head}"
        if head.startswith("trait "):
            for _, method, _ in items(body):
                yield f"{path}::{NAME.search(method)[1]}: {method}"
        elif head.startswith(("struct ", "enum ")):
            of_enum = head.startswith("enum ")
            for member in members(body):
                member = one_line(re.sub(r"#\[[^\]]*\]", "", member))
                if of_enum or member.startswith("pub "):
                    yield f"{path}{'::' if of_enum else '.'}{member.removeprefix('pub ')}"

    def methods(self, module, head, body, homes):
        of = re.sub(r"^impl(<[^{]*?>)? (?=[A-Z])", "", re.sub(r"<[^<>]*>", "", head))
        if " for " in of or not re.match(r"[A-Z]\w*", of):
            return
        home = homes.get(self.resolve((*module, re.match(r"\w+", of)[0])))
        for attributes, method, _ in items(body):
            if home and method.startswith("pub ") and not HIDDEN.search(attributes):
                method = method.removeprefix("pub ")
                if "fn " not in method:
                    method = method.partition(" = ")[0]
                yield f"{'::'.join(home)}::{NAME.search(method)[1]}: {method}"


def surface():
    return "".join(line + "\n" for line in sorted(set(Crate().lines())))


if __name__ == "__main__":
    SNAPSHOT.write_text(surface(), encoding="utf-8")
