"""Plain values: modes, what is required of an engine, what others see."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional, Tuple, Union

from ._errors import InvalidArgument
from ._native import lib


class Mode(enum.IntEnum):
    EXCLUSIVE = lib.HF_EXCLUSIVE
    SHARED = lib.HF_SHARED
    PERMIT = lib.HF_PERMIT


class Exclusion(enum.IntEnum):
    """How firmly an engine excludes; the greater the better."""

    BEST_EFFORT = lib.HF_BEST_EFFORT
    BOUNDED_BY_CLOCKS = lib.HF_BOUNDED_BY_CLOCKS
    LINEARIZABLE = lib.HF_LINEARIZABLE


class TokenStrength(enum.IntEnum):
    """What an engine's tokens survive; the greater the better."""

    NONE = lib.HF_TOKEN_NONE
    VOLATILE = lib.HF_TOKEN_VOLATILE
    DURABLE_ONE_NODE = lib.HF_TOKEN_DURABLE_ONE_NODE
    QUORUM = lib.HF_TOKEN_QUORUM
    LINEARIZABLE = lib.HF_TOKEN_LINEARIZABLE


@dataclass(frozen=True)
class Guarantees:
    """What the engine can give; from the first answer of a server on, what that server can."""

    engine: str
    recipe: str
    exclusion: Exclusion
    token: TokenStrength
    shared_mode: bool
    permit_mode: bool
    pushes: bool
    in_order: bool
    min_ttl: float


@dataclass(frozen=True)
class Party:
    """One that holds a lock or waits for it. The label is what that client chose: any text."""

    label: str
    mode: Mode
    token: int
    since: Optional[float]
    expires_in: Optional[float]


@dataclass(frozen=True)
class LockInfo:
    name: str
    last_token: int
    permits: int
    holders: Tuple[Party, ...]
    waiters: Tuple[Party, ...]


#: A lock's name: text, or any bytes.
Name = Union[str, bytes]


def to_bytes(name: Name) -> bytes:
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def c_text(value: bytes, what: str) -> bytes:
    """For a parameter of C that ends with NUL."""
    if b"\0" in value:
        raise InvalidArgument(f"{what} has a NUL byte in it")
    return value


def from_bytes(name: bytes) -> str:
    """Bytes that are no UTF-8 become what os.fsdecode() makes of them; to_bytes() gives them back."""
    return name.decode("utf-8", "surrogateescape")
