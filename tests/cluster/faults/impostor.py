#!/usr/bin/env python3
"""A server at a dead controller's port, with its own certificate. usage: impostor.py RUN_DIR N
Listens where RUN_DIR/controller.json says, completes TLS handshakes with N clients, and prints how
many bytes they sent: a token must not be among them."""
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

# Agents come back within a second; as tests/kit/patience.hpp.
LIMIT_S = 60 * max(1.0, float(os.environ.get("OSORA_TEST_PATIENCE", "1")))


def context_with_own_certificate(folder):
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=osora", "-keyout", key, "-out", certificate],
        check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def bytes_said(context, plain):
    """By one caller after the handshake, until he hangs up."""
    plain.settimeout(LIMIT_S)
    with context.wrap_socket(plain, server_side=True) as caller:
        count = 0
        while data := caller.recv(4096):
            count += len(data)
        return count


def main():
    controller = json.loads((Path(sys.argv[1]) / "controller.json").read_text())
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_INET6) as listener:
        context = context_with_own_certificate(Path(folder))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.settimeout(LIMIT_S)
        listener.bind(("::", controller["port"]))
        listener.listen()
        callers, said = set(), 0
        while len(callers) < int(sys.argv[2]):
            plain, address = listener.accept()
            try:
                said += bytes_said(context, plain)
            except ConnectionResetError:
                pass  # the client hung up without sending anything
            callers.add(address[0])
    print(f"{len(callers)} callers said {said} bytes")


if __name__ == "__main__":
    main()
