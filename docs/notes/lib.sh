# Two hosts on an Ethernet link, and a capture between them. Source this file; it needs root, iproute2, ethtool, tcpdump.
# The hosts are removed when the script ends. Loopback is not suitable: its MTU is 65,536 bytes.

set -eu
server=ackwise-note-server-$$ client=ackwise-note-client-$$
work=$(mktemp -d)

cleanup() {
    set +e
    for host in "$server" "$client"; do
        ip netns pids "$host" | xargs -r kill
        sleep 0.2
        ip netns delete "$host"
    done
    rm -r "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

ip netns add "$server"
ip netns add "$client"
ip -n "$server" link add wire0 mtu 1500 type veth peer wire0 mtu 1500 netns "$client"
ip -n "$server" address add 10.0.0.1/24 dev wire0
ip -n "$client" address add 10.0.0.2/24 dev wire0
for host in "$server" "$client"; do
    ip netns exec "$host" ethtool -K wire0 tso off gso off gro off
    ip netns exec "$host" sysctl -qw net.ipv4.tcp_congestion_control=reno
    ip -n "$host" link set lo up
    ip -n "$host" link set wire0 up
done

on_server() { ip netns exec "$server" "$@"; }
on_client() { ip netns exec "$client" "$@"; }

# Starts a server and waits until it listens on port 8080.
start() {
    on_server "$@" >"$work/log" 2>&1 &
    for _ in $(seq 100); do
        on_server ss -Hltn 'sport = :8080' | grep -q . && return
        sleep 0.1
    done
    cat "$work/log" >&2
    exit 1
}

# Ends all processes on the server's host.
stop() {
    ip netns pids "$server" | xargs -r kill
    wait
}

# Runs a command on the client's host, and prints the packets captured at the client's end meanwhile.
capture() {
    on_client tcpdump -i wire0 -n --immediate-mode -w "$work/pcap" 'tcp port 8080' 2>"$work/tcpdump" &
    until grep -q listening "$work/tcpdump" 2>/dev/null; do sleep 0.1; done
    on_client "$@" || true
    sleep 0.5
    ip netns pids "$client" | xargs -r kill
    wait $! || true
    # Times since the first packet; windows, options and HTTP details are removed.
    tcpdump -n -ttttt -r "$work/pcap" 2>/dev/null |
        sed -E 's/^ ?00:00:0//; s/ IP / /; s/10.0.0.1.8080/server/g; s/10.0.0.2.[0-9]+/client/g;
            s/, win [0-9]+//; s/, options \[[^]]*\]//; s/: HTTP.*//'
}
