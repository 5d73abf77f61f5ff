#!/usr/bin/env python3
"""HTML reports of real runs in a real browser: every chart is drawn, the console stays silent, the
policy refuses a changed script, and it prints on A4. Skipped without chromium or when osora was
built without charts."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from run_kit import osora, run_file

MORE = """
[worker]
env = { OSORA_MOCK_STEP_S = "0.02" }
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def browser():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    return skip("no chromium (apt-get install chromium)")


class Page:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def open(self, file, *options):
        """(DOM after the scripts ran, lines of the console)."""
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", f"--user-data-dir={self.folder}/profile",
                   "--window-size=1000,1400", "--virtual-time-budget=5000",
                   "--enable-logging=stderr", *options, file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        return done.stdout, console


def check_drawn(page, file):
    figures = file.read_text().count("<figure ")
    dom, console = page.open(file, "--dump-dom")
    assert console == [], console
    assert f'data-charts="{figures}"' in dom, (figures, re.findall(r"<html[^>]*>", dom))
    assert dom.count("<svg ") >= figures
    assert dom.count("<path ") > 5 * figures
    return figures


def check_refusals(page, file):
    text = file.read_text()
    changed = file.with_name("changed.html")
    changed.write_text(text.replace("<script>", "<script>document.title='changed';", 1))
    dom, console = page.open(changed, "--dump-dom")
    assert "data-charts" not in dom and "<title>changed" not in dom
    assert any("Content Security Policy" in line for line in console), console


def check_paper(page, file):
    paper = file.with_suffix(".pdf")
    page.open(file, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    content = paper.read_bytes()
    assert content.startswith(b"%PDF") and len(content) > 10_000
    assert b"595" in content, "not A4"


def check_change(page, folder):
    """A series that became slower: reported first, and drawn with its label and levels."""
    for number in range(12):
        step_s = 0.02 if number < 8 else 0.06
        osora(folder, "submit", "run.toml", "--set", "run.name=slower", "--set", "train.steps=15",
              "--set", f"worker.env.OSORA_MOCK_STEP_S={step_s}",
              "--set", "worker.env.OSORA_MOCK_CLOCK=steps", "--set", "bisect.auto=off")
    osora(folder, "report", "--series", "slower", "--format", "html", "--out", "slower.html")
    file = folder / "slower.html"
    answer = re.search(r"<dt>trend</dt>\n<dd>([^<]*)</dd>", file.read_text()).group(1)
    found = re.fullmatch(r"slower became 3\.0x slower at run (\d+) on (\S+) and has stayed so: "
                         r"\S+ -&gt; \S+ ms/step\.", answer)
    assert found, (answer, osora(folder, "report", "--series", "slower", "--json"))
    assert check_drawn(page, file) == 1
    dom, _ = page.open(file, "--dump-dom")
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", dom)
    assert f"run {found.group(1)}, {found.group(2)}" in texts, texts
    assert any(" -&gt; " in text and " ms (+" in text for text in texts), texts
    check_paper(page, file)


def main():
    program = browser()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clips.csv").write_text("path,num_frames,height,width\na.mp4,64,96,96\n")
        for ranks in (1, 2):
            (folder / "run.toml").write_text(
                run_file(steps=60, checkpoint_every=20, ranks=ranks, more=MORE))
            osora(folder, "submit", "run.toml")
        osora(folder, "report", "2", "--format", "html", "--out", "run.html")
        osora(folder, "report", "--series", "demo", "--format", "html", "--out", "series.html")
        run, series = folder / "run.html", folder / "series.html"
        if "<script>" not in run.read_text():
            skip("this build has no charts (scripts/bootstrap)")
        page = Page(program, folder)
        assert check_drawn(page, run) == 5  # step time, phases, ranks, loss, memory
        assert check_drawn(page, series) == 3  # throughput, efficiency, runs
        check_refusals(page, run)
        check_paper(page, run)
        check_change(page, folder)


if __name__ == "__main__":
    main()
