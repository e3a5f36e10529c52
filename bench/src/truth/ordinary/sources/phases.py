"""A client that tells its phases: `LIBRARY URL COUNT THINK_MS PROTOCOL`. Prints as phases.go."""

import asyncio
import http.client
import os
import random
import select
import ssl
import sys
import time
import urllib.parse

LIBRARY, URL, COUNT, THINK, PROTOCOL = sys.argv[1:6]
COUNT, THINK = int(COUNT), int(THINK)
SIZES = [100, 1000, 10000, 100000]
PARTS = urllib.parse.urlsplit(URL)


def context():
    it = ssl.create_default_context()
    it.check_hostname, it.verify_mode = False, ssl.CERT_NONE
    it.keylog_filename = os.environ["SSLKEYLOGFILE"]
    return it


def rest():
    return random.expovariate(1 / THINK) / 1000 if THINK else 0


def with_http_client():
    connection, tls = None, context()
    for _ in range(COUNT):
        if connection and (connection.sock is None or select.select([connection.sock], [], [], 0)[0]):
            connection.close()
            connection = None
        begins = time.time_ns()
        if connection is None:
            connection = http.client.HTTPSConnection(PARTS.hostname, PARTS.port, context=tls)
            connection.connect()
        connection.request("GET", f"/{random.choice(SIZES)}")
        port = connection.sock.getsockname()[1]
        connection.getresponse().read()
        print(port, begins, time.time_ns(), 0)
        time.sleep(rest())
    connection.close()


async def with_httpx():
    import httpx

    async def one():
        times = {}

        async def trace(name, _):
            times[name.split(".", 1)[1]] = time.time_ns()

        url = f"{URL}/{random.choice(SIZES)}"
        async with client.stream("GET", url, extensions={"trace": trace}) as response:
            port = response.extensions["network_stream"].get_extra_info("client_addr")[1]
            async for _ in response.aiter_raw():
                pass
        begins = times.get("connect_tcp.started", times["send_request_headers.started"])
        print(port, begins, times["receive_response_body.complete"], 0)

    async with httpx.AsyncClient(http2=PROTOCOL == "h2", verify=context(), trust_env=False) as client:
        number = 0
        while number < COUNT:
            # On one connection, some requests at a time, once it is there.
            together = min(random.randint(1, 3), COUNT - number) if PROTOCOL == "h2" and number else 1
            await asyncio.gather(*(one() for _ in range(together)))
            number += together
            await asyncio.sleep(rest())


if LIBRARY == "httpx":
    asyncio.run(with_httpx())
else:
    with_http_client()
