//! `xtask without CALL[:ARG=VALUE] ERRNO -- PROGRAM ...`: a program on a kernel that refuses a call.
//!
//! Loads a filter that answers one system call with an error, then becomes the program. Everything
//! the program starts inherits it, so a test can take away any one layer and watch what happens.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use carboy_sys::seccomp::{Instruction, load};
use rustix::io::Errno;

/// Loads the filter and becomes the program.
pub fn run(what: &str, errno: &str, program: &[&str]) -> io::Result<std::process::ExitCode> {
    let wrong = |words: &str| io::Error::new(io::ErrorKind::InvalidInput, words.to_owned());
    let (call, test) = what.split_once(':').map_or((what, None), |(call, rest)| (call, Some(rest)));
    let number = carboy_sys::number_of(call).ok_or_else(|| wrong("unknown system call"))?;
    let errno = match errno {
        "EPERM" => Errno::PERM,
        "ENOSYS" => Errno::NOSYS,
        "ENOSPC" => Errno::NOSPC,
        "EINVAL" => Errno::INVAL,
        _ => return Err(wrong("ERRNO is EPERM, ENOSYS, ENOSPC or EINVAL")),
    };
    let test = test
        .map(|test| {
            let (arg, value) = test.split_once('=')?;
            Some((arg.parse::<u32>().ok()?, value.parse::<u32>().ok()?))
        })
        .map(|parsed| parsed.ok_or_else(|| wrong("a test looks like 0=38")))
        .transpose()?;
    rustix::thread::set_no_new_privs(true)?;
    load(&filter(number, test, errno))?;
    let [name, arguments @ ..] = program else { return Err(wrong("no program")) };
    Err(Command::new(name).args(arguments).exec())
}

fn filter(number: u32, test: Option<(u32, u32)>, errno: Errno) -> Vec<Instruction> {
    let step =
        |code, constant, jump_false| Instruction { code, jump_true: 0, jump_false, constant };
    let refuse = step(0x06, 0x0005_0000 | errno.raw_os_error() as u32, 0);
    let allow = step(0x06, 0x7fff_0000, 0);
    let load_word = |offset| step(0x20, offset, 0);
    match test {
        None => vec![load_word(0), step(0x15, number, 1), refuse, allow],
        Some((arg, value)) => vec![
            load_word(0),
            step(0x15, number, 3),
            load_word(16 + 8 * arg),
            step(0x15, value, 1),
            refuse,
            allow,
        ],
    }
}
