"""The description of the API is well formed, and the daemon has those routes, and no others."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

import jsonschema

from daemon import Daemon, temporary_directory
from description import METHODS, Description, every_node

SOURCES = Path(__file__).parents[2] / "cli" / "serve"


class DescriptionTest(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = Daemon({"sqlite": f"sqlite://{temporary_directory(self)}/locks.db"})
        self.addCleanup(self.daemon.close)
        self.document = self.daemon.get("/openapi.json")
        self.description = Description(self.document)

    def test_it_is_openapi(self) -> None:
        self.assertRegex(self.document["openapi"], r"^3\.1\.\d+$")
        self.assertLessEqual({"info", "paths", "components"}, self.document.keys())
        names = []
        for path, item in self.document["paths"].items():
            self.assertTrue(path.startswith("/"))
            in_path = set(re.findall(r"{(\w+)}", path))
            for method in METHODS:
                if method in item:
                    names.append(item[method]["operationId"])
                    self.assertTrue(item[method]["summary"])
                    self.assertIn("200", item[method]["responses"])
            for operation in self.description.operations():
                if operation.path == path:
                    declared = {each["name"] for each in operation.parameters if each["in"] == "path"}
                    self.assertEqual(declared, in_path, path)
        self.assertEqual(len(names), len(set(names)), "an operationId comes twice")
        for status, response in ((s, r) for o in self.description.operations() for s, r in o.responses.items()):
            self.assertRegex(status, r"^[1-5]\d\d$")
            self.assertTrue(response["description"])

    def test_every_reference_leads_somewhere_and_every_part_is_used(self) -> None:
        used = set()
        for node in every_node(self.document):
            if "$ref" in node:
                self.assertIsNotNone(self.description.follow(node))
                used.add(node["$ref"])
        for kind in ("schemas", "parameters", "responses"):
            for name in self.document["components"][kind]:
                if name != "MethodNotAllowed":  # of every path
                    self.assertIn(f"#/components/{kind}/{name}", used)

    def test_schemas_are_schemas_and_fit_their_examples(self) -> None:
        for schema in self.document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        for node in every_node(self.document["paths"]):
            if "example" in node and "schema" in node:
                self.description.check(node["schema"], node["example"])

    def test_every_route_of_the_daemon_is_described_and_the_other_way_round(self) -> None:
        source = (SOURCES / "daemon.cc").read_text()
        routes = set()
        for method, path in re.findall(r'\badd\(\s*"(\w+)", \{([^}]*)\}', source):
            routes.add((method, "/" + "/".join(re.findall(r'"([^"]+)"', path))))
        for path in re.findall(r"\badd_open\(\s*\{([^}]*)\}", source):
            routes.add(("GET", "/" + "/".join(re.findall(r'"([^"]+)"', path))))
        self.assertEqual(len(routes), source.count(" add(") + source.count(" add_open("), "a route was not understood")
        described = {(o.method, re.sub(r"{\w+}", "*", o.path)) for o in self.description.operations()}
        self.assertEqual(described, routes)

    def test_other_methods_are_answered_with_those_that_there_are(self) -> None:
        for path, item in self.document["paths"].items():
            target = path.replace("{name}", "x").replace("{file}", "app.js")
            there = {method.upper() for method in METHODS if method in item}
            if "GET" in there:
                there.add("HEAD")
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"):
                if method in there:
                    continue
                answer = self.daemon.ask(method, target)
                self.assertEqual(answer.status, 405, f"{method} {target}")
                described = self.document["components"]["responses"]["MethodNotAllowed"]
                self.description.check_described(described, answer)
                self.assertEqual(set(answer.headers["allow"].split(", ")), there, f"{method} {target}")

    def test_codes_are_those_of_the_sources(self) -> None:
        described = self.document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
        header = (SOURCES.parents[1] / "include" / "holdfast" / "result.h").read_text()
        library = re.search(r"enum class Code {(.*?)};", header, re.S)
        assert library
        codes = set(re.findall(r"^\s*(\w+),", library[1], re.M))
        for file in SOURCES.glob("*.cc"):
            codes |= set(re.findall(r'Problem(?:Error)?[({]\s*\d{3},\s*"(\w+)"', file.read_text()))
        self.assertEqual(set(described), codes)


if __name__ == "__main__":
    unittest.main(verbosity=2)
