# id: CON-27-c
# title: reaches the host's network through an event loop
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Event loops are allowed, and with them pairs of sockets. The same loop must connect nowhere, to
no port, no datagram, no path and no server of its own."""

import asyncio


async def attack():
    loop = asyncio.get_running_loop()
    tries = [
        lambda: asyncio.open_connection("127.0.0.1", context["tcp"]),
        lambda: asyncio.open_unix_connection(context["unix"]),
        lambda: loop.create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=("127.0.0.1", context["udp"])),
        lambda: asyncio.start_server(print, "127.0.0.1", 0),
        lambda: asyncio.start_unix_server(print, "server"),
    ]
    for way in tries:
        try:
            got = await asyncio.wait_for(way(), 1)
            if not isinstance(got, asyncio.Server) or got.sockets:
                print(context["flag"])
        except (OSError, asyncio.TimeoutError):
            pass


asyncio.run(attack())
