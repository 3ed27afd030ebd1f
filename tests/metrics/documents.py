"""What docs/METRICS.md and docs/metrics say: metrics, queries, panels, alerts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Iterator

import yaml

from services import SOURCE

PAGE = (SOURCE / "docs/METRICS.md").read_text(encoding="utf-8")
DASHBOARD: dict[str, Any] = json.loads((SOURCE / "docs/metrics/grafana.json").read_text(encoding="utf-8"))
RULES = (SOURCE / "docs/metrics/alerts.yml").read_text(encoding="utf-8")
ALERTS: list[dict[str, Any]] = yaml.safe_load(RULES)["groups"][0]["rules"]


@dataclass
class Query:
    where: str
    expression: str


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def panel_queries() -> Iterator[Query]:
    """With Grafana's variables replaced: everything, and a window in which the test's traffic lies."""
    for panel in panels():
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "5m")
            expression = expression.replace("$engine", ".*").replace("$name", ".*")
            yield Query(f"panel {panel['title']}, {target['refId']}", expression)


def page_queries() -> Iterator[Query]:
    for block in re.findall(r"```promql\n(.*?)```", PAGE, re.DOTALL):
        for part in re.split(r"^#.*\n", block, flags=re.MULTILINE):
            lines: list[str] = []
            for line in part.splitlines():
                if lines and line.startswith(" "):
                    lines[-1] += line  # a query that goes on
                elif line:
                    lines.append(line)
            yield from (Query("METRICS.md", line) for line in lines)


def alert_queries() -> Iterator[Query]:
    for alert in ALERTS:
        yield Query(f"alert {alert['alert']}", alert["expr"])


def metrics_in(expression: str) -> set[str]:
    """Names of metrics as they are declared: without what a histogram appends."""
    found = set(re.findall(r"\b(?:holdfast|process)_[a-z_]+", expression))
    return {re.sub(r"_(bucket|sum|count)$", "", name) if "_seconds_" in name else name for name in found}


def metrics_on(exposed: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+)", exposed, re.MULTILINE))
