"""Claims as a type of the caller: a dataclass, a TypedDict or a pydantic model. Errors name claims and never
quote their values."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Any, TypeVar, is_typeddict

from .errors import ClaimsError

T = TypeVar("T")
_MISSING = dataclasses.MISSING
#: The JSON types for these, and their names in messages.
_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    dict: ((dict,), "an object"),
    list: ((list,), "a list"),
}


def read(value: Any, kind: type[T]) -> T:
    """The value as that type."""
    made: T = _read(value, kind, "")
    return made


def _read(value: Any, kind: Any, path: str) -> Any:
    if kind is Any or kind is object:
        return value
    if kind is None or kind is type(None):
        return _matching(value, value is None, path, "null")
    if kind in _PLAIN:
        plain, name = _PLAIN[kind]
        fits = isinstance(value, plain) and (kind is bool or not isinstance(value, bool))
        return _matching(value, fits, path, name)
    if kind is date:
        return _made(lambda: date.fromisoformat(value), path, "a date")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _made(lambda: kind(value), path, f"one of {kind.__name__}")
    if is_typeddict(kind):
        kinds = typing.get_type_hints(kind, include_extras=True)
        return _members(value, kinds, {name for name in kinds if _is_required(kind, name, kinds[name])}, path)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        fields = [it for it in dataclasses.fields(kind) if it.init]
        kinds = typing.get_type_hints(kind, include_extras=True)
        needed = {it.name for it in fields if it.default is _MISSING and it.default_factory is _MISSING}
        return kind(**_members(value, {it.name: kinds[it.name] for it in fields}, needed, path))
    if validate := getattr(kind, "model_validate", None):
        return _validated(value, validate, path)
    return _generic(value, kind, path)


def _generic(value: Any, kind: Any, path: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return _read(value, arguments[0], path)
    if origin is typing.Literal:
        fits = any(value == one and type(value) is type(one) for one in arguments)
        return _matching(value, fits, path, "an expected value")
    if origin in (typing.Union, types.UnionType):
        return _first(value, arguments, path)
    if origin in (list, Sequence):
        elements = _matching(value, isinstance(value, list), path, "a list")
        return [_read(one, arguments[0], f"{path}[{at}]") for at, one in enumerate(elements)]
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        elements = _matching(value, isinstance(value, list), path, "a list")
        return tuple(_read(one, arguments[0], f"{path}[{at}]") for at, one in enumerate(elements))
    if origin in (dict, Mapping):
        members = _matching(value, isinstance(value, dict), path, "an object")
        return {name: _read(one, arguments[1], _inside(path, name)) for name, one in members.items()}
    raise TypeError(
        f"claims cannot be read as {kind!r}: use a dataclass, a TypedDict, a pydantic model, or str, int, float, "
        "bool, date, Enum, Literal, list, dict and unions of them"
    )


def _members(value: Any, kinds: dict[str, Any], needed: set[str], path: str) -> dict[str, Any]:
    """The members that have a kind. Other members are left out."""
    members = _matching(value, isinstance(value, dict), path, "an object")
    for name in sorted(needed - members.keys()):
        raise ClaimsError(_inside(path, name), "is not there")
    return {name: _read(members[name], kinds[name], _inside(path, name)) for name in kinds if name in members}


def _is_required(typed_dict: Any, name: str, kind: Any) -> bool:
    """Whether the member is required. ``__required_keys__`` is wrong if annotations are texts."""
    match typing.get_origin(kind):
        case typing.Required:
            return True
        case typing.NotRequired:
            return False
    return name in typed_dict.__required_keys__


def _first(value: Any, kinds: tuple[Any, ...], path: str) -> Any:
    """The value as the first of these kinds that fits."""
    failed = ClaimsError(path, "is not an expected value")
    for kind in kinds:
        try:
            return _read(value, kind, path)
        except ClaimsError as error:
            failed = error
    raise failed


def _validated(value: Any, validate: Callable[[Any], Any], path: str) -> Any:
    """The value as pydantic reads it, without pydantic's errors, which quote values."""
    try:
        return validate(value)
    except ValueError as error:
        told: list[dict[str, Any]] = getattr(error, "errors", list)()
        where = [str(part) for part in (told[0]["loc"] if told else ())]
    raise ClaimsError(".".join([*([path] if path else []), *where]), "does not match the model")


def _made(make: Callable[[], Any], path: str, name: str) -> Any:
    try:
        return make()
    except (TypeError, ValueError):
        pass
    raise ClaimsError(path, f"is not {name}")


def _matching(value: Any, fits: bool, path: str, name: str) -> Any:
    if not fits:
        raise ClaimsError(path, f"is not {name}")
    return value


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
