"""Claims as types of the caller. Errors name claims and never quote them."""

from __future__ import annotations

import importlib.util
import traceback
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Any, Literal, NotRequired, TypedDict

import idgate

CLAIMS: dict[str, Any] = {
    "given_name": "Erika",
    "birthdate": "1984-08-12",
    "age_over_18": True,
    "sex": 2,
    "height": 1.72,
    "nationalities": ["DE", "LU"],
    "address": {"locality": "Luxembourg", "further": None},
}
RESULT = idgate.Result({"pid": CLAIMS, "mdl": {"age_over_18": False}}, {})


class Sex(Enum):
    MALE = 1
    FEMALE = 2


@dataclass(frozen=True)
class Address:
    locality: str
    region: str | None = None


@dataclass
class Person:
    given_name: str
    birthdate: date
    age_over_18: bool
    sex: Sex
    height: float
    nationalities: list[Literal["DE", "LU"]]
    address: Address
    email: str | None = None
    seen: list[str] = field(default_factory=list)


class Age(TypedDict):
    age_over_18: bool
    age_over_21: NotRequired[bool]


class Everything(TypedDict):
    pid: Person
    mdl: Age


@dataclass
class Loose:
    nationalities: tuple[str, ...]
    address: dict[str, str | None]
    height: int | float
    given_name: Any


@dataclass
class Abstract:
    nationalities: Sequence[str]
    address: Mapping[str, Any]


class ClaimsTest(unittest.TestCase):
    def test_a_dataclass_is_filled_with_what_it_has(self) -> None:
        person = RESULT.credential("pid", Person)
        self.assertEqual((person.given_name, person.birthdate), ("Erika", date(1984, 8, 12)))
        self.assertEqual((person.sex, person.address), (Sex.FEMALE, Address("Luxembourg")))
        self.assertEqual((person.email, person.seen, person.nationalities), (None, [], ["DE", "LU"]))
        loose = RESULT.credential("pid", Loose)
        self.assertEqual((loose.nationalities, loose.height), (("DE", "LU"), 1.72))
        self.assertEqual(RESULT.credential("pid", Abstract).nationalities, ["DE", "LU"])

    def test_a_typed_dict_has_its_members_and_no_others(self) -> None:
        self.assertEqual(RESULT.credential("pid", Age), {"age_over_18": True})
        everything = RESULT.claims_as(Everything)
        self.assertEqual(everything["mdl"], {"age_over_18": False})
        self.assertEqual(everything["pid"].given_name, "Erika")

    def test_without_a_type_claims_are_a_dictionary(self) -> None:
        self.assertEqual(RESULT.credential("pid"), CLAIMS)
        with self.assertRaises(KeyError):
            RESULT.credential("passport")
        with self.assertRaises(KeyError):
            RESULT.credential("passport", Person)

    def test_a_claim_that_does_not_fit_is_named_without_its_value(self) -> None:
        address = {"locality": 5, "further": None}
        for changed, path, rule in (
            ({"given_name": ["Erika"]}, "given_name", "is not a text"),
            ({"birthdate": "Erika"}, "birthdate", "is not a date"),
            ({"birthdate": 5}, "birthdate", "is not a date"),
            ({"age_over_18": 1}, "age_over_18", "is not true or false"),
            ({"sex": "Erika"}, "sex", "is not one of Sex"),
            ({"height": True}, "height", "is not a number"),
            ({"nationalities": ["DE", "Erika"]}, "nationalities[1]", "is not an expected value"),
            ({"nationalities": "Erika"}, "nationalities", "is not a list"),
            ({"address": "Erika"}, "address", "is not an object"),
            ({"address": address}, "address.locality", "is not a text"),
            ({"address": {}}, "address.locality", "is not there"),
        ):
            result = idgate.Result({"pid": {**CLAIMS, **changed}}, {})
            with self.subTest(path), self.assertRaises(idgate.ClaimsError) as raised:
                result.credential("pid", Person)
            error = raised.exception
            self.assertEqual((error.path, error.rule), (path, rule))
            self.assertNotIn("Erika", "".join(traceback.format_exception(error)))
        with self.assertRaises(idgate.ClaimsError) as raised:
            RESULT.credential("mdl", Person)
        self.assertEqual(str(raised.exception), "address: is not there")

    def test_a_type_that_cannot_be_filled_is_a_type_error(self) -> None:
        for kind in (set, complex, bytes, dict[str, set[str]], dict[str, complex]):
            with self.assertRaisesRegex(TypeError, "use a dataclass, a TypedDict"):
                RESULT.credential("mdl", kind)

    @unittest.skipUnless(importlib.util.find_spec("pydantic"), "pydantic is not installed")
    def test_a_pydantic_model_validates(self) -> None:
        import pydantic

        class Model(pydantic.BaseModel):
            given_name: str
            birthdate: date

        model = RESULT.credential("pid", Model)
        self.assertEqual((model.given_name, model.birthdate.year), ("Erika", 1984))
        result = idgate.Result({"pid": {"given_name": "Erika", "birthdate": "Mustermann"}}, {})
        with self.assertRaises(idgate.ClaimsError) as raised:
            result.credential("pid", Model)
        self.assertEqual(raised.exception.path, "birthdate")
        self.assertNotIn("Mustermann", "".join(traceback.format_exception(raised.exception)))


if __name__ == "__main__":
    unittest.main()
