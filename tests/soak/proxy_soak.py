#!/usr/bin/python3
"""Thousands of connections through `cordon proxy`, whole, cut and stalled, leave no
descriptor and no memory behind, and others are served meanwhile."""
import argparse
import os
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "network"))
import fakenet  # noqa: E402
from fakenet import Proxy, Server, read_until, read_all  # noqa: E402

SETTLE_SECONDS = 30
MEMORY_SLACK = 4 << 20  # of the allocator; a leak of 1 KiB a connection is beyond it


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) << 10


def http(connection):
    read_until(connection, b"\r\n\r\n")
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def whole(proxy, number):
    if number % 3 == 0:
        answer = proxy.ask(b"GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n")
        assert answer.endswith(b"ok"), answer
    elif number % 3 == 1:
        with proxy.tunnel("ok.test:80") as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n")
            assert read_all(client).endswith(b"ok")
    else:
        assert proxy.tunnel("evil.test:80").startswith(b"HTTP/1.1 403")


def cut(proxy, number):
    """Goes away at some point of the conversation."""
    client = proxy.connect()
    words = [b"", b"\5", b"\5\1\0", b"CONN", b"CONNECT ok.test:80 HTTP/1.1\r\nHost: x\r\n\r\n",
             b"POST http://ok.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
             b"CONNECT ok.test:80 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01\x02\x00\x01"]
    client.sendall(words[number % len(words)])
    if number % 2:
        reset(client)
    else:
        client.close()


def in_threads(count, work, threads=8):
    failures = []

    def run(first):
        try:
            for number in range(first, count, threads):
                work(number)
        except Exception as failure:  # pylint: disable=broad-except
            failures.append(repr(failure))
    running = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures, failures[:3]


def settled(proxy, before):
    """The descriptors once they have gone down to `before`, or what they stay at."""
    end = time.monotonic() + SETTLE_SECONDS
    while descriptors(proxy.process.pid) > before and time.monotonic() < end:
        time.sleep(0.1)
    return descriptors(proxy.process.pid)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--cuts", type=int, default=1_000)
    parser.add_argument("--stalled", type=int, default=1_000)
    args = parser.parse_args()
    fakenet.enter()
    fakenet.NameServer({"ok.test": ["93.184.216.10"]})
    Server("93.184.216.10", 80, http)
    with Proxy("--allow-domain", "ok.test") as proxy:
        pid = proxy.process.pid
        fds = descriptors(pid)
        in_threads(300, lambda n: (whole(proxy, n), cut(proxy, n)))
        private = memory(pid)  # with what is kept for good
        in_threads(args.connections, lambda n: whole(proxy, n))
        in_threads(args.cuts, lambda n: cut(proxy, n))
        after = settled(proxy, fds)
        assert after <= fds, f"{after - fds} descriptors more"
        grown = memory(pid) - private
        assert grown < MEMORY_SLACK, f"{grown} bytes more after {args.connections} connections"

        stalled = [proxy.connect() for _ in range(args.stalled)]
        for client in stalled:
            client.sendall(b"GET http://ok.test/ HTTP/1.1\r\nHo")
        in_threads(30, lambda n: whole(proxy, n))
        held = memory(pid) - private
        for client in stalled:
            client.close()
        assert held < MEMORY_SLACK + args.stalled * 32 * 1024, f"{held} bytes for {args.stalled} stalled"
        after = settled(proxy, fds)
        assert after <= fds, f"{after - fds} descriptors more after the stalled ones"
    print(f"proxy soak: {args.connections} whole, {args.cuts} cut, {args.stalled} stalled; "
          f"{fds} descriptors, {grown >> 10} KiB more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
