"""sequences.py ABOUT CAPTURE CLOCK: the records and packets of a capture's connections, and the clock of their client.

Each line of CLOCK is when an exchange began, in seconds, and its milliseconds; or "-" if the program did not measure them.
"""

import subprocess
import sys

HELLO = 22
FIELDS = "frame.time_epoch tcp.stream tcp.dstport tcp.flags.syn tcp.flags.fin tcp.flags.reset tcp.flags.push tcp.seq tcp.ack tcp.len tcp.payload".split()


def packets(capture):
    """Of each connection: time, to the server?, flags, relative sequence number, acknowledgement, data."""
    command = ["tshark", "-r", capture, "-d", "tcp.port==8443,data", "-T", "fields"]
    for field in FIELDS:
        command += ["-e", field]
    connections = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        time, stream, port, syn, fin, rst, psh, seq, ack, _, payload = line.split("\t")
        flags = [name for name, on in (("syn", syn), ("fin", fin), ("rst", rst), ("psh", psh)) if on in ("1", "True")]
        packet = (float(time), port == "8443", flags, int(seq), int(ack or 0), bytes.fromhex(payload))
        connections.setdefault(int(stream), []).append(packet)
    return connections


def records(stream):
    """`type:length` of each record, with the content of hellos, which say what the rest is."""
    words, at = [], 0
    while at < len(stream):
        kind, length = stream[at], int.from_bytes(stream[at + 3 : at + 5])
        content = stream[at + 5 : at + 5 + length]
        is_hello = kind == HELLO and content[:1] in (b"\x01", b"\x02")
        words.append(f"{kind}:{length}" + (f"={content.hex()}" if is_hello else ""))
        at += 5 + length
    return " ".join(words)


def sequence(packets, clock):
    streams = {True: bytearray(), False: bytearray()}
    script, first = [], packets[0][0]
    for time, to_server, flags, seq, ack, data in packets:
        start = seq - 1
        if data and start <= len(streams[to_server]):
            streams[to_server][start : start + len(data)] = data
        words = [f"{(time - first) * 1e3:.3f}", ">" if to_server else "<", *flags]
        if data:
            words.append(f"{start}:{start + len(data)}")
        elif "fin" in flags or "rst" in flags:
            # Behind a FIN there is nothing.
            start = min(start, len(streams[to_server]))
            words.append(f"{start}:{start}")
        if ack:
            words.append(f"ack {ack - 1}")
        script.append(" ".join(words))
    print("connection", *[took for _, took in clock])
    print("client", records(streams[True]))
    print("server", records(streams[False]))
    print("\n".join(script))


def main():
    about, capture, clock = sys.argv[1:]
    clock = [line.split() for line in open(clock)]
    connections = packets(capture)
    of = {stream: [] for stream in connections}
    for begin, took in clock:
        begin = float(begin)
        end = begin + (float(took) / 1e3 if took != "-" else 0.6)
        # The one that carried it: all of these clients ask one thing after another.
        carried = {
            stream: sum(len(it[5]) for it in connection if begin <= it[0] <= end)
            for stream, connection in connections.items()
        }
        of[max(carried, key=carried.get)].append((begin, took))
    print(f"# {about}")
    for stream, connection in connections.items():
        sequence(connection, of[stream])


main()
