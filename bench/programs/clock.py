#!/usr/bin/env python3
"""A client's clock: how long responses wait with delayed ACKs, and with immediate ones.

Shares no code with Ackwise: sockets, `ssl` and time.perf_counter. Requests are sent one at a time on a kept connection. In the
arm `delayed`, the kernel delays ACKs as it does for a busy interactive connection; in `quick`, TCP_QUICKACK is set
around every read. Prints JSON: for each arm and connection, `[first byte, longest gap]` of each response, in milliseconds.

usage: clock.py h1|h2|grpc URL
"""

import json
import re
import socket
import ssl
import struct
import sys
import time
import urllib.parse

TIMEOUT_S = 10
# Four connections, each with eight requests after a silence in which a proxy's delayed ACKs become quick. Our choices.
SERIES, REQUESTS, SILENCE_S = 4, 8, 0.3
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Closed(Exception):
    """The server closed the connection."""


class Connection:
    def __init__(self, url, quick, alpn):
        self.quick = quick
        self.raw = socket.create_connection((url.hostname, url.port), TIMEOUT_S)
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.raw
        if url.scheme == "https":
            context = ssl._create_unverified_context()
            context.set_alpn_protocols([alpn])
            self.stream = context.wrap_socket(self.raw, server_hostname=url.hostname)
            # wrap_socket detaches the first socket object.
            self.raw = self.stream
            if self.stream.selected_alpn_protocol() not in (alpn, None):
                raise RuntimeError(f"the server chose {self.stream.selected_alpn_protocol()}")
        self.quick_acks()

    def quick_acks(self):
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1 if self.quick else 0)

    def send(self, data):
        self.quick_acks()
        self.stream.sendall(data)
        self.quick_acks()

    def read(self):
        """Bytes, and when they came."""
        data = self.stream.recv(65536)
        now = time.perf_counter()
        self.quick_acks()
        if not data:
            raise Closed
        return data, now

    def close(self):
        self.stream.close()


class Http1:
    """RFC 9112, as much as a GET needs."""

    alpn = "http/1.1"

    def __init__(self, connection, url, _data):
        self.connection, self.keeps = connection, True
        target = url.path + ("?" + url.query if url.query else "")
        self.request = f"GET {target} HTTP/1.1\r\nHost: {url.netloc}\r\nAccept: */*\r\n\r\n".encode()

    def ask(self):
        """When bytes of the response came."""
        self.connection.send(self.request)
        begun, times, data = time.perf_counter(), [], b""
        while True:
            try:
                more, now = self.connection.read()
            except Closed:
                self.keeps = False
                if not data:
                    raise
                break
            times.append(now)
            data += more
            if self.ends(data):
                break
        return begun, times

    def ends(self, data):
        head, end, body = data.partition(b"\r\n\r\n")
        if not end:
            return False
        if not re.match(rb"HTTP/1\.. 200", head):
            raise RuntimeError(head.split(b"\r\n")[0].decode())
        if re.search(rb"(?i)\nconnection:\s*close", head) or head.startswith(b"HTTP/1.0"):
            self.keeps = False
        length = re.search(rb"(?i)\ncontent-length:\s*(\d+)", head)
        if length:
            return len(body) >= int(length[1])
        if re.search(rb"(?i)\ntransfer-encoding:\s*chunked", head):
            return body.endswith(b"0\r\n\r\n")
        self.keeps = False
        return False


class Http2:
    """RFC 9113, as much as one request at a time needs. Fields are sent as literals and never decoded."""

    alpn = "h2"

    def __init__(self, connection, url, data):
        self.connection, self.keeps, self.buffer, self.id = connection, True, b"", 1
        target = url.path + ("?" + url.query if url.query else "")
        scheme = b"\x87" if url.scheme == "https" else b"\x86"
        method = b"\x82" if data is None else b"\x83"
        # RFC 7541, section 6.2.2: literals without indexing; 4 is :path, 1 :authority.
        self.fields = method + scheme + b"\x04" + text(target) + b"\x01" + text(url.netloc)
        self.content = None
        if data is not None:
            for name, value in (("content-type", "application/grpc"), ("te", "trailers")):
                self.fields += b"\x00" + text(name) + text(value)
            self.content = b"\x00" + struct.pack(">I", len(data)) + data
        # Windows that no response fills, so that no WINDOW_UPDATE of ours carries an ACK.
        settings = struct.pack(">HIHI", 4, 2**31 - 1, 2, 0)
        update = struct.pack(">I", 2**31 - 1 - 65535)
        connection.send(PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, update))
        while not self.read(0)[1]:
            pass

    def ask(self):
        stream, self.id = self.id, self.id + 2
        flags = END_HEADERS | (END_STREAM if self.content is None else 0)
        request = frame(HEADERS, flags, stream, self.fields)
        if self.content is not None:
            request += frame(DATA, END_STREAM, stream, self.content)
        self.connection.send(request)
        begun, times = time.perf_counter(), []
        while True:
            now, ended, of_stream = self.read(stream)
            if of_stream:
                times.append(now)
            if ended:
                return begun, times

    def read(self, stream):
        """When bytes came; whether the stream has ended (of stream 0: its first SETTINGS); whether they are of the stream."""
        data, now = self.connection.read()
        self.buffer += data
        ended = of_stream = False
        while len(self.buffer) >= 9:
            length, kind, flags = self.buffer[0] << 16 | self.buffer[1] << 8 | self.buffer[2], self.buffer[3], self.buffer[4]
            id = struct.unpack(">I", self.buffer[5:9])[0] & 2**31 - 1
            of_stream |= id == stream and kind in (HEADERS, DATA)
            if len(self.buffer) < 9 + length:
                break
            payload, self.buffer = self.buffer[9 : 9 + length], self.buffer[9 + length :]
            if kind == SETTINGS and not flags & ACK:
                self.connection.send(frame(SETTINGS, ACK, 0, b""))
                ended |= stream == 0
            elif kind == PING and not flags & ACK:
                self.connection.send(frame(PING, ACK, 0, payload))
            elif kind == GOAWAY:
                self.keeps = False
            elif kind == RST_STREAM and id == stream:
                raise RuntimeError(f"RST_STREAM {payload.hex()}")
            if id == stream and id and kind in (HEADERS, DATA) and flags & END_STREAM:
                ended = True
        return now, ended, of_stream


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(it):
    """RFC 7541, section 5.2, without Huffman coding."""
    it = it.encode()
    assert len(it) < 127, "longer lengths are not encoded"
    return bytes([len(it)]) + it


def measure(url, protocol, quick, series, data):
    """`series` times, on a new connection after a silence: `[first byte, longest gap]` in milliseconds of each response."""
    kind = Http1 if protocol == "h1" else Http2
    all = []
    for _ in range(series):
        rows, client, failures = [], None, 0
        time.sleep(SILENCE_S)
        while len(rows) < REQUESTS:
            try:
                if client is None:
                    client = kind(Connection(url, quick, kind.alpn), url, data)
                begun, times = client.ask()
            except (Closed, ConnectionError):
                # Closed between two requests, as a server may.
                failures += 1
                if failures > REQUESTS:
                    raise
                client = None
                continue
            gaps = [later - earlier for earlier, later in zip(times, times[1:])]
            rows.append([round(1e3 * it, 2) for it in (times[0] - begun, max(gaps, default=0.0))])
            if not client.keeps:
                client.connection.close()
                client = None
        if client is not None:
            client.connection.close()
        all.append(rows)
    return all


def main(arguments):
    protocol, address = arguments[:2]
    url = urllib.parse.urlsplit(address)
    data = b"" if protocol == "grpc" else None
    measure(url, protocol, True, 1, data)  # A program's first responses are slow: a Java virtual machine compiles.
    delayed, quick = (measure(url, protocol, quick, SERIES, data) for quick in (False, True))
    print(json.dumps({"delayed": delayed, "quick": quick}))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Closed, OSError, RuntimeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
