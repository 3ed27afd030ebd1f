"""Whatever is asked of the daemon, on SQLite and on a real Redis: every answer is one that the description has, nothing
ends in 500, what fits is not refused as malformed, what does not fit takes nothing, and no lock is left behind."""

from __future__ import annotations

import socket
import unittest
import uuid
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon import SERVER_URL, Answer, Daemon, Stream, await_condition, temporary_directory
from description import Description, Operation
from made_up import NAMES, Made, Maker

EXAMPLES = settings(database=None, deadline=None, print_blob=True, max_examples=60, suppress_health_check=list(HealthCheck))


class RequestsTest(unittest.TestCase):
    daemon: ClassVar[Daemon]
    leases: ClassVar[list[dict[str, Any]]] = []

    @classmethod
    def setUpClass(cls) -> None:
        assert SERVER_URL, "to be run by with_server redis"
        urls = {"sqlite": f"sqlite://{temporary_directory(cls)}/locks.db", "redis": SERVER_URL}
        cls.daemon = Daemon(urls)
        cls.addClassCleanup(cls.daemon.close)
        cls.description = Description(cls.daemon.get("/openapi.json"))
        cls.maker = Maker(cls.description, list(urls))
        cls.operations = {str(each): each for each in cls.description.operations()}

    # ---- Asking ----------------------------------------------------------------------------------

    def answer_to(self, operation: Operation, made: Made) -> Answer | None:
        """Checked. None: it is a stream of events, of which one was read, and which was closed."""
        if "text/event-stream" not in operation.responses["200"]["content"]:
            answer = self.daemon.ask(made.method, made.target, made.body, made.headers)
            self.description.check_answer(operation, answer)
            self.note(operation, answer)
            return answer
        with Stream(self.daemon, made.method, made.target, made.body, made.headers) as stream:
            answer = stream.answer() if stream.status != 200 else None
            if answer:
                self.description.check_answer(operation, answer)
            elif operation.path != "/v1/events":  # which may have nothing to tell
                self.description.check_event(operation, next(stream.events()))
        return answer

    def note(self, operation: Operation, answer: Answer) -> None:
        if answer.status == 200 and operation.path in ("/v1/locks/{name}", "/v1/renew") and operation.method == "POST":
            lease = answer.json()
            self.assertEqual(answer.headers["holdfast-token"], str(lease["token"]))
            self.assertLessEqual(lease["valid_for_ms"], lease["valid_from_send_ms"])
            self.leases.append(lease)

    def with_known_lease(self, made: Made, chosen: int) -> Made:
        """Now and then a request names a lease that there is, or was."""
        if not self.leases or chosen % 3 == 0:
            return made
        lease = self.leases[chosen % len(self.leases)]
        if made.target.startswith(("/v1/renew", "/v1/release")):
            text = lease["lease"].replace('"', '\\"')
            return made._replace(body=b'{"lease":"' + text.encode() + b'"}')
        if "/break" in made.target:
            target = f"/v1/locks/{lease['path']}/break?engine={lease['engine']}"
            return made._replace(target=target, body=b'{"token":%d,"reason":"test"}' % lease["token"])
        return made

    # ---- The properties --------------------------------------------------------------------------

    def test_what_fits_is_answered_as_described(self) -> None:
        for operation in self.operations.values():
            with self.subTest(operation=str(operation)):

                @EXAMPLES
                @given(made=Maker.fitting(self.maker, operation), chosen=st.integers(0, 1 << 30))
                def ask(made: Made, chosen: int) -> None:
                    answer = self.answer_to(operation, self.with_known_lease(made, chosen))
                    if answer:
                        self.assertNotIn(answer.status, (401, 403, 405, 408, 413, 415, 421, 431, 500, 501, 505))

                ask()

    def test_what_does_not_fit_is_refused(self) -> None:
        for operation in self.operations.values():
            if operation.path.startswith("/v1"):
                with self.subTest(operation=str(operation)):

                    @EXAMPLES
                    @given(made=Maker.misfit(self.maker, operation))
                    def ask(made: Made) -> None:
                        answer = self.answer_to(operation, made)
                        self.assertTrue(answer and 400 <= answer.status < 500, answer)

                    ask()

    def test_a_free_lock_is_granted_to_every_claim_that_fits(self) -> None:
        operation = self.operations["POST /v1/locks/{name}"]
        least = {each["name"]: each["guarantees"]["min_ttl_ms"] for each in self.daemon.get("/v1/engines")["engines"]}

        @EXAMPLES
        @given(made=Maker.fitting(self.maker, operation), engine=st.sampled_from(sorted(least)), data=st.data())
        def ask(made: Made, engine: str, data: st.DataObject) -> None:
            target = f"/v1/locks/{uuid.uuid4()}?engine={engine}"
            made = made._replace(target=target, headers={"Content-Type": "application/json"})
            answer = self.answer_to(operation, made)
            assert answer
            short = b'"ttl_ms": ' in made.body and int(made.body.split(b'"ttl_ms": ')[1].split(b",")[0].strip(b"} null") or 99) < least[engine]
            self.assertEqual(answer.status, 400 if short else 200, answer.body)

        ask()

    def test_head_is_answered_as_get_without_a_body(self) -> None:
        for operation in self.operations.values():
            if operation.method == "GET":
                target = operation.path.replace("{name}", "x").replace("{file}", "app.js")
                answer = self.daemon.ask("HEAD", target + ("?engine=redis" if operation.parameters and "{file}" not in operation.path else ""))
                self.assertEqual((answer.status, answer.body), (200, b""), target)

    @EXAMPLES
    @given(noise=st.binary(max_size=300), at=st.integers(0, 200), length=st.integers(0, 20))
    def test_bytes_that_are_no_request_are_answered_or_hung_up_on(self, noise: bytes, at: int, length: int) -> None:
        whole = (b"POST /v1/locks/raw?engine=sqlite HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: 15\r\nConnection: close\r\n\r\n{\"ttl_ms\":1000}")
        host, port = self.daemon.place.split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            try:
                connection.sendall(whole[:at] + noise + whole[at + length:])
                connection.shutdown(socket.SHUT_WR)
                told = b"".join(iter(lambda: connection.recv(65536), b""))
            except ConnectionError:
                return
        if told:  # 503: a peer that sends no more counts as gone
            self.assertRegex(told, rb"^HTTP/1\.1 (100|2\d\d|4\d\d|501|503|505) ")

    # ---- Afterwards ------------------------------------------------------------------------------

    def tearDown(self) -> None:
        for lease in self.leases:
            answer = self.daemon.post("/v1/release", {"lease": lease["lease"]})
            self.assertIn(answer.status, (200, 410), answer)
        self.leases.clear()

        # Held streams end when the daemon notices that they were closed; the raw lock after a second.
        def all_free() -> bool:
            return all(not lock["holders"] and not lock["waiters"] for lock in self.daemon.get("/v1/locks")["locks"])

        await_condition(all_free)
        for name in NAMES:
            path = "".join(f"%{byte:02x}" for byte in name)
            for engine in ("sqlite", "redis"):
                lock = self.daemon.get(f"/v1/locks/{path}?engine={engine}")
                self.assertEqual((lock["holders"], lock["waiters"]), ([], []), lock)


if __name__ == "__main__":
    unittest.main(verbosity=2)
