#!/usr/bin/env python3
"""[daemon] metrics as Prometheus and strangers meet it: scrapes of a mock run, a port that is
taken, clients that are slow or silent, and the parsers of both texts."""
import contextlib
import glob
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import openmetrics
from run_kit import BIN, PATIENCE_S, SOURCE, environment, eventually, osora, run_file

WITHOUT_METRICS = run_file(steps=40)
RUN_FILE = WITHOUT_METRICS + '[daemon]\nmetrics = "127.0.0.1:0"\n'


class Run:
    """osora submit of a run that waits before step 30; it ends with the test."""

    def __init__(self, folder, number, *arguments):
        self.folder, self.dir = folder, folder / f"state/runs/demo-{number:04}"
        self.out = open(folder / f"submit-{number}.out", "w+")
        self.program = subprocess.Popen(
            [BIN / "osora", "submit", "run.toml", *arguments], cwd=folder, stdout=self.out,
            stderr=subprocess.STDOUT, env=environment(folder, OSORA_MOCK_HOLD="30"))

    def said(self):
        return Path(self.out.name).read_text()

    def port(self):
        pattern = r"metrics: http://127.0.0.1:(\d+)/metrics"
        found = eventually(lambda: re.search(pattern, self.said()), "the address of the metrics")
        return int(found[1])

    def release(self):
        (self.dir / "go").touch()
        return self.program.wait(PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.program.poll() is None:
            self.program.send_signal(signal.SIGINT)
            try:
                self.program.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.program.kill()
                self.program.wait()
        self.out.close()


def get(port, path="/metrics", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response, text


def read_by_prometheus(text, is_new):
    """By Prometheus' Python client, when it is installed (scripts/bootstrap does that)."""
    sys.path += glob.glob(str(SOURCE / ".deps/venv/lib/python3*/site-packages"))
    try:
        if is_new:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        else:
            from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        print("prometheus_client is not there: read by openmetrics.py only")
        return {}
    return {family.name: family for family in text_string_to_metric_families(text)}


def check_golden():
    folder = SOURCE / "tests/data/metrics"
    text = (folder / "run.openmetrics").read_text()
    families = openmetrics.parse(text)
    assert openmetrics.value(families, "osora_run_info", user='ada "the" \\first\n') == 1
    assert openmetrics.value(families, "osora_step_seconds_count") == 4
    theirs = read_by_prometheus(text, True)
    if theirs:
        assert theirs.keys() == families.keys(), (theirs.keys(), families.keys())
        for name, family in theirs.items():
            ours = families[name]
            assert (family.type, family.unit, family.documentation) == \
                (ours.type, ours.unit, openmetrics.unescaped(ours.help)), name
            assert [(each.name, tuple(each.labels.items()), each.value)
                    for each in family.samples] == ours.samples, name
    old = (folder / "run.prometheus").read_text()
    assert "# EOF" not in old and "# UNIT" not in old
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert samples == [line for line in old.splitlines() if not line.startswith("#")]
    for family in read_by_prometheus(old, False).values():
        assert family.samples and family.type in ("gauge", "counter", "summary"), family


def check_reader():
    """What the specification forbids is an error of our reader."""
    good = "# TYPE a gauge\na 1\n# EOF\n"
    openmetrics.parse(good)
    for bad in ("", "# TYPE a gauge\na 1\n", good + "\n", good.replace("a 1", "b 1"),
                good.replace("a 1", 'a{x="\\t"} 1'), good.replace("a 1", 'a{x="1",x="2"} 1'),
                good.replace("gauge", "counter"), good.replace("a 1", "a one"),
                good.replace("a 1", "a 1\na 1"), good.replace("a 1\n", "\na 1\n"),
                "# TYPE a_seconds gauge\n# UNIT a_seconds bytes\na_seconds 1\n# EOF\n"):
        try:
            openmetrics.parse(bad)
        except ValueError:
            continue
        raise AssertionError(f"was read: {bad!r}")


def check_scrape(port):
    families = eventually(
        lambda: (found := openmetrics.parse(get(port)[1]))
        and openmetrics.value(found, "osora_step") == 30 and found, "30 steps in the metrics")
    response, text = get(port)
    assert response.status == 200, response.status
    assert response.headers["Content-Type"] == \
        "application/openmetrics-text; version=1.0.0; charset=utf-8", response.headers
    read_by_prometheus(text, True)
    labels = {"run": "1", "name": "demo-0001", "series": "demo"}
    for name, wanted in (("osora_steps_planned", 40), ("osora_step_seconds_count", 30),
                         ("osora_ranks", 2), ("osora_restarts_total", 0)):
        assert openmetrics.value(families, name, **labels) == wanted, (name, text)
    assert openmetrics.value(families, "osora_checkpoint_step") == 30, text
    assert openmetrics.value(families, "osora_loss") > 0, text
    assert openmetrics.value(families, "osora_samples_per_second") > 0, text
    assert openmetrics.value(families, "osora_run_info", job="train", user="tester") == 1, text
    assert openmetrics.value(families, "osora_run_state", osora_run_state="running") == 1, text
    head, nothing = get(port, method="HEAD")
    assert nothing == "" and int(head.headers["Content-Length"]) == len(text), head.headers
    old, text = get(port, Accept="text/plain;version=0.0.4")
    assert old.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE osora_restarts_total counter\n" in text and "# EOF" not in text
    assert get(port, "/")[0].status == 404
    assert get(port, method="POST")[0].status == 405
    assert get(port, Host="evil.example")[0].status == 403


def check_strangers(port):
    """Clients that send nothing, half a request, or do not read are closed; others are answered."""
    crowd = []
    for number in range(16):
        stranger = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        stranger.sendall((b"", b"GET /metrics HTTP/1.1\r\nHost: loc")[number % 2])
        crowd.append(stranger)
    for stranger in crowd:
        with contextlib.suppress(ConnectionError):
            while stranger.recv(65536):  # 503, or nothing
                pass
        stranger.close()
    assert get(port)[0].status == 200


def main():
    check_reader()
    check_golden()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site.toml").write_text("[faults]\nlost_after = 60\n")
        (folder / "clips.csv").write_text("path,num_frames,height,width\na.mp4,64,96,96\n")
        (folder / "run.toml").write_text(RUN_FILE)
        with Run(folder, 1) as run:
            port = run.port()
            check_scrape(port)
            check_strangers(port)
            taken = osora(folder, "submit", "run.toml", "--set",
                          f'daemon.metrics="127.0.0.1:{port}"')
            assert f"the run has no metrics: [daemon] metrics 127.0.0.1:{port}: the port is in " \
                "use; [daemon] metrics 127.0.0.1:" in taken, taken
            assert run.release() == 0, run.said()
        status = json.loads(osora(folder, "status", "--ended", "5", "--json"))
        assert len(status["runs"]) == 2, status
        bad = osora(folder, "validate", "run.toml", "--set", "daemon.metrics=9464", code=2)
        assert "daemon.metrics" in bad, bad
        bad = osora(folder, "validate", "run.toml", "--set", 'daemon.metrics="n1:9464"', code=2)
        assert "n1 is not an IP address; write it as 127.0.0.1:9464" in bad, bad
        open_to_all = osora(folder, "validate", "run.toml", "--set",
                            'daemon.metrics="0.0.0.0:9464"')
        assert "everyone who reaches this port" in open_to_all, open_to_all
        # Off: the default.
        (folder / "run.toml").write_text(WITHOUT_METRICS)
        assert "metrics:" not in osora(folder, "submit", "run.toml", "--set", "train.steps=5")


if __name__ == "__main__":
    main()
