"""The page for those who cannot see it as it was drawn: names, roles, contrast, motion, width."""

from __future__ import annotations

import unittest
from typing import Any

from page_case import PageCase
from world import Daemon, await_lock

NAMED = {"button", "textbox", "searchbox", "combobox", "checkbox", "link", "dialog", "img", "image", "region", "search", "listbox"}
CONTRAST = r"""
  const number = (text) => text.match(/[\d.]+/g).map(Number);
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)); };
  const light = (colour) => { const [r, g, b] = colour.map((each) => { const c = each / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) {
      const rect = each.tagName === 'g' ? each.querySelector('rect') : null;
      if (rect) layers.push(number(getComputedStyle(rect).fill));
      layers.push(number(getComputedStyle(each).backgroundColor));
    }
    return layers.reverse().reduce((below, top) => (top.length < 3 ? below : over(top, below)), [255, 255, 255]);
  };
  const bad = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || ['TITLE', 'title', 'OPTION', 'NOSCRIPT'].includes(node.tagName) || node.closest('.hidden, .skip, noscript')) continue;
    if (!node.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })) continue;
    const style = getComputedStyle(node);
    const ink = over(number(node.namespaceURI.endsWith('svg') ? style.fill : style.color), ground(node));
    const [one, other] = [light(ink), light(ground(node))].sort((a, b) => b - a);
    seen += 1;
    if ((one + 0.05) / (other + 0.05) < 4.5) bad.push(`${((one + 0.05) / (other + 0.05)).toFixed(2)} ${node.tagName}.${node.className?.baseVal ?? node.className}: ${walker.currentNode.textContent.slice(0, 40)}`);
  }
  return [seen, bad];
"""


class AccessTest(PageCase):
    expected_errors = ("503 (Service Unavailable)",)

    def setUp(self) -> None:
        super().setUp()
        self.url = self.world.sqlite()
        self.daemon: Daemon = self.world.daemon([f"local={self.url}", "gone=redis://127.0.0.1:1"])
        self.open(self.daemon)

    def populate(self) -> None:
        """Everything that the page can show at once."""
        self.daemon.acquire("disk", "local", ttl_ms=600000, mode="permit", permits=3, label="copy@web1")
        for number in (1, 2):
            self.world.run(self.url, f"lock-{number}", f"owner{number}@web1", f"--owner=job-{number}")
            await_lock(self.daemon, "local", f"lock-{number}", 1)
        for number in (1, 2):
            self.world.run(self.url, f"lock-{3 - number}", f"owner{number}@web1", f"--owner=job-{number}")
        self.browser.await_true("!document.getElementById('deadlocks').hidden")
        self.browser.run("for (const each of document.querySelectorAll('.card details')) each.open = true")
        self.browser.run("for (const each of document.querySelectorAll('.doctor button')) each.click()")
        self.browser.await_true("document.querySelectorAll('.doctor .findings, .doctor .error').length === 2")
        self.daemon.acquire("abandoned", "local", ttl_ms=16000, label="late@web1")
        # Rows out of sight are not kept up to date.
        self.browser.run("document.getElementById('rows').scrollIntoView()")
        self.browser.await_true("document.querySelector('#rows .left[data-late=yes]')")
        self.open_lock("lock-1")
        self.browser.await_true("document.querySelector('.events li') && document.querySelector('.timeline')")

    def tree(self) -> list[dict[str, Any]]:
        self.browser.command("Accessibility.enable")
        nodes: list[dict[str, Any]] = self.browser.command("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node.get("ignored")]

    @staticmethod
    def said(node: dict[str, Any], key: str) -> str:
        return str(node.get(key, {}).get("value", ""))

    def assert_named(self, nodes: list[dict[str, Any]]) -> None:
        nameless = [self.said(node, "role") for node in nodes if self.said(node, "role") in NAMED and not self.said(node, "name").strip()]
        self.assertEqual(nameless, [])

    def test_every_control_has_a_name_and_headings_are_in_order(self) -> None:
        self.populate()
        nodes = self.tree()
        self.assert_named(nodes)
        buttons = [self.said(node, "name") for node in nodes if self.said(node, "role") == "button"]
        self.assertIn("Break… the hold of owner1@web1", " ".join(buttons))
        self.assertIn("Ask the doctor about gone", buttons)
        self.assertEqual(len([each for each in nodes if self.said(each, "role") == "main"]), 1)
        levels = self.browser.run("return [...document.querySelectorAll('h1, h2, h3')].filter((each) => each.checkVisibility()).map((each) => Number(each.tagName[1]))")
        self.assertEqual(levels[0], 1)
        for before, after in zip(levels, levels[1:]):
            self.assertLessEqual(after, before + 1)
        self.browser.click(".holder-card .danger")
        self.assert_named(self.tree())
        ids = self.browser.run("const ids = [...document.querySelectorAll('[id]')].map((each) => each.id); return ids.length - new Set(ids).size")
        self.assertEqual(ids, 0)

    def test_the_table_stays_a_table_where_its_rows_are_cards(self) -> None:
        self.daemon.acquire("report", "local", ttl_ms=600000, label="batch@web1")
        self.await_row("report")
        for width in (1280, 360):
            self.browser.resize(width, 900)
            nodes = self.tree()
            by_id = {node["nodeId"]: node for node in nodes}
            tables = [node for node in nodes if self.said(node, "role") == "table"]
            self.assertEqual([self.said(table, "name") for table in tables], ["Locks"])
            rows = [node for node in nodes if self.said(node, "role") == "row"]
            header = [node for node in nodes if self.said(node, "role") == "rowheader"]
            self.assertEqual([self.said(node, "name") for node in header], ["report"])
            self.assertGreaterEqual(len(rows), 1)
            cells = [self.said(node, "name") for node in nodes if self.said(node, "role") in ("cell", "gridcell")]
            self.assertTrue(any("batch@web1" in cell for cell in cells), cells)
            if width == 360:  # Without a heading each cell says itself what it is.
                self.assertTrue(any(cell.startswith("Holder") for cell in cells), cells)
            else:
                self.assertEqual(len([node for node in nodes if self.said(node, "role") == "columnheader"]), 9)
            self.assertTrue(all(node["nodeId"] in by_id for node in rows))

    def test_text_has_contrast_in_both_schemes(self) -> None:
        self.populate()
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            for step in ("detail", "break", "narrow"):
                if step == "break":
                    self.browser.run("document.querySelector('.holder-card .danger').click()")
                if step == "narrow":
                    self.browser.press("Escape")
                    self.browser.resize(360, 900)
                seen, bad = self.browser.run(CONTRAST)
                self.assertGreater(seen, 60)
                self.assertEqual(bad, [], f"{scheme}, {step}")
            self.browser.resize(1280, 900)

    def test_nothing_moves_for_those_who_asked_for_it(self) -> None:
        self.daemon.acquire("report", "local", ttl_ms=600000)
        self.await_row("report")
        moving = "const style = getComputedStyle(document.querySelector('#rows .fill')); return [style.transitionProperty, style.transitionDuration]"
        self.assertIn("none", self.browser.run(moving))
        self.browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "no-preference"}])
        self.assertIn("transform", self.browser.run(moving))

    def test_all_of_it_fits_every_window(self) -> None:
        self.populate()
        for width in (360, 480, 600, 768, 1024, 1100, 1280, 1920):
            self.assert_fits(width)
            if self.browser.run("return document.getElementById('detail').open"):
                self.browser.run("document.querySelector('#detail .close').click()")
            self.assert_fits(width)
            self.open_lock("lock-1")

    def test_changes_are_said(self) -> None:
        self.browser.await_true("document.getElementById('spoken').textContent !== ''")
        self.populate()
        self.browser.await_true("document.getElementById('spoken').textContent === 'A deadlock was found.'")
        spoken = [node for node in self.tree() if self.said(node, "role") == "status"]
        self.assertEqual(len(spoken), 1)


if __name__ == "__main__":
    unittest.main()
