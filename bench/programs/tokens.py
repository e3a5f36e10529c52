"""A mock of a language model's server: tokens as server-sent events, as in a stream of chat completions.

usage: tokens.py PORT [--every MS] [--tokens N] [--first MS] [--batch N] [--nagle] [--cork] [--buffer BYTES] [--whole]
                      [--lines] [--gzip | --gzip-flush] [--accel] [--large BYTES] [--two-writes]

Every request, whatever its path or method, is answered with N tokens (100), one every MS milliseconds (20), the first after
the time of --first (100). TCP_NODELAY is set unless --nagle. --batch writes N tokens at once, every N times MS. --cork leaves
TCP_CORK on. --buffer writes only full buffers, --whole everything at the end. --gzip compresses if the client accepts it, and
flushes only with --gzip-flush. --accel sends X-Accel-Buffering: no. --lines sends lines of JSON instead of events.
"""

import argparse
import json
import socket
import threading
import time
import zlib

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--every", type=float, default=20)
parser.add_argument("--tokens", type=int, default=100)
parser.add_argument("--first", type=float, default=100)
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--buffer", type=int, default=0)
parser.add_argument("--large", type=int, default=0)
for flag in ["nagle", "cork", "whole", "lines", "gzip", "gzip-flush", "accel", "two-writes"]:
    parser.add_argument("--" + flag, action="store_true")
OPTIONS = parser.parse_args()


def event(number):
    """The event of a token, and the moment at which it was made, for clients with a clock of their own."""
    delta = {"content": f" token{number}" + "x" * OPTIONS.large}
    chunk = {
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "mock",
        "made": time.time(),
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }
    text = json.dumps(chunk)
    return (text + "\n" if OPTIONS.lines else f"data: {text}\n\n").encode()


def chunk(content):
    return b"%x\r\n%s\r\n" % (len(content), content)


class Stream:
    """The content of one response, from tokens to the socket."""

    def __init__(self, connection, compressed):
        self.connection = connection
        self.held = b""
        self.compressor = zlib.compressobj(wbits=31) if compressed else None

    def write(self, content):
        if self.compressor:
            content = self.compressor.compress(content)
            if OPTIONS.gzip_flush:
                content += self.compressor.flush(zlib.Z_SYNC_FLUSH)
        self.held += content
        if OPTIONS.whole:
            return
        size = OPTIONS.buffer or len(self.held)
        while self.held and len(self.held) >= size:
            self.send(self.held[:size])
            self.held = self.held[size:]

    def send(self, content):
        parts = [chunk(content)]
        if OPTIONS.two_writes:
            parts = [parts[0][: len(parts[0]) // 2], parts[0][len(parts[0]) // 2 :]]
        for part in parts:
            self.connection.sendall(part)

    def end(self):
        if self.compressor:
            self.held += self.compressor.flush()
        rest = chunk(self.held) if self.held else b""
        self.connection.sendall(rest + b"0\r\n\r\n")


def answer(connection, head):
    compressed = (OPTIONS.gzip or OPTIONS.gzip_flush) and b"gzip" in head.lower()
    kind = "application/x-ndjson" if OPTIONS.lines else "text/event-stream; charset=utf-8"
    fields = [f"Content-Type: {kind}", "Cache-Control: no-cache", "Transfer-Encoding: chunked"]
    fields += ["Content-Encoding: gzip"] * compressed + ["X-Accel-Buffering: no"] * OPTIONS.accel
    connection.sendall(("HTTP/1.1 200 OK\r\n" + "\r\n".join(fields) + "\r\n\r\n").encode())
    stream = Stream(connection, compressed)
    due = time.monotonic() + OPTIONS.first / 1e3
    for first in range(0, OPTIONS.tokens, OPTIONS.batch):
        time.sleep(max(0, due - time.monotonic()))
        due += OPTIONS.every * OPTIONS.batch / 1e3
        numbers = range(first, min(first + OPTIONS.batch, OPTIONS.tokens))
        stream.write(b"".join(map(event, numbers)))
    stream.write(b"" if OPTIONS.lines else b"data: [DONE]\n\n")
    stream.end()


def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not OPTIONS.nagle)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, OPTIONS.cork)
    data = b""
    try:
        while more := connection.recv(65536):
            data += more
            while b"\r\n\r\n" in data:
                head, _, rest = data.partition(b"\r\n\r\n")
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                length = int(length[0].split(b":")[1]) if length else 0
                while len(rest) < length:
                    rest += connection.recv(65536)
                data = rest[length:]
                answer(connection, head)
                if b"connection: close" in head.lower():
                    return
    except OSError:
        pass  # The client has gone.
    finally:
        connection.close()


listener = socket.create_server(("", OPTIONS.port), backlog=64)
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=serve, args=(accepted,), daemon=True).start()
