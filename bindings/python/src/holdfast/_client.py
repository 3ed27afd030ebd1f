"""Client: a connection to one engine, and the maker of locks on it."""

from __future__ import annotations

from types import TracebackType
from typing import List, Optional, Tuple, Type

from ._calls import Call, duration
from ._errors import Closed, InvalidArgument, check, error_slot, seconds, text
from ._lease import Lease
from ._lock import Lock, SharedMutex
from ._native import ffi, lib
from ._values import Exclusion, Guarantees, LockInfo, Mode, Name, Party, TokenStrength, c_text, from_bytes, to_bytes


def open(  # noqa: A001
    url: Optional[str] = None,
    *,
    label: Optional[str] = None,
    request_timeout: Optional[float] = None,
    release_timeout: Optional[float] = None,
) -> Client:
    """Opens a client. Without a URL: the embedded engine in the user's state directory.

    ``label`` is what others see of this client. A server is connected to when it is first needed: see ping().
    """
    return Client(url, label=label, request_timeout=request_timeout, release_timeout=release_timeout)


class Client:
    """From every thread. It does not survive fork(): the child raises Forked and must open its own."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        label: Optional[str] = None,
        request_timeout: Optional[float] = None,
        release_timeout: Optional[float] = None,
    ) -> None:
        options = ffi.new("hf_client_options *")
        options.size = ffi.sizeof("hf_client_options")
        options.request_timeout_ms = duration(request_timeout, "request_timeout")
        options.release_timeout_ms = duration(release_timeout, "release_timeout")
        name = to_bytes(label) if label else b""
        kept = ffi.from_buffer(name)
        if name:
            options.label, options.label_length = kept, len(name)
        slot, error = ffi.gc(ffi.new("hf_client **"), lib.pyhf_free_client), error_slot()
        address = ffi.NULL if url is None else c_text(url.encode(), "the URL")
        check(lib.hf_client_open(address, options, slot, error), error)
        self._slot: Optional[ffi.CData] = slot
        self._local = self.guarantees.engine in ("sqlite", "memory")

    def _pointer(self) -> ffi.CData:
        slot = self._slot
        if slot is None:
            raise Closed("this client was closed")
        pointer: ffi.CData = slot[0]
        return pointer

    # ---- Locks

    def mutex(
        self,
        name: Name,
        *,
        ttl: Optional[float] = None,
        warn_before: Optional[float] = None,
        auto_renew: bool = True,
        exclusion: Exclusion = Exclusion.BEST_EFFORT,
        token: TokenStrength = TokenStrength.NONE,
    ) -> Lock:
        """One holder at a time. ``ttl``: for how long the lock outlives a holder that vanished (30 s).

        ``exclusion`` and ``token``: what the engine must be able to give, or Unsupported.
        """
        return self._lock(name, _options(Mode.EXCLUSIVE, ttl, warn_before, auto_renew, exclusion, token))

    def shared_mutex(
        self,
        name: Name,
        *,
        ttl: Optional[float] = None,
        warn_before: Optional[float] = None,
        auto_renew: bool = True,
        exclusion: Exclusion = Exclusion.BEST_EFFORT,
        token: TokenStrength = TokenStrength.NONE,
    ) -> SharedMutex:
        """Many readers (``.shared``) or one writer (``.exclusive``)."""
        writer = _options(Mode.EXCLUSIVE, ttl, warn_before, auto_renew, exclusion, token)
        writer.among_readers = 1
        reader = _options(Mode.SHARED, ttl, warn_before, auto_renew, exclusion, token)
        return SharedMutex(self._lock(name, writer), self._lock(name, reader))

    def semaphore(
        self,
        name: Name,
        permits: int,
        *,
        ttl: Optional[float] = None,
        warn_before: Optional[float] = None,
        auto_renew: bool = True,
        exclusion: Exclusion = Exclusion.BEST_EFFORT,
        token: TokenStrength = TokenStrength.NONE,
    ) -> Lock:
        """At most so many holders at a time; all who name it must say the same number."""
        options = _options(Mode.PERMIT, ttl, warn_before, auto_renew, exclusion, token)
        if not 1 <= permits < 2**32:
            raise InvalidArgument(f"{permits} permits: give at least 1")
        options.permits = permits
        return self._lock(name, options)

    def adopt(self, handle: str, *, ttl: Optional[float] = None, auto_renew: bool = True) -> Lease:
        """Takes over a lock that was detached, here or in another process. NotHeld if it has ended meanwhile."""
        options = _options(Mode.EXCLUSIVE, ttl, None, auto_renew, Exclusion.BEST_EFFORT, TokenStrength.NONE)
        call = Call()
        call.check(lib.pyhf_adopt(call.pointer, self._pointer(), c_text(handle.encode(), "the handle"), options))
        return Lease(call)

    def _lock(self, name: Name, options: ffi.CData) -> Lock:
        data = to_bytes(name)
        slot, error = ffi.gc(ffi.new("hf_lock **"), lib.pyhf_free_lock), error_slot()
        check(lib.hf_lock_new(self._pointer(), data, len(data), options, slot, error), error)
        return Lock(name, slot, self._local)

    # ---- Looking

    def ping(self) -> None:
        """Asks the server now, and takes no lock."""
        error = error_slot()
        check(lib.hf_client_ping(self._pointer(), error), error)

    @property
    def guarantees(self) -> Guarantees:
        found, error = ffi.new("hf_guarantees *"), error_slot()
        found.size = ffi.sizeof("hf_guarantees")
        check(lib.hf_client_guarantees(self._pointer(), found, error), error)
        return Guarantees(
            engine=text(found.engine),
            recipe=text(found.recipe),
            exclusion=Exclusion(found.exclusion),
            token=TokenStrength(found.token),
            shared_mode=bool(found.shared_mode),
            permit_mode=bool(found.permit_mode),
            pushes=bool(found.pushes),
            in_order=bool(found.in_order),
            min_ttl=found.min_ttl_ms / 1000,
        )

    def list(self, prefix: Name = b"") -> List[LockInfo]:
        """Locks whose names begin with the prefix and that are held or waited for, sorted by name."""
        data = to_bytes(prefix)
        slot, error = ffi.gc(ffi.new("hf_locks **"), lib.pyhf_free_locks), error_slot()
        check(lib.hf_client_list(self._pointer(), data, len(data), slot, error), error)
        return [_info(slot[0], i) for i in range(lib.hf_locks_count(slot[0]))]

    def inspect(self, name: Name) -> LockInfo:
        """One lock, also if nobody holds it."""
        data = to_bytes(name)
        slot, error = ffi.gc(ffi.new("hf_locks **"), lib.pyhf_free_locks), error_slot()
        check(lib.hf_client_inspect(self._pointer(), data, len(data), slot, error), error)
        return _info(slot[0], 0)

    def evict(self, name: Name, token: int) -> None:
        """Takes the lock away from the holder with exactly this token. Only a fence protects the resource meanwhile."""
        data = to_bytes(name)
        error = error_slot()
        check(lib.hf_client_evict(self._pointer(), data, len(data), token, error), error)

    def close(self) -> None:
        """No new locks from here on. Locks and leases that there are keep what they need."""
        self._slot = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise TypeError("a client belongs to its process: open one in the other process, too")


def _options(
    mode: Mode,
    ttl: Optional[float],
    warn_before: Optional[float],
    auto_renew: bool,
    exclusion: Exclusion,
    token: TokenStrength,
) -> ffi.CData:
    options = ffi.new("hf_lock_options *")
    options.size = ffi.sizeof("hf_lock_options")
    options.mode = mode
    options.ttl_ms = duration(ttl, "ttl")
    options.warn_before_ms = duration(warn_before, "warn_before")
    options.no_renewal = 0 if auto_renew else 1
    options.exclusion = exclusion
    options.token = token
    return options


def _parties(locks: ffi.CData, index: int, count: int, waiters: bool) -> Tuple[Party, ...]:
    ask = lib.hf_locks_waiter if waiters else lib.hf_locks_holder
    found = ffi.new("hf_party *")
    parties = []
    for i in range(count):
        found.size = ffi.sizeof("hf_party")
        ask(locks, index, i, found)
        parties.append(
            Party(
                label=from_bytes(ffi.buffer(found.label, found.label_length)[:]),
                mode=Mode(found.mode),
                token=found.token,
                since=seconds(found.since_ms),
                expires_in=seconds(found.expires_in_ms),
            )
        )
    return tuple(parties)


def _info(locks: ffi.CData, index: int) -> LockInfo:
    found = ffi.new("hf_lock_info *")
    found.size = ffi.sizeof("hf_lock_info")
    lib.hf_locks_get(locks, index, found)
    return LockInfo(
        name=from_bytes(ffi.buffer(found.name, found.name_length)[:]),
        last_token=found.last_token,
        permits=found.permits,
        holders=_parties(locks, index, found.holders, False),
        waiters=_parties(locks, index, found.waiters, True),
    )
