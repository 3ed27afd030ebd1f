"""The dashboard's structure, and the alerts: what can be checked without a server."""

from __future__ import annotations

import re
import subprocess
import unittest
from typing import Any

from documents import ALERTS, DASHBOARD, PAGE, alert_queries, page_queries, panel_queries, panels
from services import SOURCE

FOLDER = SOURCE / "docs/metrics"


def promtool(*words: str) -> None:
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False, cwd=FOLDER)
    assert done.returncode == 0, f"promtool {' '.join(words)}: {done.stdout}{done.stderr}"


class Dashboard(unittest.TestCase):
    def test_ids_are_unique_and_each_panel_says_what_it_shows(self) -> None:
        ids = [panel["id"] for panel in DASHBOARD["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(len({panel["title"] for panel in panels()}), len(panels()))
        for panel in panels():
            self.assertGreater(len(panel["description"]), 20, panel["title"])
            self.assertIn(panel["type"], ("stat", "timeseries"))
            references = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(references), len(set(references)), panel["title"])

    def test_panels_lie_on_a_grid_of_24_columns_without_overlap(self) -> None:
        taken: dict[tuple[int, int], str] = {}
        for panel in DASHBOARD["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24)
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertNotIn((x, y), taken, panel["title"])
                    taken[x, y] = panel["title"]

    def test_every_data_source_is_the_variable(self) -> None:
        found: list[Any] = []

        def look(at: Any) -> None:
            if isinstance(at, dict):
                found.extend(value for key, value in at.items() if key == "datasource")
                at = list(at.values())
            if isinstance(at, list):
                for each in at:
                    look(each)

        look(DASHBOARD)
        targets = sum(len(panel["targets"]) for panel in panels())
        self.assertEqual(len(found), targets + len(panels()) + 2)  # and two variables that ask for values
        for source in found:
            self.assertEqual(source, {"type": "prometheus", "uid": "${datasource}"})

    def test_every_variable_is_declared_and_used(self) -> None:
        declared = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
        used = set()
        for panel in panels():
            for target in panel["targets"]:
                used |= set(re.findall(r"\$([a-z]\w*)", target["expr"]))
        self.assertEqual(declared, used | {"datasource"})

    def test_labels_in_legends_are_those_of_the_query(self) -> None:
        for panel in panels():
            for target in panel["targets"]:
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    if label != "instance" or "by (" in target["expr"]:
                        self.assertRegex(target["expr"], rf"by \([^)]*\b{label}\b", panel["title"])


class Alerts(unittest.TestCase):
    def test_promtool_takes_them(self) -> None:
        promtool("check", "rules", "--lint=all", "--lint-fatal", "alerts.yml")

    def test_they_fire_when_they_should_and_not_otherwise(self) -> None:
        promtool("test", "rules", "alerts_test.yml")

    def test_each_has_a_unit_test_and_says_what_to_do(self) -> None:
        tests = (FOLDER / "alerts_test.yml").read_text(encoding="utf-8")
        for alert in ALERTS:
            # Once where all is well, once before it fires, and once when it does.
            self.assertGreaterEqual(len(re.findall(rf"alertname: {alert['alert']}\b", tests)), 3, alert["alert"])
            self.assertEqual(set(alert["annotations"]), {"summary", "description"}, alert["alert"])
            self.assertIn(alert["labels"]["severity"], ("page", "ticket"))

    def test_the_page_names_each(self) -> None:
        for alert in ALERTS:
            self.assertIn(f"`{alert['alert']}`", PAGE)


class Queries(unittest.TestCase):
    def test_there_are_some(self) -> None:
        self.assertGreater(len(list(panel_queries())), 25)
        self.assertGreater(len(list(page_queries())), 8)
        self.assertEqual(len(list(alert_queries())), len(ALERTS))


if __name__ == "__main__":
    unittest.main()
