#!/bin/sh
# http.server writes head and body separately: the second response on a connection waits for the client's ACK.
. "$(dirname "$0")/lib.sh"

mkdir "$work/documents"
head -c 500 /dev/zero | tr '\0' x >"$work/documents/500"

start python3 -m http.server --protocol HTTP/1.1 --directory "$work/documents" 8080
url=http://10.0.0.1:8080/500
capture curl -s -o /dev/null -o /dev/null -o /dev/null $url $url $url
