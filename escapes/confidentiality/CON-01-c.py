# id: CON-01-c
# title: reads the files that every host has
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Tries the paths that an intruder tries first: users, keys, mounts, packages, logs. None of them
is on the list of what a jar may read, but for some that were generated for it."""

import os

names = """/etc/passwd /etc/group /etc/shadow /etc/hosts /etc/fstab /etc/os-release /etc/mtab
/etc/profile /etc/nsswitch.conf /etc/ssh/sshd_config /etc/ssl/openssl.cnf /etc/crontab
/root/.bashrc /root/.profile /root/.bash_history /root/.ssh/id_rsa /root/.ssh/authorized_keys
/var/lib/dpkg/status /var/log/wtmp /var/log/syslog /boot/grub/grub.cfg /usr/bin/env /bin/sh
/usr/share/common-licenses/GPL-3 /usr/sbin/init /opt/README""".split()
opened = []
for name in set(names) - set(context["generated"]):
    for spelt in (name, "/." + name, "//" + name, name.replace("/", "/./")):
        try:
            fd = os.open(spelt, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            if os.read(fd, 1):
                opened.append(name)
        except OSError:
            pass
if opened:
    result = [context["flag"], opened]
