"""Serves the files of the directory `documents` by WSGI."""

import os

DOCUMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "documents")


def application(environ, start_response):
    name = os.path.basename(environ["PATH_INFO"]) or "index.html"
    try:
        with open(os.path.join(DOCUMENTS, name), "rb") as file:
            content = file.read()
    except OSError:
        start_response("404 Not Found", [("Content-Length", "0")])
        return []
    kind = "text/html" if name.endswith(".html") else "application/octet-stream"
    start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(len(content)))])
    return [content]
