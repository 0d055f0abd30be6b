"""The documentation lists exactly the stable codes of the core, and Python has the same codes."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = re.compile(r'=> "([a-z_]+)",')
ROW = re.compile(r"^\| `([a-z_]+)` \|", re.MULTILINE)


ARM = re.compile(r'Self::\w+ => "([^"]+)",')
STATUS = re.compile(r"((?:\s*\|?\s*Self::\w+)+) => (\d+),")


def codes_of_the_core():
    """Error codes, reasons and wallet errors, and the HTTP status of each error code."""
    source = (ROOT / "idgate-core/src/error/code.rs").read_text(encoding="utf-8")
    head, rest = source.split("    ErrorCode {")
    errors, rest = rest.split("    Reason {")
    reasons, wallet_errors = rest.split("    WalletError {")
    names = {name: code for name, code in re.findall(r'(\w+) => "([a-z_]+)",', errors)}
    statuses = {
        names[name]: int(status)
        for arms, status in STATUS.findall(head)
        for name in re.findall(r"Self::(\w+)", arms)
    }
    return CODE.findall(errors), CODE.findall(reasons), CODE.findall(wallet_errors), statuses


def arms_of(file, kind, function):
    """The texts that a method of an enum in the core returns."""
    source = (ROOT / "idgate-core/src" / file).read_text(encoding="utf-8")
    body = source.split(f"impl {kind} {{", 1)[1].split(f"fn {function}(self)", 1)[1].split("\n    }\n", 1)[0]
    return ARM.findall(body)


def codes_of_python():
    """The enums in codes.py, the texts that annotate attributes, and the HTTP statuses."""
    tree = ast.parse((ROOT / "bindings/python/src/idgate/codes.py").read_text(encoding="utf-8"))
    enums, texts, statuses = {}, {}, {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = [member for member in node.body if isinstance(member, ast.Assign)]
            enums[node.name] = {member.targets[0].id: member.value.value for member in members}
        elif isinstance(node, ast.Assign):
            elements = getattr(node.value.slice, "elts", [node.value.slice])
            texts[node.targets[0].id] = [element.value for element in elements]
        elif isinstance(node, ast.AnnAssign):
            for key, value in zip(node.value.keys, node.value.values):
                statuses[enums["ErrorCode"][key.attr]] = value.value
    return enums, texts, statuses


class CodesTest(unittest.TestCase):
    def test_python_has_the_codes_of_the_core(self):
        errors, reasons, wallet_errors, statuses = codes_of_the_core()
        enums, texts, theirs = codes_of_python()
        expected = {
            "ErrorCode": errors,
            "Reason": reasons,
            "WalletError": wallet_errors,
            "Status": arms_of("session/mod.rs", "Status", "as_str"),
            "Profile": arms_of("profile.rs", "Profile", "name"),
            "WithheldReason": arms_of("session/redaction.rs", "Withheld", "as_str"),
        }
        self.assertEqual({name: list(members.values()) for name, members in enums.items()}, expected)
        self.assertEqual(texts, {f"{name}Text": codes for name, codes in expected.items()})
        self.assertEqual(theirs, {code: status for code, status in statuses.items() if status != 400})
        self.assertEqual(set(statuses), set(errors))

    def test_the_tables_of_errors_md_are_the_table_of_code_rs(self):
        source = (ROOT / "idgate-core/src/error/code.rs").read_text(encoding="utf-8")
        errors, rest = source.split("    Reason {")
        reasons, wallet_errors = rest.split("    WalletError {")
        text = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
        documented_errors, rest = text.split("## Error codes")[1].split("## Reasons")
        documented_reasons, documented_wallet_errors = rest.split("## Wallet errors")
        self.assertEqual(CODE.findall(errors), ROW.findall(documented_errors))
        self.assertEqual(CODE.findall(reasons), ROW.findall(documented_reasons))
        self.assertEqual(CODE.findall(wallet_errors), ROW.findall(documented_wallet_errors))


if __name__ == "__main__":
    unittest.main()
