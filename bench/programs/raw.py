"""A server on plain sockets: raw.py good|stall|think|late h1|h2|grpc PORT

`stall` keeps Nagle's algorithm and writes in two; `think` sleeps 60 ms between the two writes, `late` before the first.
"""

import socket
import struct
import sys
import threading
import time

MODE, PROTOCOL, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
BODY = b"x" * 300
PAUSE_S = 0.06


def write(connection, parts):
    if MODE == "late":
        time.sleep(PAUSE_S)
    if MODE in ("good", "late"):
        parts = [b"".join(parts)]
    for number, part in enumerate(parts):
        if number == 1 and MODE == "think":
            time.sleep(PAUSE_S)
        connection.sendall(part)


def http1(connection):
    data = b""
    while True:
        more = connection.recv(65536)
        if not more:
            return
        data += more
        while b"\r\n\r\n" in data:
            _, _, data = data.partition(b"\r\n\r\n")
            write(connection, [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY), BODY])


def http2(connection):
    connection.sendall(frame(4, 0, 0, b""))
    data, preface = b"", 24
    while True:
        more = connection.recv(65536)
        if not more:
            return
        data += more
        if preface and len(data) >= preface:
            data, preface = data[preface:], 0
        while not preface and len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
            length, kind, flags = int.from_bytes(data[:3], "big"), data[3], data[4]
            stream, payload, data = data[5:9], data[9 : 9 + length], data[9 + length :]
            if kind in (4, 6) and not flags & 1:
                connection.sendall(frame(kind, 1, 0, payload if kind == 6 else b""))
            elif kind in (0, 1) and flags & 1:
                write(connection, answer(struct.unpack(">I", stream)[0]))


def answer(stream):
    if PROTOCOL == "h2":
        return [frame(1, 4, stream, b"\x88"), frame(0, 1, stream, BODY)]
    kind = b"\x0f\x10" + b"\x10application/grpc"
    trailers = b"\x00\x0bgrpc-status\x010"
    message = b"\x00" + struct.pack(">I", 2) + b"\x08\x01"
    return [frame(1, 4, stream, b"\x88" + kind), frame(0, 0, stream, message) + frame(1, 5, stream, trailers)]


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def serve(connection):
    if MODE != "stall":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        (http1 if PROTOCOL == "h1" else http2)(connection)
    except OSError:
        pass
    connection.close()


def main():
    listener = socket.create_server(("0.0.0.0", PORT), backlog=128)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


main()
