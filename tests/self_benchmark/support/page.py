"""Opening a page of `assay report` in headless Chromium, until all is drawn that is in view."""
import glob
import json
import pathlib
import shutil
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path += glob.glob(str(SOURCE / ".deps" / "browser" / "lib" / "python3*" / "site-packages"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None


def need_browser():
    if CHROMIUM is None or sync_playwright is None:
        print(json.dumps({"skip": "no Chromium or no playwright (scripts/bootstrap --full brings them)"}))
        sys.exit(0)


def openings(file, count):
    """Seconds of so many openings of a page."""
    times = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for run in range(count + 1):  # the first brings the browser's files into memory
            page = browser.new_context(offline=True, viewport={"width": 1400, "height": 900}).new_page()
            start = time.perf_counter()
            page.goto(file.as_uri(), timeout=300_000)
            page.wait_for_selector("html[data-ready]", state="attached", timeout=300_000)
            # Two frames later the browser has laid out and painted what is in view.
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            if run > 0:
                times.append(time.perf_counter() - start)
            page.context.close()
        browser.close()
    return times
