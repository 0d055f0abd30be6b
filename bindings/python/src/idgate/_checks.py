"""The types of arguments. A wrong type is a ``TypeError`` that names the argument and says what to pass."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

Buffer = bytes | bytearray | memoryview
E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")


class Frozen:
    """An immutable value: only ``_set`` sets its attributes."""

    __slots__ = ()

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Used by copies and by pickle."""
        self._set(**state[1])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: make a new one")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)


def instance(value: Any, kind: type[T], name: str) -> T:
    """The value, if it is of that class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {_article(kind.__name__)}, not {_kind(value)}")
    return value


def text(value: Any, name: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {_kind(value)}")
    return value


def optional_text(value: Any, name: str) -> str | None:
    """A text, if there is one."""
    return None if value is None else text(value, name)


def octets(value: Any, name: str) -> bytes:
    """A copy of bytes or of a text: another thread may change the original while the library reads."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, os.PathLike):
        raise TypeError(f"{name} must be bytes, not a path: pass its .read_bytes()")
    raise TypeError(f"{name} must be bytes or a str, not {_kind(value)}")


def json_octets(value: Any, name: str) -> bytes:
    """JSON: a text or bytes as they are, or a mapping that is written as JSON."""
    if isinstance(value, Mapping):
        return json_of(value, name)
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return octets(value, name)
    if isinstance(value, os.PathLike):
        raise TypeError(f"{name} must be JSON, not a path: pass its .read_bytes()")
    raise TypeError(f"{name} must be a mapping or JSON, not {_kind(value)}")


def json_of(value: Any, name: str) -> bytes:
    """The value as JSON."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError):
        # Python's own message quotes values.
        raise TypeError(f"{name} has a value that JSON cannot represent") from None


def texts(value: Any, name: str) -> list[str]:
    """A list of texts, not a single text."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list of texts, not {_kind(value)}")
    return [text(one, f"{name}[{at}]") for at, one in enumerate(value)]


def paths(value: Any, name: str) -> dict[str, list[str | None]]:
    """Paths to claims, by the name of the claim."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping of names to paths, not {_kind(value)}")
    return {text(claim, name): _path(path, f"{name}[{claim!r}]") for claim, path in value.items()}


def flag(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {_kind(value)}")
    return value


def number(value: Any, name: str) -> int:
    """A whole number, which is not negative."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {_kind(value)}")
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{name} must be from 0 to 2**63 - 1")
    return value


def one_of(value: Any, choices: Collection[str], name: str) -> str:
    """One of these texts."""
    if text(value, name) not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}")
    return str(value)


def moment(value: Any, name: str = "now") -> datetime:
    """A time with its zone."""
    if not isinstance(value, datetime):
        raise TypeError(f"{name} must be a datetime, not {_kind(value)}")
    if value.tzinfo is None:
        raise ValueError(f"{name} has no time zone; write datetime.now(timezone.utc)")
    return value


def _path(value: Any, name: str) -> list[str | None]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list of member names and None, not {_kind(value)}")
    return [optional_text(one, f"{name}[{at}]") for at, one in enumerate(value)]


def _plain(value: Any) -> Any:
    """Mappings and iterables that ``json`` does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    raise TypeError


def _kind(value: Any) -> str:
    return "None" if value is None else _article(type(value).__name__)


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
