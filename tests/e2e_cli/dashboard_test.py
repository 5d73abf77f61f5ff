#!/usr/bin/env python3
"""osora dashboard as browsers and strangers meet it: pages and events of mock runs, readers that do
not read, requests that are no requests, too many connections, and its end."""
import contextlib
import http.client
import json
import re
import resource
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from run_kit import BIN, PATIENCE_S, environment, eventually, osora, run_file

RUN_FILE = run_file(steps=25)


class Dashboard:
    """osora dashboard on a free port; killed when the test leaves it running."""

    def __init__(self, folder, *arguments, **variables):
        self.log = open(folder / "dashboard.err", "w+")
        self.program = subprocess.Popen(
            [BIN / "osora", "dashboard", "--json", *arguments], cwd=folder, stderr=self.log,
            env={**environment(folder), **variables}, stdout=subprocess.PIPE, text=True)
        self.first = json.loads(self.program.stdout.readline())
        self.port = self.first["port"]

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response, text

    def raw(self, text):
        """What it answers to bytes; "" when it only closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as stranger:
            with contextlib.suppress(ConnectionError):
                stranger.sendall(text)
                stranger.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while piece := stranger.recv(65536):
                    answer += piece
        return answer.decode(errors="replace")

    def reader(self):
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        stream.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{self.port}\r\n\r\n".encode())
        return stream

    def end(self, number=signal.SIGINT):
        self.program.send_signal(number)
        code = self.program.wait(PATIENCE_S)
        self.log.seek(0)
        return code, self.log.read()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.program.poll() is None:
            self.program.kill()
            self.program.wait()
        self.program.stdout.close()
        self.log.close()


def events_of(stream, until):
    """Events of one reader until one is as wanted; it is the last."""
    text = b""
    found = []
    while True:
        piece = stream.recv(65536)
        assert piece, (text, found)
        text += piece
        *whole, text = text.split(b"\n\n")
        for part in whole:
            if data := re.search(rb"^event: run\ndata: (.*)$", part, re.M):
                found.append(json.loads(data.group(1)))
                if until(found[-1]):
                    return found


def check_pages(folder, dashboard):
    assert dashboard.first["schema"] == "osora.dashboard/1", dashboard.first
    assert dashboard.first["url"] == f"http://127.0.0.1:{dashboard.port}/", dashboard.first
    response, page = dashboard.get("/")
    assert response.status == 200 and 'href="/run/1"' in page and "1 run, 0 in progress" in page
    response, page = dashboard.get("/run/1")
    report = osora(folder, "report", "1", "--format", "html")
    # The words and tables are those of the report.
    body = report[report.index("<h1>"):report.index("</main>")]
    assert response.status == 200 and body in page
    assert dashboard.get("/series/demo")[0].status == 200
    response, text = dashboard.get("/run/1", method="HEAD")
    assert text == "" and int(response.headers["Content-Length"]) == len(page.encode())
    response, page = dashboard.get("/run/demp")
    assert response.status == 404 and 'href="/run/demo"' in page
    assert dashboard.get("/", Host="evil.example")[0].status == 403
    assert dashboard.get("/", Origin="http://evil.example")[0].status == 403
    assert dashboard.get("/", method="POST")[0].status == 405


def check_strangers(dashboard):
    line = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
    for text, status in ((line + b"X: " + b"a" * 100_000 + b"\r\n\r\n", "431"),
                         (line + b"X: a\r\n" * 20_000 + b"\r\n", "431"),
                         (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", "431"),
                         (bytes(range(256)) * 10, "400"), (b"\x16\x03\x01\x02\x00\x01\x00", "400"),
                         (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"), (b"\r\n" * 1000, ""),
                         (line + b"Content-Length: 5\r\n\r\nhello", "413"),
                         (line + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "413"),
                         (line + b"Host: localhost\r\n\r\n", "403"),
                         (b"GET / HTTP/1.1\r\n\r\n", "403"),
                         (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
                         (b"GET /run/..%2f..%2fx HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
                         (b"GET /run/%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
                         (line, ""), (b"", "")):
        answer = dashboard.raw(text)
        first = answer.split("\r\n")[0]
        assert first.startswith(f"HTTP/1.1 {status}") if status else answer == "" or \
            first.startswith("HTTP/1.1 400"), (text[:60], first)
        assert "root:" not in answer
    assert dashboard.get("/")[0].status == 200


def check_crowd(dashboard):
    """64 connections are served, others are refused; when they close, it serves again."""
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            stream = stack.enter_context(dashboard.reader())
            assert stream.recv(12) == b"HTTP/1.1 200"
        response, _ = dashboard.get("/")
        assert response.status == 503, response.status
    # The server notices that readers are gone when it next writes to them.


def check_events(folder, dashboard):
    """A run's step rises for every reader, also while one of them does not read."""
    run = subprocess.Popen([BIN / "osora", "submit", "run.toml", "--detach"], cwd=folder,
                           env=environment(folder, OSORA_MOCK_HOLD="20"),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert run.wait(PATIENCE_S) == 0
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(dashboard.reader()) for _ in range(20)]
        held = events_of(streams[0], lambda event: event["step"] == 20)[-1]
        assert held["id"] == "2" and held["steps"] == 25 and held["state"] == "running", held
        page = dashboard.get("/run/2")[1]
        assert 'id="now" data-run="2"' in page, page[-3000:]
        eventually(lambda: "1 in progress" in dashboard.get("/?state=running")[1], "run 2 on /")
        (folder / "state" / "runs" / "demo-0002" / "go").touch()
        for stream in streams[:-1]:  # the last one never reads
            last = events_of(stream, lambda event: event["state"] == "ended: ok")[-1]
            assert last["step"] == 25, last
    eventually(lambda: "1 in progress" not in dashboard.get("/")[1], "the run's end on the page")


def check_open(folder):
    opener = folder / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text('#!/bin/sh\necho "$1" >opened.new && mv opened.new opened\n')
    opener.chmod(0o755)
    opened = folder / "opened"
    with Dashboard(folder, "--listen", "127.0.0.1:0", "--open",
                   PATH=f"{opener.parent}:/usr/bin:/bin") as dashboard:
        eventually(opened.exists, "xdg-open")
        assert opened.read_text().strip() == dashboard.first["url"]
        assert dashboard.end() == (130, "")


def check_text(folder):
    """What a person sees."""
    with subprocess.Popen([BIN / "osora", "dashboard", "--listen", "127.0.0.1:0"], cwd=folder,
                          env=environment(folder), stdout=subprocess.PIPE, text=True) as program:
        try:
            address, place = (program.stdout.readline() for _ in range(2))
        finally:
            program.send_signal(signal.SIGINT)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", address), address
    assert place == f"runs in {folder}/state · Ctrl-C ends it\n", place
    assert program.returncode == 130, program.returncode


def check_token(folder):
    token = "0123456789abcdef0123"
    (folder / "token").write_text(token + "\n")
    with Dashboard(folder, "--listen", "127.0.0.1:0", "--token-file", "token") as dashboard:
        assert dashboard.first["token"] is True and token not in json.dumps(dashboard.first)
        assert dashboard.get("/")[0].status == 401
        response, _ = dashboard.get(f"/?token={token}")
        assert response.status == 303 and response.headers["Location"] == "/"
        cookie = response.headers["Set-Cookie"].split(";")[0]
        assert dashboard.get("/", Cookie=cookie)[0].status == 200
        assert dashboard.end(signal.SIGTERM)[0] == 130
    (folder / "token").write_text("short")
    refused = osora(folder, "dashboard", "--token-file", "token", code=2)
    assert "at least 16 are needed" in refused, refused


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site.toml").write_text("[faults]\nlost_after = 60\n")
        (folder / "clips.csv").write_text("path,num_frames,height,width\na.mp4,64,96,96\n")
        (folder / "run.toml").write_text(RUN_FILE)
        osora(folder, "submit", "run.toml")
        with Dashboard(folder, "--listen", "127.0.0.1:0") as dashboard:
            check_pages(folder, dashboard)
            check_strangers(dashboard)
            check_events(folder, dashboard)
            taken = osora(folder, "dashboard", "--listen", f"127.0.0.1:{dashboard.port}", code=4)
            assert "the port is in use; --listen 127.0.0.1:" in taken, taken
            with dashboard.reader():
                code, said = dashboard.end()
            assert code == 130 and said == "", (code, said)
            again = ("--listen", f"127.0.0.1:{dashboard.port}")
        with Dashboard(folder, *again) as dashboard:
            check_crowd(dashboard)
            assert dashboard.end()[0] == 130
        check_open(folder)
        check_text(folder)
        check_token(folder)
        assert osora(folder, "status").count("demo-0002") <= 1


if __name__ == "__main__":
    main()
