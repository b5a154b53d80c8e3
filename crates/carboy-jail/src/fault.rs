//! Naming what failed: the layer, the call, the object, the kernel's answer, and the way out.

use carboy_protocol::SetupFault;
use rustix::io::Errno;

/// Turns an error of the kernel into a fault of a layer.
pub(crate) trait OrFault<T> {
    fn or_fault(self, layer: &str, step: &str, object: impl ToString) -> Result<T, SetupFault>;
}

impl<T, E: Into<std::io::Error>> OrFault<T> for Result<T, E> {
    fn or_fault(self, layer: &str, step: &str, object: impl ToString) -> Result<T, SetupFault> {
        self.map_err(|error| {
            let error: std::io::Error = error.into();
            let answer = match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(errno) => format!("{} ({errno})", errno_name(errno)),
                None => error.to_string(),
            };
            fault(layer, step, object, answer)
        })
    }
}

/// A fault of a layer: the step that failed, on what, and how.
pub(crate) fn fault(
    layer: &str,
    step: &str,
    object: impl ToString,
    answer: impl ToString,
) -> SetupFault {
    SetupFault {
        layer: layer.into(),
        step: step.into(),
        object: object.to_string(),
        answer: answer.to_string(),
    }
}

/// Compares what the kernel reports with what the plan asked for.
pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
    layer: &str,
    what: impl ToString,
    found: T,
    wanted: T,
) -> Result<(), SetupFault> {
    if found == wanted {
        return Ok(());
    }
    Err(fault(layer, "read back", what, format!("expected {wanted:?}, found {found:?}")))
}

fn errno_name(errno: Errno) -> &'static str {
    match errno {
        Errno::PERM => "EPERM",
        Errno::ACCESS => "EACCES",
        Errno::NOSYS => "ENOSYS",
        Errno::INVAL => "EINVAL",
        Errno::NOSPC => "ENOSPC",
        Errno::NOENT => "ENOENT",
        Errno::NOMEM => "ENOMEM",
        Errno::AGAIN => "EAGAIN",
        Errno::USERS => "EUSERS",
        Errno::BUSY => "EBUSY",
        Errno::NOTDIR => "ENOTDIR",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::MFILE => "EMFILE",
        Errno::ROFS => "EROFS",
        _ => "errno",
    }
}

/// What to do about a fault of a layer.
pub fn hint(fault: &SetupFault) -> &'static str {
    match fault.layer.as_str() {
        "namespaces" => {
            "this host or container refuses user namespaces; `carboy doctor` shows the setting \
             (docs/containers.md), and `--walls nested` selects the weaker walls, which need none"
        }
        "user namespace" => {
            "the user map was refused; `carboy doctor` shows what this host allows, and \
             `--walls nested` selects the weaker walls, which need none"
        }
        "private root" => {
            "could not build the file tree of the jar; the object must exist and be readable, \
             and mounting must be allowed inside user namespaces (`carboy doctor`)"
        }
        "landlock" => {
            "the kernel must have Landlock (Linux 5.13 or later, `landlock` in the boot option `lsm=`), in the \
             version that the policy demands if it names one; `carboy doctor` shows which this one has"
        }
        "seccomp" => {
            "the kernel must offer seccomp filters with user notification (5.9 or later), and no \
             filter around carboy may forbid them or have a listener of its own (`carboy doctor`)"
        }
        "capabilities" | "no new privileges" => {
            "could not drop privileges; a filter around it may forbid capset or \
             prctl (`carboy doctor`)"
        }
        "limits" => {
            "could not set a resource limit; the hard limit of the calling shell may be lower \
             (`ulimit -H -a`)"
        }
        "cgroup" => {
            "start the engine in a control group of its own that it may write: for example with \
             `systemd-run --user --scope -p Delegate=yes`"
        }
        "rank" => {
            "a jar must yield to the engine: `/proc` must be mounted and writable for one's own \
             processes, and no filter around carboy may forbid setpriority"
        }
        "identity" => {
            "could not switch to the jar's user; run carboy as an ordinary user, or as root \
             with CAP_SETUID and CAP_SETGID"
        }
        "jar directory" => {
            "could not create the jar's writable directory; `carboy doctor` shows what is missing"
        }
        "interpreter" => {
            concat!(
                "the interpreter must be a CPython from ",
                carboy_protocol::supported_pythons!(),
                " that the jar's user can read; name another with --python"
            )
        }
        "hand in" => {
            "could not mount what the run is given to read; `carboy doctor` shows what this host offers, and \
             small files can be handed in as bytes"
        }
        "fork" => "the host is short of processes, memory or namespaces; try again with fewer runs",
        _ => "`carboy doctor` shows what this host offers",
    }
}
