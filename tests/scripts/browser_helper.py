"""The common part of the tests of a page in a browser: Chromium, what it says and asks for, and measuring what it
shows.

Chromium is Debian's, its client playwright: scripts/bootstrap --full brings both."""
import glob
import shutil
import sys
import unittest

from run_helper import ASSAY, SOURCE, RunTest

sys.path.insert(0, str(SOURCE / "tests" / "support"))
sys.path += glob.glob(str(SOURCE / ".deps" / "browser" / "lib" / "python3*" / "site-packages"))

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

WAIT = 60000  # milliseconds until a wait is given up
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# Texts of a plot that lie on one another or leave the plot. A text may be turned: its corners are what is compared.
LABELS = """
() => {
  const corners = (text) => {
    const box = text.getBBox(), turn = text.getScreenCTM();
    return [[box.x, box.y], [box.x + box.width, box.y], [box.x + box.width, box.y + box.height], [box.x, box.y + box.height]]
        .map(([x, y]) => new DOMPoint(x, y).matrixTransform(turn));
  };
  const meet = (a, b) => {
    for (const [p, q] of [[a[0], a[1]], [a[1], a[2]], [b[0], b[1]], [b[1], b[2]]]) {
      const length = Math.hypot(q.x - p.x, q.y - p.y) || 1, x = (q.x - p.x) / length, y = (q.y - p.y) / length;
      const along = (box) => box.map((corner) => corner.x * x + corner.y * y);
      const [one, other] = [along(a), along(b)];
      if (Math.min(Math.max(...one), Math.max(...other)) - Math.max(Math.min(...one), Math.min(...other)) < 1.5) return false;
    }
    return true;
  };
  const found = [];
  let measured = 0;
  for (const plot of document.querySelectorAll('.plot')) {
    const frame = plot.getBoundingClientRect();
    if (!frame.width) continue;
    const texts = [...plot.querySelectorAll('svg text')].filter(
        (text) => text.textContent.trim() && !text.closest('.hoverlayer') && text.getBBox().width > 0 &&
            getComputedStyle(text).visibility !== 'hidden' && getComputedStyle(text).opacity !== '0');
    const boxes = texts.map(corners), title = plot.getAttribute('aria-label');
    measured += texts.length;
    texts.forEach((text, i) => {
      if (boxes[i].some((c) => c.x < frame.left - 1 || c.x > frame.right + 1 || c.y < frame.top - 1 || c.y > frame.bottom + 1))
        found.push(title + ': "' + text.textContent + '" leaves the plot');
      for (let j = 0; j < i; ++j)
        if (meet(boxes[i], boxes[j])) found.push(title + ': "' + text.textContent + '" lies on "' + texts[j].textContent + '"');
    });
  }
  return [measured, found];
}
"""

# What is wider than the page, or a table than its place.
WIDE = """
() => {
  const found = [];
  for (const one of document.querySelectorAll('body *')) {
    if (one.closest('.skip, svg, .scroll table') || !one.checkVisibility()) continue;
    if (one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
      found.push(one.tagName + ' ' + one.className + ' ' + one.textContent.slice(0, 60));
  }
  for (const table of document.querySelectorAll('.scroll table'))
    if (table.checkVisibility() && table.scrollWidth > table.parentNode.clientWidth)
      found.push('table ' + table.caption.textContent + ': ' + table.scrollWidth + ' of ' + table.parentNode.clientWidth);
  return found;
}
"""


# Texts of the page, but for plots, that lie on one another. Text that is cut off counts as far as it is seen.
OVERLAPS = """
() => {
  const boxes = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, parent = text.parentElement;
    if (!text.textContent.trim() || parent.closest('svg, script, style, select, nav, .skip, .unseen') || !parent.checkVisibility()) continue;
    const range = document.createRange(), frame = parent.closest('td, th, .scroll');
    range.selectNodeContents(text);
    const edge = frame ? frame.getBoundingClientRect() : {left: -1e9, right: 1e9, top: -1e9, bottom: 1e9};
    for (const box of range.getClientRects())
      boxes.push({node: text, text: text.textContent.trim().slice(0, 40), left: Math.max(box.left, edge.left), right: Math.min(box.right, edge.right),
                  top: Math.max(box.top, edge.top), bottom: Math.min(box.bottom, edge.bottom)});
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  boxes.forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom - 4; ++j) {
      const b = boxes[j];
      if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
        found.push('"' + a.text + '" lies on "' + b.text + '"');
    }
  });
  return found;
}
"""

# Texts that do not stand out from their ground: a contrast below 4.5 (WCAG 2.1, AA), of the texts of plots that have no colour of a series
# as well.
PALE = """
() => {
  const channels = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const color = channels(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] > 0.9) return color;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  const judge = (node, color, text) => {
    const [low, high] = [light(channels(color)), light(ground(node))].sort((a, b) => a - b), contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) found.add(text.trim().slice(0, 40) + ': ' + contrast.toFixed(2));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, parent = text.parentElement;
    if (!text.textContent.trim() || parent.closest('svg, script, style, .skip, :disabled') || !parent.checkVisibility()) continue;
    judge(parent, getComputedStyle(parent).color, text.textContent);
  }
  for (const text of document.querySelectorAll('.plot .xtick text, .plot .ytick text, .plot .xtitle, .plot .ytitle, .plot .legendtext'))
    judge(text.closest('.main-svg').parentElement.querySelector('.main-svg'), getComputedStyle(text).fill, text.textContent);
  return [...found];
}
"""


@unittest.skipUnless(sync_playwright and CHROMIUM, "no Chromium or no playwright (scripts/bootstrap --full brings them)")
class BrowserTest(RunTest):
    width = 1400

    def setUp(self):
        super().setUp()
        self.said, self.asked = [], []
        player = sync_playwright().start()
        self.addCleanup(player.stop)
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        self.addCleanup(browser.close)
        self.page = browser.new_context(offline=True, viewport={"width": self.width, "height": 900}).new_page()
        self.page.set_default_timeout(WAIT)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("a dialog: " + dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, files):
        out = self.folder / "report.html"
        self.command(ASSAY, "report", *files, "-o", out, code=0)
        self.page.goto(out.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")
        self.address = out.as_uri()

    def quiet(self):
        self.assertEqual(self.said, [], "the console is not empty")
        self.assertEqual([url for url in self.asked if url != self.address and not url.startswith(("data:", "blob:"))], [])

    def draw_all(self):
        """Each plot is drawn when it comes into view."""
        plots = self.page.locator(".plot")
        for i in range(plots.count()):
            plots.nth(i).scroll_into_view_if_needed()
            self.page.wait_for_function("i => document.querySelectorAll('.plot')[i].querySelector('svg')", arg=i)

    def unfold(self):
        self.page.evaluate("for (const fold of document.querySelectorAll('details.fold')) fold.open = true")
        # A table that was folded is fitted when it gets its place.
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def assert_fits(self):
        self.assertEqual(self.page.evaluate(WIDE), [])

    def assert_labels_apart(self):
        measured, found = self.page.evaluate(LABELS)
        self.assertGreater(measured, 0, "no label was measured")
        self.assertEqual(found, [])
