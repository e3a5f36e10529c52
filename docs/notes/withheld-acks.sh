#!/bin/sh
# A server whose client acknowledges nothing: what the server sends depends on whether SACK was offered.
. "$(dirname "$0")/lib.sh"

mkdir "$work/documents"
head -c 65536 /dev/zero | tr '\0' x >"$work/documents/65536"

start python3 -m http.server --protocol HTTP/1.1 --directory "$work/documents" 8080
on_client nft 'add table ip t; add chain ip t o { type filter hook output priority 0; }'
# Drops bare ACKs; the request carries the ACK that ends the handshake.
on_client nft 'add rule ip t o tcp dport 8080 tcp flags == ack drop'

for sack in 1 0; do
    on_client sysctl -qw net.ipv4.tcp_sack=$sack
    echo "SACK offered: $sack"
    # Only the packets before curl gives up.
    capture curl -s -o /dev/null --max-time 0.3 http://10.0.0.1:8080/65536 | sed '/client > server: Flags \[F/Q'
done
