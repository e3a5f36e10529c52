"""A client that measures each exchange: `MODE URL COUNT THINK_MS IDLE_MS SEED`.

Prints a line for each exchange: its port, from when until when (nanoseconds since the Unix epoch), and the nanoseconds
from the connection's readiness until the request was written.
"""

import http.client
import random
import select
import ssl
import sys
import threading
import time
import urllib.parse
import urllib.request

MODE, URL = sys.argv[1:3]
COUNT, THINK, IDLE, SEED = map(int, sys.argv[3:7])
TLS = ssl._create_unverified_context()
PARTS = urllib.parse.urlsplit(URL)
SIZES = [100, 1000, 10000, 100000]


def think(dice):
    """Exponential; one in twenty is a pool's idle time."""
    rest = IDLE if dice.random() < 0.05 else dice.expovariate(1 / THINK) if THINK else 0
    time.sleep(rest / 1000)


def say(*values):
    print(*values, flush=True)


def connect():
    if PARTS.scheme == "https":
        return http.client.HTTPSConnection(PARTS.hostname, PARTS.port, context=TLS)
    return http.client.HTTPConnection(PARTS.hostname, PARTS.port)


def is_closed(connection):
    return bool(select.select([connection.sock], [], [], 0)[0])


def kept(number):
    """One connection, kept for as long as the server does."""
    dice, connection = random.Random(SEED + number), None
    for _ in range(COUNT):
        if connection and (connection.sock is None or is_closed(connection)):
            connection.close()
            connection = None
        begins = time.time_ns()
        if connection is None:
            connection = connect()
            connection.connect()
        ready = time.time_ns()
        connection.request("GET", f"/{dice.choice(SIZES)}")
        wrote, port = time.time_ns(), connection.sock.getsockname()[1]
        connection.getresponse().read()
        say(port, begins, time.time_ns(), wrote - ready)
        think(dice)
    if connection:
        connection.close()


def single(number):
    """A connection for each request."""
    dice = random.Random(SEED + number)
    for _ in range(COUNT):
        url = f"{URL}/{dice.choice(SIZES)}"
        begins = time.time_ns()
        with urllib.request.urlopen(url, context=TLS if PARTS.scheme == "https" else None) as response:
            port = response.fp.raw._sock.getsockname()[1]
            response.read()
        say(port, begins, time.time_ns(), 0)
        think(dice)


def session(number):
    """What most programs use."""
    import requests
    requests.packages.urllib3.disable_warnings()
    dice = random.Random(SEED + number)
    with requests.Session() as it:
        it.verify = False
        for _ in range(COUNT):
            url = f"{URL}/{dice.choice(SIZES)}"
            begins = time.time_ns()
            response = it.get(url, stream=True)
            port = response.raw._connection.sock.getsockname()[1]
            response.content
            say(port, begins, time.time_ns(), 0)
            think(dice)


RUN = {"kept": kept, "pool": kept, "single": single, "session": session}[MODE]
THREADS = [threading.Thread(target=RUN, args=(number,)) for number in range(4 if MODE == "pool" else 1)]
for thread in THREADS:
    thread.start()
for thread in THREADS:
    thread.join()
