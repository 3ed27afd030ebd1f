"""Requests made up from the description of the API: such as fit it, and such as do not, in one respect."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes

from hypothesis import strategies as st

from description import Description, Operation

# Few, so that claims meet each other.
NAMES = [b"a", b"a/b", b"\x00", b"\xff\xfe", "gr\u00fc\u00df".encode(), b"%", b"..", b'"<script>', b"x" * 16384]
KEYS = ["k" * 16, "k" * 200, "!" * 100]


class Made(NamedTuple):
    method: str
    target: str
    body: bytes | None
    headers: dict[str, str]
    fits: bool  # the description allows it


def of_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the schemas that requests have."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "null" in kinds:
        other = {**schema, "type": kinds[0]}
        return st.one_of(of_schema(other), of_schema(other), st.none())
    if kinds == ["integer"]:
        least, most = schema["minimum"], schema.get("maximum", 2**64 - 1)
        return st.one_of(st.sampled_from([least, most]), st.integers(least, most))
    if kinds == ["string"] and "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True).filter(lambda text: not text.endswith("\n"))
    if kinds == ["string"]:
        text = st.text(st.characters(blacklist_categories=("Cs",)), min_size=schema.get("minLength", 0), max_size=60)
        return text.filter(lambda made: len(made.encode()) <= 256)
    properties = {key: of_schema(each) for key, each in schema["properties"].items()}
    required = {key: properties.pop(key) for key in schema.get("required", [])}
    return st.fixed_dictionaries(required, optional=properties)


def wrong_values(schema: dict[str, Any]) -> list[Any]:
    """Values that the schema forbids, each for a reason of its own."""
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")]
    values: list[Any] = [True, 1.5, [], {}, {"a": [[[]]]}]
    if "integer" in kinds:
        values += ["1", "", -1, schema["minimum"] - 1, 2**64, -(2**63), 1e300, 10**400]
        if "maximum" in schema:
            values.append(schema["maximum"] + 1)
    else:
        values += [0, 7, -1]
    if "enum" in schema:
        values += ["", "EXCLUSIVE", "exclusive ", "\x00"]
    if "maxLength" in schema:
        values += ["x" * (schema["maxLength"] + 1), "\u20ac" * (schema["maxLength"] // 2)]
    if schema.get("minLength"):
        values.append("")
    if schema.get("pattern"):
        values += ["with blank", "\u20ac", "x" * 41]
    return values


class Maker:
    def __init__(self, description: Description, engines: list[str]) -> None:
        self.description = description
        self.engines = engines

    def names(self) -> st.SearchStrategy[bytes]:
        return st.one_of(st.sampled_from(NAMES), st.binary(min_size=1, max_size=40))

    @st.composite
    @staticmethod
    def target(draw: Any, self: Maker, operation: Operation) -> str:
        """Fits, but for what names of files there are."""
        target = operation.path.replace("{file}", draw(st.sampled_from(["app.js", "index.html", "none", "..%2Fopenapi.json"])))
        if "{name}" in target:
            name = draw(self.names())
            every = draw(st.booleans())
            text = "".join(f"%{byte:02x}" for byte in name) if every else quote_from_bytes(name, safe="")
            target = target.replace("{name}", text)
        query = {}
        for parameter in operation.parameters:
            if parameter["in"] != "query":
                continue
            if parameter["name"] == "engine":
                query["engine"] = draw(st.sampled_from(self.engines))
            elif draw(st.booleans()):
                query[parameter["name"]] = quote_from_bytes(draw(self.names()), safe="")
        return target + ("?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else "")

    def schema(self, operation: Operation) -> dict[str, Any] | None:
        if not operation.request:
            return None
        return self.description.follow(operation.request["content"]["application/json"]["schema"])

    @st.composite
    @staticmethod
    def fitting(draw: Any, self: Maker, operation: Operation) -> Made:
        schema, headers, body = self.schema(operation), {}, None
        if schema:
            fields = draw(of_schema(schema))
            if fields.get("wait_ms"):
                fields["wait_ms"] = min(fields["wait_ms"], 30)  # or the test waits as well
            if "mode" in schema["properties"]:
                fields.pop("permits", None)
                if fields.get("mode") == "permit":
                    fields["permits"] = draw(of_schema({"type": "integer", **{"minimum": 1, "maximum": 2**32 - 1}}))
            body = json.dumps(fields, ensure_ascii=draw(st.booleans())).encode()
            headers["Content-Type"] = draw(st.sampled_from(["application/json", "application/json; charset=utf-8"]))
        if any(each["name"] == "Idempotency-Key" for each in operation.parameters) and draw(st.booleans()):
            headers["Idempotency-Key"] = draw(st.one_of(st.sampled_from(KEYS), st.from_regex("[!-~]{16,200}", fullmatch=True)))
        return Made(operation.method, draw(Maker.target(self, operation)), body, headers, True)

    @st.composite
    @staticmethod
    def misfit(draw: Any, self: Maker, operation: Operation) -> Made:
        """A request that fits, spoilt."""
        made: Made = draw(Maker.fitting(self, operation))
        spoilers = [self.spoil_query]
        if any(each["name"] == "Idempotency-Key" for each in operation.parameters):
            spoilers.append(self.spoil_key)
        if "{name}" in operation.path:
            spoilers.append(self.spoil_name)
        if self.schema(operation):
            spoilers += [self.spoil_field, self.spoil_field, self.spoil_body, self.spoil_type]
        return draw(st.sampled_from(spoilers))(draw, made, operation)._replace(fits=False)

    def spoil_query(self, draw: Any, made: Made, _: Operation) -> Made:
        wrong = ["engine=none", "engine=", "unknown=1", "ttl_ms=5", "engine=%zz", "%", "=", "a%00b=c", "engine=sqlite%00"]
        joint = "&" if "?" in made.target else "?"
        return made._replace(target=made.target + joint + draw(st.sampled_from(wrong)))

    def spoil_key(self, draw: Any, made: Made, _: Operation) -> Made:
        key = draw(st.sampled_from(["", "short", "k" * 15, "k" * 201, "with blank in between", "\u00fc" * 20]))
        return made._replace(headers={**made.headers, "Idempotency-Key": key})

    def spoil_name(self, draw: Any, made: Made, operation: Operation) -> Made:
        before, after = operation.path.split("{name}")
        name = draw(st.sampled_from(["x" * 16385, "%", "%4", "%zz", "a%2", *([""] if after else [])]))
        return made._replace(target=before + name + after + "?engine=" + self.engines[0])

    def spoil_field(self, draw: Any, made: Made, operation: Operation) -> Made:
        schema = self.schema(operation)
        assert schema and made.body is not None
        fields = json.loads(made.body)
        if draw(st.integers(0, 4)) == 0:
            fields[draw(st.sampled_from(["", "Mode", "ttl", "lease ", "\x00", "__proto__", "x" * 300]))] = 1
        elif schema.get("required") and draw(st.booleans()):
            fields.pop(draw(st.sampled_from(schema["required"])))
        else:
            key = draw(st.sampled_from(sorted(schema["properties"])))
            fields[key] = draw(st.sampled_from(wrong_values(schema["properties"][key])))
        return made._replace(body=json.dumps(fields).encode())

    def spoil_body(self, draw: Any, made: Made, _: Operation) -> Made:
        bodies = [b"{", b"[]", b"null", b"7", b'"x"', b"{}{}", b'{"ttl_ms":1000,"ttl_ms":2000}', b"\xff", b'{"label":"\xff"}',
                  b'{"label":"\\ud800"}', b'{"a":' * 3000 + b"1" + b"}" * 3000, b"[" * 60000, b'{"lease":"x","lease":"x"}',
                  b'{"ttl_ms":NaN}', b"{'ttl_ms':1000}", b"\x00", b" ", b"//"]
        return made._replace(body=draw(st.one_of(st.sampled_from(bodies), st.binary(min_size=1, max_size=200))))

    def spoil_type(self, draw: Any, made: Made, _: Operation) -> Made:
        kind = draw(st.sampled_from(["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"]))
        return made._replace(headers={**made.headers, "Content-Type": kind})
