# Captures wrk's requests to nginx over a veth pair with packets as on a real link: MTU 1500, no offloads.
#
#   unshare --mount --pid --fork --kill-child --mount-proc sh capture.sh FILE KIND RESPONSES
#
# KIND is `full` (20,000 bytes, many per connection), `short` (300 bytes, one connection each) or `kept` (300 bytes, many
# per connection). The namespaces' names are in a private /run, and all processes started here end with this one, so nothing is left behind.
set -eu
trap 'exit 130' INT TERM HUP
file=$1 kind=$2 responses=$3
here=$(dirname "$(realpath "$0")")
work=/run/capture

mount -t tmpfs -o mode=755 tmpfs /run
mkdir "$work" "$work/www"
ip netns add server
ip netns add client
ip link add veth netns server type veth peer name veth netns client
ip -n server address add 10.77.0.1/24 dev veth
ip -n client address add 10.77.0.100/24 dev veth
# A port of the client stays in TIME-WAIT at the server for a minute: 130,000 connections need more than one address.
for server in 2 3 4; do ip -n server address add 10.77.0.$server/24 dev veth; done
for host in server client; do
    ip -n $host link set lo up
    ip -n $host link set veth up
    ip netns exec $host ethtool -K veth tso off gso off gro off tx off > "$work/ethtool"
done
ip netns exec client sh -c 'echo "1024 65535" > /proc/sys/net/ipv4/ip_local_port_range'

head -c 20000 /dev/urandom > "$work/www/full"
head -c 300 /dev/urandom > "$work/www/short"
cp "$work/www/short" "$work/www/kept"
cat > "$work/nginx.conf" <<END
worker_processes 1; error_log $work/error.log; pid $work/nginx.pid;
events { worker_connections 1024; }
http { access_log off; server { listen 80 backlog=1024; root $work/www; keepalive_requests 100; } }
END
ip netns exec server nginx -e "$work/error.log" -c "$work/nginx.conf"

# Keep root: tcpdump would otherwise drop privileges and could not write to root's directories.
ip netns exec server tcpdump -i veth -Z root --time-stamp-precision=nano -s 0 -B 262144 -w "$file" tcp 2> "$work/tcpdump.log" &
tcpdump=$!
for _ in $(seq 100); do grep -q 'listening on' "$work/tcpdump.log" && break; sleep 0.1; done

# One address after the other, each with fewer connections than the client has ports.
case $kind in
    full | kept) parts=1 header='Accept: */*' ;;
    short) parts=4 header='Connection: close' ;;
esac
for server in $(seq $parts); do
    ip netns exec client wrk -t1 -c20 -d300 -H "$header" -s "$here/stop.lua" "http://10.77.0.$server/$kind" -- $((responses / parts)) > "$work/wrk.log"
done

# Wait for packets not yet written to the file.
size=-1
while [ "$size" != "$(stat -c %s "$file")" ]; do size=$(stat -c %s "$file"); sleep 1; done
kill -TERM $tcpdump
wait $tcpdump
if ! grep -q '^0 packets dropped by kernel' "$work/tcpdump.log"; then
    echo "tcpdump was too slow: $(grep dropped "$work/tcpdump.log")" >&2
    exit 3
fi
