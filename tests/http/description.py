"""The description of the API, read by what it says: operations with their parameters and answers, and schemas."""

from __future__ import annotations

import copy
from typing import Any, Iterator, NamedTuple

import jsonschema

from daemon import Answer, Event

METHODS = ("get", "post", "put", "patch", "delete")


class Operation(NamedTuple):
    method: str
    path: str
    parameters: list[dict[str, Any]]
    request: dict[str, Any] | None
    responses: dict[str, dict[str, Any]]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Description:
    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        # A reader must bear further fields; a daemon must not send what is not described.
        self.closed = copy.deepcopy(document)
        for node in every_node(self.closed["components"]):
            if node.get("type") == "object" and "properties" in node:
                node.setdefault("additionalProperties", False)

    def follow(self, node: Any) -> Any:
        while isinstance(node, dict) and "$ref" in node:
            parts = node["$ref"].removeprefix("#/").split("/")
            node = self.document
            for part in parts:
                node = node[part.replace("~1", "/").replace("~0", "~")]
        return node

    def operations(self) -> Iterator[Operation]:
        for path, item in self.document["paths"].items():
            shared = item.get("parameters", [])
            for method in METHODS:
                if method not in item:
                    continue
                described = item[method]
                parameters = [self.follow(each) for each in shared + described.get("parameters", [])]
                responses = {status: self.follow(each) for status, each in described["responses"].items()}
                yield Operation(method.upper(), path, parameters, described.get("requestBody"), responses)

    def check(self, schema: dict[str, Any], value: Any) -> None:
        """Raises jsonschema.ValidationError."""
        whole = {**schema, "components": self.closed["components"]}
        if schema.get("type") == "object" and "properties" in schema:
            whole.setdefault("additionalProperties", False)
        jsonschema.Draft202012Validator(whole).validate(value)

    def check_answer(self, operation: Operation, answer: Answer) -> None:
        """Its status is described, and so are its type, headers and body."""
        described = operation.responses.get(str(answer.status))
        assert described, f"{operation}: the status {answer.status} is not described: {answer.body[:500]!r}"
        self.check_described(described, answer)

    def check_described(self, described: dict[str, Any], answer: Answer) -> None:
        assert answer.type in described["content"], f"{answer.type} is not described for {answer.status}"
        for name, header in described.get("headers", {}).items():
            value = answer.headers.get(name.lower())
            assert value is not None, f"the header {name} is missing in an answer {answer.status}"
            schema = header["schema"]
            self.check(schema, int(value) if schema.get("type") == "integer" else value)
        if answer.body and answer.type.endswith("json"):
            self.check(described["content"][answer.type]["schema"], answer.json())
            if answer.status >= 400:
                assert answer.json()["status"] == answer.status

    def check_event(self, operation: Operation, event: Event) -> None:
        events = operation.responses["200"]["content"]["text/event-stream"]["x-events"]
        assert event.kind in events, f"{operation}: the event {event.kind} is not described"
        self.check(events[event.kind], event.data)


def every_node(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from every_node(child)
