"""A server of asyncio that keeps a diary: `PORT BACKLOG CONGESTION`. Its standard input has the exchanges of all connections.

An exchange is `[BYTES OF THE REQUEST, THINK IN SECONDS, STEPS]`; a step is a pause in seconds, or `[TEXT, BYTES, TEXT]`
to write. Prints `ready`, and a diary for each connection. All times are nanoseconds of CLOCK_MONOTONIC.
"""

import asyncio
import json
import socket
import sys
import time

PORT, BACKLOG = map(int, sys.argv[1:3])
CONNECTIONS = json.load(sys.stdin)
now = time.monotonic_ns


class Noted(socket.socket):
    """A socket that notes what it takes, and when it takes no more."""

    def begin(self):
        self.written, self.blocked, self.since, self.total = [], [], None, 0
        return self

    def send(self, data, *more):
        began = now()
        if self.since:
            self.blocked.append([self.since, began])
            self.since = None
        taken = 0
        try:
            taken = super().send(data, *more)
        finally:
            if taken:
                self.total += taken
                self.written.append([began, self.total])
            if taken < len(data):
                self.since = now()
        return taken


async def serve(noted, peer, accepted, exchanges):
    reader, writer = await asyncio.open_connection(sock=noted)
    received, messages, end = [], [], 0
    for request, think, steps in exchanges:
        await reader.readexactly(request)
        received.append(now())
        if think:
            await asyncio.sleep(think)
        begin = end
        for step in steps:
            if isinstance(step, list):
                data = step[0].encode() + b"x" * step[1] + step[2].encode()
                end += len(data)
                writer.write(data)
                await writer.drain()
            else:
                await asyncio.sleep(step)
        messages.append([begin, end])
    # The client closes first.
    await reader.read()
    writer.close()
    names = ["peer", "accepted", "written", "blocked", "received", "messages"]
    values = [peer, accepted, noted.written, noted.blocked, received, messages]
    print(json.dumps(dict(zip(names, values))), flush=True)


async def main():
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("", PORT), backlog=BACKLOG)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
    listener.setblocking(False)
    print("ready", flush=True)
    served = []
    for exchanges in CONNECTIONS:
        accepting, (_, peer) = await loop.sock_accept(listener)
        accepted = now()
        noted = Noted(fileno=accepting.detach()).begin()
        noted.setblocking(False)
        served.append(asyncio.create_task(serve(noted, peer, accepted, exchanges)))
    await asyncio.gather(*served)


asyncio.run(main())
