"""Loss, renewal, and leases that nobody released."""

import gc
import threading
import unittest
import warnings

import holdfast
from support import StoreCase, await_condition


class LeasesTest(StoreCase):
    def evict(self, lease: holdfast.Lease) -> None:
        self.client.evict(lease.name, lease.token)

    def test_the_loss_of_a_lock_is_an_event(self) -> None:
        lease = self.client.mutex("x", ttl=0.5).acquire()
        self.assertFalse(lease.lost.is_set())
        self.assertFalse(lease.lost.wait(0))
        self.assertFalse(lease.lost.wait(0.01))
        heard = []
        threads = [threading.Thread(target=lambda: heard.append(lease.lost.wait())) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.evict(lease)
        for thread in threads:
            thread.join()
        self.assertEqual(heard, [True] * 3)
        self.assertTrue(lease.lost)
        self.assertFalse(lease.held)
        with self.assertRaises(holdfast.NotHeld):
            lease.renew()
        with self.assertRaises(holdfast.NotHeld):
            lease.release()
        self.assertTrue(lease.lost.is_set())  # a loss stays one

    def test_a_release_ends_the_wait_for_a_loss(self) -> None:
        lease = self.client.mutex("x").acquire()
        heard = []
        thread = threading.Thread(target=lambda: heard.append(lease.lost.wait()))
        thread.start()
        lease.release()
        thread.join()
        self.assertEqual(heard, [False])
        self.assertFalse(lease.lost.is_set())

    def test_the_event_of_a_lease_that_ended_can_still_be_asked(self) -> None:
        with self.client.mutex("x") as lease:
            pass
        self.assertFalse(lease.lost.wait())
        lost = lease.lost
        del lease
        gc.collect()
        self.assertFalse(lost.is_set())

    def test_renewal_moves_the_end(self) -> None:
        with self.client.mutex("x", ttl=60, auto_renew=False) as lease:
            before = lease.valid_for
            await_condition(lambda: lease.valid_for < before - 0.02)
            lease.renew()
            self.assertGreater(lease.valid_for, before - 0.02)

    def test_a_lease_without_renewal_ends(self) -> None:
        lease = self.client.mutex("x", ttl=0.1, auto_renew=False).acquire()
        self.assertTrue(lease.lost.wait(20))
        self.client.mutex("x").acquire(timeout=20).release()
        with self.assertRaises(holdfast.NotHeld):
            lease.release()

    def test_a_block_whose_lock_was_lost_says_so(self) -> None:
        with self.assertRaises(holdfast.NotHeld):
            with self.client.mutex("x") as lease:
                self.evict(lease)
        self.assertTrue(lease.lost.wait())  # also when it is asked only now
        with self.assertRaises(KeyError):  # and hides no exception of the block
            with self.client.mutex("x") as lease:
                self.evict(lease)
                raise KeyError
        with self.client.mutex("x") as lease:
            lease.release()  # early: the end of the block has nothing to do

    def test_a_lease_that_is_collected_is_released_with_a_warning(self) -> None:
        lease = self.client.mutex("x").acquire()
        with self.assertWarnsRegex(ResourceWarning, "'x' was not released"):
            del lease
            gc.collect()
        self.assertEqual(self.holders(), 0)

    def test_so_is_one_whose_event_is_still_known(self) -> None:
        lease = self.client.mutex("x").acquire()
        lost = lease.lost
        with self.assertWarns(ResourceWarning):
            del lease
            gc.collect()
        self.assertEqual(self.holders(), 0)
        self.assertFalse(lost.wait())

    def test_what_was_released_is_collected_in_silence(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lease = self.client.mutex("x").acquire()
            lease.release()
            del lease
            gc.collect()


if __name__ == "__main__":
    unittest.main()
