"""A server of documents by size: `PORT THINK_MS [CERTIFICATE KEY]`. Prints the client's port and its own time of each request."""

import http.server
import random
import socketserver
import ssl
import sys
import time

PORT, THINK = map(int, sys.argv[1:3])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 1

    def parse_request(self):
        self.begins = time.monotonic_ns()
        return super().parse_request()

    def do_GET(self):
        if THINK:
            time.sleep(random.expovariate(1 / THINK) / 1000)
        body = b"x" * int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        micros = (time.monotonic_ns() - self.begins) // 1000
        print(f"{self.client_address[1]} {micros}us", flush=True)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("0.0.0.0", PORT), Handler)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[3:5])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
