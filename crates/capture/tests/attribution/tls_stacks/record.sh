#!/bin/bash
# Records the sequences in this directory: real programs that speak TLS over a link of 10 ms each way. Needs root, curl,
# openssl, nginx, go, java, chromium, tcpdump, tshark. Usage: record.sh [NAME...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$root" && cargo build --quiet -p ackwise-linux --example emulate)
cd "$work"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=localhost 2>/dev/null
openssl pkcs12 -export -in cert.pem -inkey key.pem -out pair.p12 -passout pass:password
go build -o peer "$here/peer.go"
javac -d . "$here/Peer.java"
mkdir www
cp "$here/page.html" www/
for size in 0 1 40 100 3000 20000; do head -c "$size" /dev/zero > "www/$size"; done
cat > nginx.conf <<NGINX
pid $work/pid; error_log $work/error; events {}
http { access_log off; root $work/www; server {
    listen 8443 ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem;
    ssl_protocols TLSv1.2 TLSv1.3; ssl_early_data on; ssl_session_cache shared:a:1m; } }
NGINX
chmod 755 "$work"

nginx="nginx -p $work -c $work/nginx.conf -g 'daemon off; master_process off;'"
url=https://\$ACKWISE_SERVER:8443
# Several transfers of one process use one connection.
curl='curl_() {
    curl -ksS -w "%{stderr}%{time_total}\n" "$@" 2>&1 > /dev/null | while read -r took; do
        date +%s.%6N | awk "{ printf \"%.6f %.3f\\n\", \$1 - $took, $took * 1000 }" >> clock
    done
}'
# What ends is the response: the server closes. The program does not tell when.
openssl='printf "GET /100 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" > request
openssl_() {
    echo "$(date +%s.%6N) -" >> clock
    (cat "$1"; sleep .5) | openssl s_client -connect $ACKWISE_SERVER:8443 -tls1_3 "${@:2}" -ign_eof > log 2>&1 || true
}'
chromium="timeout 8 chromium --headless=new --no-sandbox --disable-gpu --disable-background-networking --ignore-certificate-errors \
    --no-first-run --user-data-dir=$work/profile --enable-logging=stderr --remote-debugging-port=0 $url/page.html 2> log || true
    grep -oP 'CLOCK \K[0-9. ]+' log > clock"

# NAME DELAY SERVER CLIENT
record() {
    rm -f clock
    timeout 60 "$root/target/debug/examples/emulate" --delay "$2" --rate 100mbit --server "$3" -- bash -c "
        tcpdump --immediate-mode -i any -U -s 0 -w capture tcp port 8443 2> /dev/null & dump=\$!
        sleep 1; $4
        sleep .3; kill \$dump; wait \$dump" > /dev/null
    python3 "$here/sequences.py" "$5" capture clock > "$here/$1.txt"
    echo "$1: $(grep -c ^connection "$here/$1.txt") connections"
}

want=" ${*:-curl curl-1.2 early go go-mtls java java-nginx chromium} "
case $want in *" curl "*) record curl 10ms "$nginx" "$curl; curl_ -o a $url/0 -o a $url/100 -o a $url/3000; curl_ -o a $url/40" \
    "$(curl --version | grep -o '^curl [0-9.]*'), $(openssl version | cut -d' ' -f1,2), nginx" ;; esac
case $want in *" curl-1.2 "*) record curl-1.2 10ms "$nginx" "$curl; curl_ --tls-max 1.2 -o a $url/0 -o a $url/100 -o a $url/3000" \
    "$(curl --version | grep -o '^curl [0-9.]*'), $(openssl version | cut -d' ' -f1,2), nginx; TLS 1.2" ;; esac
case $want in *" early "*) record early 10ms "$nginx" "$openssl; openssl_ request -sess_out session
    openssl_ /dev/null -sess_in session -early_data request; openssl_ request -sess_in session" \
    "$(openssl version | cut -d' ' -f1,2) on both ends, nginx; the second resumed with early data, the third without" ;; esac
case $want in *" go "*) record go 10ms "./peer serve" "./peer get $url clock new /0 /100 /3000 /1
    cat clock > c; ./peer get $url clock /0 /100 /3000 /1; cat clock >> c; mv c clock" \
    "$(go version | cut -d' ' -f3) on both ends; resumption, then one connection" ;; esac
case $want in *" go-mtls "*) record go-mtls 10ms "./peer serve mtls" "./peer get $url clock mtls new /0 /100 /3000" \
    "$(go version | cut -d' ' -f3) on both ends; client certificates" ;; esac
case $want in *" java "*) record java 10ms "java Peer serve" "java Peer get $url clock /0 /100 /3000 /1" \
    "$(java --version | head -1) on both ends" ;; esac
case $want in *" java-nginx "*) record java-nginx 10ms "$nginx" "java Peer get $url clock /0 /100 /3000 /1" \
    "$(java --version | head -1), nginx" ;; esac
case $want in *" chromium "*) record chromium 10ms "$nginx" "$chromium" "$(chromium --version | cut -d' ' -f1,2), nginx" ;; esac
