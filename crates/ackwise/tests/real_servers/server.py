"""http.server, which writes head and body apart, and the lines that change that.

Arguments: port, directory, choices.
"""

import functools
import http.server
import sys
import time

port, directory, *choices = sys.argv[1:]


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections persist
    disable_nagle_algorithm = "no-delay" in choices  # TCP_NODELAY
    timeout = 2 if "times-out" in choices else None  # of an idle connection
    # One write per response. A response longer than the buffer leaves with its head apart again:
    # Python flushes what it has before it writes what does not fit.
    wbufsize = 1 << 17 if "joined" in choices else 0

    def do_GET(self):
        if "thinks" in choices:
            time.sleep(0.04)
        super().do_GET()

    def end_headers(self):
        super().end_headers()
        if "thinks-after-head" in choices:
            time.sleep(0.04)


handler = functools.partial(Handler, directory=directory)
http.server.ThreadingHTTPServer(("", int(port)), handler).serve_forever()
