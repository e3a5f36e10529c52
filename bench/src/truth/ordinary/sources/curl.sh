# curl, some documents on one connection each time: `URL COUNT THINK_MS`. Prints port and seconds of each transfer.
for number in $(seq "$2"); do
  curl -sk -w '%{local_port} %{time_total}s\n' -o /dev/null "$1/1000" -o /dev/null "$1/10000" -o /dev/null "$1/100"
  sleep "0.$(printf %03d "$3")"
done
