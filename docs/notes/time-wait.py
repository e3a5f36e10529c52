"""Lets the server close first, then sends an RST at RCV.NXT + the argument."""

import socket
import struct
import sys
import time

SERVER = ("10.0.0.1", 8080)
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, SEND_QUEUE, OFF_WITHOUT_PROBE = 19, 20, 21, 2, -1


def next_sequence(connection):
    """SND.NXT, which the kernel returns only for a socket in repair mode."""
    tcp = socket.IPPROTO_TCP
    connection.setsockopt(tcp, TCP_REPAIR, 1)
    connection.setsockopt(tcp, TCP_REPAIR_QUEUE, SEND_QUEUE)
    sequence = connection.getsockopt(tcp, TCP_QUEUE_SEQ) & 0xFFFFFFFF
    connection.setsockopt(tcp, TCP_REPAIR, OFF_WITHOUT_PROBE)
    return sequence


def reset(source, sequence):
    """The TCP header of an RST, without options."""
    def header(checksum):
        ports = struct.pack("!HH", source[1], SERVER[1])
        return ports + struct.pack("!IIBBHHH", sequence & 0xFFFFFFFF, 0, 5 << 4, 4, 0, checksum, 0)

    pseudo = socket.inet_aton(source[0]) + socket.inet_aton(SERVER[0]) + struct.pack("!HH", 6, 20)
    total = sum(struct.unpack("!16H", pseudo + header(0)))
    total = (total & 0xFFFF) + (total >> 16)
    return header(~(total + (total >> 16)) & 0xFFFF)


connection = socket.create_connection(SERVER)
source = connection.getsockname()
connection.sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
while connection.recv(65536):
    pass
# Next, our FIN takes one sequence number.
expected = next_sequence(connection) + 1
connection.close()
time.sleep(0.1)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
raw.sendto(reset(source, expected + int(sys.argv[1])), (SERVER[0], 0))
