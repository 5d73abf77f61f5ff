#!/usr/bin/env python3
"""osora dashboard in a real browser: the policy of its pages allows what they do, and the console
stays silent, on a large and on a small screen. Skipped without chromium."""
import subprocess
import tempfile
from pathlib import Path

from dashboard_test import RUN_FILE, Dashboard, events_of
from run_kit import PATIENCE_S, environment, eventually, osora
from report_browser_test import browser


class Page:
    """Pages that stay connected: no virtual time, which would wait for their end."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def open(self, address, *options):
        """(DOM once the page is loaded, lines of the console)."""
        done = subprocess.run(
            [self.program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", f"--user-data-dir={self.folder}/profile",
             "--enable-logging=stderr", *options, address],
            capture_output=True, text=True, timeout=5 * PATIENCE_S, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def check(page, dashboard, folder):
    """The policy allows the script, its style sheets and its connection: a refusal would be on the
    console, and the script would not have marked the page."""
    for path in ("", "run/2"):
        dom, console = page.open(dashboard.first["url"] + path, "--dump-dom")
        assert console == [], console
        assert 'data-connected="' in dom, dom[:300]
    dom, console = page.open(dashboard.first["url"] + "diff?a=1&b=2", "--dump-dom")
    assert console == [], console
    assert "optim.lr" in dom, dom[:300]  # the runs' settings
    assert dom.count("<canvas") + dom.count("<svg") >= 2, dom[:300]  # a chart of each run
    for width in (1200, 400):
        picture = folder / f"runs-{width}.png"
        page.open(dashboard.first["url"], f"--screenshot={picture}", f"--window-size={width},700")
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5000


def main():
    program = browser()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clips.csv").write_text("path,num_frames,height,width\na.mp4,64,96,96\n")
        (folder / "run.toml").write_text(RUN_FILE)
        osora(folder, "submit", "run.toml", "--set", "optim.lr=0.0005")
        osora(folder, "submit", "run.toml", "--detach", OSORA_MOCK_HOLD="20")
        try:
            with Dashboard(folder, "--listen", "127.0.0.1:0") as dashboard, \
                    dashboard.reader() as first:
                events_of(first, lambda event: event["step"] == 20)
                eventually(lambda: 'class="live"' in dashboard.get("/")[1], "the run on /")
                check(Page(program, folder), dashboard, folder)
                assert dashboard.end()[0] == 130
        finally:
            osora(folder, "cancel", "2", "--now")


if __name__ == "__main__":
    main()
