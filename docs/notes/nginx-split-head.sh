#!/bin/sh
# nginx with sendfile: head and body in separate segments, unless tcp_nopush holds the head back.
. "$(dirname "$0")/lib.sh"

mkdir "$work/documents"
chmod -R a+rX "$work"
head -c 500 /dev/zero | tr '\0' x >"$work/documents/500"

for tcp_nopush in off on; do
    cat >"$work/nginx.conf" <<CONF
daemon off;
pid $work/pid;
worker_processes 1;
events {}
http { access_log off; sendfile on; tcp_nopush $tcp_nopush; server { listen 8080; root $work/documents; } }
CONF
    start nginx -e stderr -c "$work/nginx.conf"
    echo "tcp_nopush $tcp_nopush"
    url=http://10.0.0.1:8080/500
    capture curl -s -o /dev/null -o /dev/null $url $url
    stop
done
