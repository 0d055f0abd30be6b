"""Made by maturin from the header."""

from typing import Any

ffi: Any
lib: Any
