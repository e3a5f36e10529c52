#!/bin/sh
# An RST at exactly RCV.NXT ends TIME-WAIT; one that is off by one does not, and none does with tcp_rfc1337=1.
. "$(dirname "$0")/lib.sh"

start python3 -m http.server --protocol HTTP/1.1 --directory "$work" 8080

kept=0
for case in "0 0" "1 0" "0 1"; do
    set -- $case
    on_server sysctl -qw net.ipv4.tcp_rfc1337="$2"
    echo "RST at RCV.NXT + $1, tcp_rfc1337=$2"
    capture python3 "$(dirname "$0")/time-wait.py" "$1"
    echo "in TIME-WAIT at the server: $(($(on_server ss -Htan state time-wait | wc -l) - kept))"
    kept=$(on_server ss -Htan state time-wait | wc -l)
done
