# id: AV-36-c
# title: makes every kind of refused call once to lengthen the report
# walls: full nested
# first: seccomp
# second: engine count
# expect: ok
# denies: socket execve ptrace mount bpf io_uring_setup setuid mknod
# control: none: most of these calls must not be tried outside of a jar
"""The outcome names each call that was refused. The list is bounded by the profile, and its entries
are names, not words of the guest."""

import ctypes

libc = ctypes.CDLL(None)
nr = context["nr"]
refused = """socket connect bind listen accept accept4 recvmsg recvmmsg sendmmsg execve execveat
kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal ptrace process_vm_readv
process_vm_writev kcmp pidfd_open pidfd_getfd perf_event_open syslog lookup_dcookie
get_robust_list name_to_handle_at open_by_handle_at fanotify_init fanotify_mark inotify_init
inotify_init1 mount umount2 pivot_root chroot unshare setns fsopen fsconfig fsmount fspick
move_mount open_tree mount_setattr sethostname setdomainname bpf userfaultfd keyctl add_key
request_key init_module finit_module delete_module kexec_load swapon swapoff acct quotactl iopl
ioperm modify_ldt personality arch_prctl landlock_create_ruleset landlock_add_rule
landlock_restrict_self settimeofday clock_settime adjtimex clock_adjtime io_uring_setup
io_uring_enter io_uring_register io_setup io_destroy io_getevents io_submit io_cancel
memfd_create memfd_secret shmget shmat shmctl shmdt semget semop semctl msgget msgsnd msgrcv
msgctl mq_open mq_unlink mlockall mlock2 setuid setgid setreuid setregid setresuid setresgid
setfsuid setfsgid setgroups capset setsid setpgid setrlimit setpriority sched_setaffinity
sched_setscheduler link linkat mknod mknodat chown fchown lchown fchownat setxattr lsetxattr
fsetxattr splice tee vmsplice timer_create timerfd_create""".split()
for name in refused:
    libc.syscall(nr[name], -1, -1, -1, -1, -1, -1)
result = len(refused)
