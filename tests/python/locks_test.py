"""Locks of all modes, their outcomes, and what others see."""

import os
import pickle
import unittest
from typing import Callable, List

import holdfast
from support import StoreCase


class LocksTest(StoreCase):
    def test_a_lease_holds_until_it_is_released(self) -> None:
        with self.client.mutex("x") as lease:
            self.assertTrue(lease.held)
            self.assertEqual(lease.name, "x")
            self.assertEqual(lease.mode, holdfast.Mode.EXCLUSIVE)
            self.assertTrue(0 < lease.valid_for <= 30)
            self.assertEqual(self.holders(), 1)
        self.assertFalse(lease.held)
        self.assertEqual(lease.valid_for, 0)
        self.assertEqual(self.holders(), 0)
        with self.assertRaises(holdfast.Closed):
            lease.release()
        with self.client.mutex("x") as later:
            self.assertGreater(later.token, lease.token)

    def test_busy_names_the_holder(self) -> None:
        other = holdfast.open(self.url).mutex("x")
        with self.client.mutex("x") as lease:
            attempts: List[Callable[[], holdfast.Lease]] = [
                other.try_acquire,
                lambda: other.acquire(timeout=0.01),
                lambda: other.acquire(timeout=0),
            ]
            for attempt in attempts:
                with self.assertRaises(holdfast.Busy) as caught:
                    attempt()
                busy = caught.exception
                self.assertEqual(busy.holder, "the first client")
                self.assertEqual(busy.lock, "x")
                self.assertEqual(busy.token, lease.token)
                self.assertEqual(busy.code, "busy")
                assert busy.expires_in is not None
                self.assertTrue(0 < busy.expires_in <= 30)
                self.assertIn("the first client", str(busy))
        other.try_acquire().release()

    def test_readers_share_and_a_writer_does_not(self) -> None:
        lock = self.client.shared_mutex("x")
        with lock.shared as one, lock.shared:
            self.assertEqual(one.mode, holdfast.Mode.SHARED)
            with self.assertRaises(holdfast.Busy):
                lock.exclusive.try_acquire()
        with lock.exclusive, self.assertRaises(holdfast.Busy):
            lock.shared.try_acquire()

    def test_a_semaphore_has_so_many_permits(self) -> None:
        lock = self.client.semaphore("x", 2)
        with lock, lock as second:
            self.assertEqual(second.mode, holdfast.Mode.PERMIT)
            with self.assertRaises(holdfast.Busy):
                lock.try_acquire()
            with self.assertRaises(holdfast.InvalidArgument):
                self.client.semaphore("x", 3).try_acquire()

    def test_names_hold_any_bytes(self) -> None:
        name = b"a\0b/\xff\n"
        with self.client.mutex(name) as lease:
            self.assertEqual(os.fsencode(lease.name), name)
            self.assertEqual([lock.name for lock in self.client.list(b"a\0")], [lease.name])
            self.assertEqual(self.client.list("b"), [])
            with self.assertRaises(holdfast.Busy):
                self.client.mutex(lease.name).try_acquire()
        with self.assertRaises(holdfast.InvalidArgument):
            self.client.mutex("")

    def test_wrong_values_are_refused_with_a_reason(self) -> None:
        lock = self.client.mutex("x")
        for wrong in (-1, float("nan")):
            with self.assertRaisesRegex(holdfast.InvalidArgument, "timeout"):
                lock.acquire(timeout=wrong)
        for ttl in (0, -5, 0.0001, float("inf")):
            with self.assertRaisesRegex(ValueError, "ttl"):
                self.client.mutex("x", ttl=ttl)
        for permits in (0, -1, 2**32):
            with self.assertRaisesRegex(holdfast.InvalidArgument, "permits"):
                self.client.semaphore("x", permits)
        texts: List[Callable[[], object]] = [
            lambda: holdfast.open(self.url + "\0x"),
            lambda: self.client.adopt("\0"),
            lambda: holdfast.FenceGate.in_file(self.directory + "/a\0b"),
        ]
        for text in texts:
            with self.assertRaisesRegex(holdfast.InvalidArgument, "NUL"):
                text()
        with self.assertRaisesRegex(holdfast.InvalidArgument, "nonsense"):
            holdfast.open("nonsense://x")
        with self.assertRaises(holdfast.Misconfigured):
            holdfast.open("sqlite:///nowhere/at/all/locks.db").ping()
        try:
            remote = holdfast.open("redis://127.0.0.1:1")
        except holdfast.Misconfigured as error:
            self.assertIn("HOLDFAST_ENGINE_REDIS", str(error))  # it was left out of the build
        else:
            with self.assertRaises(holdfast.Unreachable):
                remote.mutex("x").try_acquire()

    def test_what_an_engine_cannot_give_is_unsupported(self) -> None:
        durable = self.client.guarantees.token
        self.assertEqual(durable, holdfast.TokenStrength.DURABLE_ONE_NODE)
        self.client.mutex("x", token=durable)
        with self.assertRaises(holdfast.Unsupported):
            self.client.mutex("x", token=holdfast.TokenStrength.LINEARIZABLE)

    def test_locks_are_listed_and_evicted(self) -> None:
        lease = self.client.mutex("x").acquire()
        with self.client.mutex("y"):
            self.assertEqual([lock.name for lock in self.client.list()], ["x", "y"])
        info = self.client.inspect("x")
        self.assertEqual(info.holders[0].label, "the first client")
        self.assertEqual((info.holders[0].token, info.last_token), (lease.token, lease.token))
        with self.assertRaises(holdfast.NotHeld):
            self.client.evict("x", lease.token + 1)
        self.client.evict("x", lease.token)
        with self.assertRaises(holdfast.NotHeld):
            lease.release()
        self.client.ping()

    def test_a_detached_lock_is_adopted(self) -> None:
        lease = self.client.mutex("x").acquire()
        token, handle = lease.token, lease.detach()
        with self.assertRaises(holdfast.Busy):
            self.client.mutex("x").try_acquire()
        with holdfast.open(self.url).adopt(handle) as adopted:
            self.assertEqual(adopted.token, token)
        with self.assertRaises(holdfast.NotHeld):
            self.client.adopt(handle)

    def test_nothing_goes_to_another_process_by_pickle(self) -> None:
        with self.client.mutex("x") as lease:
            for thing in (self.client, self.client.mutex("x"), lease):
                with self.assertRaises(TypeError):
                    pickle.dumps(thing)

    def test_a_closed_client_makes_no_locks_and_keeps_its_leases(self) -> None:
        with holdfast.open(self.url) as client:
            lease = client.mutex("x").acquire()
        with self.assertRaises(holdfast.Closed):
            client.mutex("x")
        del client
        self.assertTrue(lease.held)
        lease.release()

    def test_a_fence_refuses_older_tokens(self) -> None:
        gates = (
            holdfast.FenceGate.in_file(self.directory + "/ledger.fence"),
            holdfast.FenceGate.in_sqlite(self.directory + "/ledger.db", b"a\0b"),
        )
        with self.client.mutex("x") as older:
            pass
        for gate in gates:
            self.assertEqual(gate.mark(), 0)
            with self.client.shared_mutex("x").shared as lease:
                with gate.enter(lease):
                    self.assertEqual(gate.mark(), lease.token)
                gate.enter(lease.token, holdfast.Mode.SHARED).end()
            with self.assertRaises(holdfast.StaleToken):
                gate.enter(older.token)
            with self.assertRaises(holdfast.InvalidArgument):
                gate.enter(1, holdfast.Mode.PERMIT)


if __name__ == "__main__":
    unittest.main()
