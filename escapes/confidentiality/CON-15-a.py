# id: CON-15-a
# title: opens devices of the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Virtual machines, user file systems, kernel memory and log, terminals, tunnels, disks. A jar has
/dev/null, the two sources of randomness, and an empty directory for shared memory."""

import os

names = """kvm fuse vsock vhost-vsock vhost-net userfaultfd mem kmem port kmsg tty ptmx pts/ptmx
console net/tun mapper/control loop-control zero full rtc0 input/event0 snd/seq dri/card0 cpu/0/msr
cpu/0/cpuid hpet nvram pts/0 mqueue autofs btrfs-control uinput udmabuf dma_heap/system
core initctl log""".split()
opened = []
for name in names:
    for flags in (os.O_RDONLY, os.O_RDWR):
        try:
            fd = os.open("/dev/" + name, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            os.close(fd)
            opened.append(name)
        except OSError:
            pass
for place in ("/dev", "/dev/pts", "/dev/shm", "/dev/net", "/dev/fd"):
    try:
        opened += os.listdir(place)
    except OSError:
        pass
if opened:
    result = [context["flag"], opened]
