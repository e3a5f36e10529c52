"""Prints when a program that was to run waited for its turn for more than 2 ms, on one processor: from and until, in
nanoseconds since the Unix epoch. A program's own clock knows nothing of that time."""

import os
import sys
import time

os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    due = time.time_ns() + 1_000_000
    time.sleep(0.001)
    now = time.time_ns()
    if now - due > 2_000_000:
        print(due, now, flush=True)
