#!/usr/bin/env python3
"""A stranger at a controller's port for agents. usage: intruder.py RUN_DIR
Reads RUN_DIR/controller.json (it may: the tests' user is the run's), then tries what must not help
it: bytes that are no frames, a frame too long, metrics before a hello, a wrong token, and the right
token for a node that has its agent. Prints the answer to each; exit 1 when one was welcomed."""
import json
import os
import socket
import ssl
import struct
import sys
from pathlib import Path

# The controller drops silent clients well before this; the same as in tests/kit/patience.hpp.
LIMIT_S = 60 * max(1.0, float(os.environ.get("OSORA_TEST_PATIENCE", "1")))


def connect(controller, tls):
    plain = socket.create_connection((controller["addresses"][0], controller["port"]), LIMIT_S)
    if not tls:
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


def frame(message):
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def hello(token, node):
    return {"type": "hello", "protocol": 1, "token": token, "node": node, "host": "stranger",
            "boot_id": "0f1e2d3c-1111-2222-3333-444455556666", "pid": 1, "start_ticks": 1,
            "attempt": -1, "workers_left": 0, "first_report": 0, "facts": {}}


def receive(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def answer_to(connection, data):
    """The first answer of the controller: a message's type, or "dropped"."""
    try:
        connection.sendall(data)
        (length,) = struct.unpack(">I", receive(connection, 4))
        message = json.loads(receive(connection, length))
        return " ".join([message["type"], message.get("reason", "")]).strip()
    except (ConnectionError, ssl.SSLError):
        return "dropped"
    except TimeoutError:
        return "silence"
    finally:
        connection.close()


def main():
    controller = json.loads((Path(sys.argv[1]) / "controller.json").read_text())
    tls = bool(controller["fingerprint"])
    attempts = {
        "garbage": b"GET / HTTP/1.1\r\n\r\n" * 100,
        "oversized": struct.pack(">I", 1 << 31) + b"x" * 100000,
        "early": frame({"type": "metrics"}),
        "wrong_token": frame(hello("0" * 64, 0)),
        "future": frame({**hello(controller["token"], 0), "protocol": 99}),
        "duplicate": frame(hello(controller["token"], 0)),
        "no_such_node": frame(hello(controller["token"], 1000)),
    }
    answers = {name: answer_to(connect(controller, tls), data) for name, data in attempts.items()}
    if tls:
        answers["without_tls"] = answer_to(connect(controller, False), attempts["duplicate"])
    for name, answer in answers.items():
        print(f"{name}: {answer}")
    return 1 if any(answer.startswith("welcome") for answer in answers.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
