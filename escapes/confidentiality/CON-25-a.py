# id: CON-25-a
# title: reads what identifies the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Machine and boot ids, serial numbers, network addresses, the kernel's command line, names of
users, the zone of the clock. Of all that, a jar finds only what was generated for it."""

import os
import pwd
import uuid

names = """/etc/machine-id /var/lib/dbus/machine-id /etc/hostname /etc/timezone /etc/localtime
/proc/sys/kernel/random/boot_id /proc/sys/kernel/hostname /proc/cmdline /proc/self/uid_map
/proc/self/gid_map /sys/class/dmi/id/product_uuid /sys/class/dmi/id/product_serial
/sys/class/net/eth0/address /sys/class/net/lo/address /etc/passwd /etc/subuid
/sys/hypervisor/uuid /etc/os-release /etc/issue /etc/debian_version""".split()
read = []
for name in set(names) - set(context["generated"]):
    try:
        if os.read(os.open(name, os.O_RDONLY | os.O_NOFOLLOW), 16):
            read.append(name)
    except OSError:
        pass
try:
    if "/etc/passwd" not in context["generated"]:
        read.append(pwd.getpwuid(0).pw_dir)
except (KeyError, OSError):
    pass
for way in ("_unix_getnode", "_ip_getnode", "_ifconfig_getnode", "_arp_getnode"):
    try:
        node = getattr(uuid, way)()
        if node and not node & 1 << 40:  # that bit marks a number that was drawn
            read.append(way)
    except (AttributeError, OSError, TypeError):
        pass
if read:
    result = [context["flag"], read]
