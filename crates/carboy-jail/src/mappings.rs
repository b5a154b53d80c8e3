//! Memory that a fork shares with its parent for good.
//!
//! A fork copies private memory when it is written. What is mapped as shared and can be written stays
//! one for all of them: through it every jar of a zygote would reach every other.

/// The first mapping in the text of `/proc/PID/smaps` that forks would share and could write: its
/// name and its size.
///
/// The flags count, not the rights of the moment: what was opened for writing can be made writable
/// again later.
pub fn shared_writable(smaps: &str) -> Option<String> {
    let mut mapping = "";
    let found = smaps.lines().find(|line| match line.strip_prefix("VmFlags:") {
        Some(flags) => {
            let has = |wanted| flags.split_whitespace().any(|flag| flag == wanted);
            // shared, may be written, and handed on to a fork
            has("sh") && has("mw") && !has("dc")
        }
        None => {
            // Every other line begins with the name of a figure.
            if line.starts_with(|first: char| first.is_ascii_digit() || first.is_ascii_lowercase())
            {
                mapping = line;
            }
            false
        }
    });
    found.map(|_| describe(mapping))
}

fn describe(mapping: &str) -> String {
    let mut words = mapping.split_whitespace();
    let range = words.next().unwrap_or("").split_once('-');
    let name = words.skip(4).collect::<Vec<_>>().join(" ");
    let address = |text| u64::from_str_radix(text, 16).ok();
    let size = range.and_then(|(from, to)| Some(address(to)? - address(from)?)).unwrap_or(0);
    let name = if name.is_empty() { "without a name" } else { &name };
    format!("{name}, {size} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: &str = "55d0aa000000-55d0aa021000 rw-p 00000000 00:00 0      [heap]\n\
        Size:                132 kB\nRss:                  20 kB\nVmFlags: rd wr mr mw me ac \n";
    const READ_ONLY: &str = "7fb120062000-7fb120069000 r--s 00000000 fe:00 325745      /usr/x.cache\n\
        Size:                 28 kB\nVmFlags: rd mr me ms \n";
    const SHARED: &str = "7fb120070000-7fb120071000 rw-s 00000000 00:01 1040      /dev/zero (deleted)\n\
        Size:                  4 kB\nVmFlags: rd wr sh mr mw me ms \n";

    #[test]
    fn what_forks_share_and_can_write_is_found() {
        assert_eq!(shared_writable(&format!("{PRIVATE}{READ_ONLY}")), None);
        let found = shared_writable(&format!("{PRIVATE}{SHARED}{READ_ONLY}"));
        assert_eq!(found.unwrap(), "/dev/zero (deleted), 4096 bytes");
    }

    #[test]
    fn rights_of_the_moment_do_not_count() {
        let locked = SHARED.replace("rw-s", "r--s").replace(" wr", "");
        assert!(shared_writable(&locked).is_some());
        let kept = SHARED.replace("me ms", "me ms dc");
        assert_eq!(shared_writable(&kept), None, "a fork does not get it");
    }

    #[test]
    fn this_process_is_seen_as_the_kernel_shows_it() {
        let smaps = || std::fs::read_to_string("/proc/self/smaps").unwrap();
        assert_eq!(shared_writable(&smaps()), None);
    }
}
