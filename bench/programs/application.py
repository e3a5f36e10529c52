"""One application for servers of WSGI and ASGI; `think` sleeps 60 ms between two parts."""

import asyncio
import os
import time

BODY = b"x" * 300
THINKS = os.environ.get("MODE") == "think"


def wsgi(environ, start_response):
    if not THINKS:
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(BODY)))])
        return [BODY]
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(2 * len(BODY)))])
    return parts()


def parts():
    yield BODY
    time.sleep(0.06)
    yield BODY


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    size = str(len(BODY) * (2 if THINKS else 1)).encode()
    fields = [(b"content-type", b"text/plain"), (b"content-length", size)]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    if THINKS:
        await send({"type": "http.response.body", "body": BODY, "more_body": True})
        await asyncio.sleep(0.06)
    await send({"type": "http.response.body", "body": BODY})
