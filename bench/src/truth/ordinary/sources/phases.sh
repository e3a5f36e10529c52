# curl, three documents on a connection: `URL COUNT THINK_MS HOW`. Prints port and seconds of each transfer: from connect(),
# or from when a connection in use is ready for it, to the end.
form='%{local_port} %{num_connects} %{time_namelookup} %{time_pretransfer} %{time_total}\n'
for number in $(seq $(($2 / 3))); do
  said=$(curl -sk $4 -w "$form" -o /dev/null "$1/1000" -o /dev/null "$1/10000" -o /dev/null "$1/100") || exit 1
  printf '%s\n' "$said" | awk '{ printf "%d %.6fs\n", $1, $5 - ($2 ? $3 : $4) }'
  sleep "0.$(printf %03d "$3")"
done
