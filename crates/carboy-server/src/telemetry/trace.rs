//! Which trace a request belongs to: the header `traceparent` of W3C Trace Context, or a trace of its own.

/// A place in a trace: the trace, the span above, and the span of the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    trace: u128,
    above: u64,
    own: u64,
    sampled: bool,
}

/// One span: which trace it is in, below which span, and its own id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub trace: [u8; 16],
    pub above: Option<[u8; 8]>,
    pub own: [u8; 8],
}

impl Trace {
    /// For a request with this header, if it has one that can be used. `random` are random bits, of which none may be used
    /// twice; the same id for two spans spoils a picture and nothing else.
    pub fn of(header: Option<&str>, random: impl Fn() -> u128) -> Trace {
        let own = span_id(&random);
        match header.and_then(parsed) {
            Some((trace, above, sampled)) => Trace { trace, above, own, sampled },
            None => Trace { trace: random().max(1), above: 0, own, sampled: true },
        }
    }

    /// The id of the trace, in hexadecimal.
    pub fn id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    pub(super) fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The request itself.
    pub(super) fn own(&self) -> Place {
        let above = (self.above != 0).then(|| self.above.to_be_bytes());
        Place { trace: self.trace.to_be_bytes(), above, own: self.own.to_be_bytes() }
    }

    /// Something below it.
    pub(super) fn below(&self) -> Place {
        let own = span_id(&random);
        let (trace, above) = (self.trace.to_be_bytes(), Some(self.own.to_be_bytes()));
        Place { trace, above, own: own.to_be_bytes() }
    }
}

/// Random bits, or none where the kernel has none.
pub(crate) fn random() -> u128 {
    let id = carboy_engine::new_id().unwrap_or_default();
    u128::from_str_radix(&id, 16).unwrap_or_default()
}

fn span_id(random: &impl Fn() -> u128) -> u64 {
    // Zero is the id of no span.
    ((random() >> 64) as u64).max(1)
}

/// `00-TRACE-SPAN-FLAGS`: version 00, or a later one that begins like it.
fn parsed(header: &str) -> Option<(u128, u64, bool)> {
    let mut parts = header.trim().split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_form = version.len() == 2 && trace.len() == 32 && span.len() == 16 && flags.len() == 2;
    let lower = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_hex = [version, trace, span, flags].into_iter().all(lower);
    if !is_form || !is_hex || version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
    let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((trace, span, flags & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_w3c_is_read() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = Trace::of(Some(header), || 7 << 64);
        assert_eq!(trace.id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((trace.above, trace.own, trace.sampled), (0x00f0_67aa_0ba9_02b7, 7, true));
        let unsampled = header.replace("-01", "-00");
        assert!(!Trace::of(Some(&unsampled), random).is_sampled());
        // A later version may have more behind it.
        assert_eq!(Trace::of(Some(&format!("cc{}-more", &header[2..])), random).id(), trace.id());
    }

    #[test]
    fn what_is_no_header_begins_a_trace() {
        for wrong in [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473+-00f067aa0ba902b7-01",
        ] {
            let trace = Trace::of(Some(wrong), || 3);
            assert_eq!((trace.trace, trace.above, trace.sampled), (3, 0, true), "{wrong}");
        }
        let one = Trace::of(None, random);
        assert_ne!(one, Trace::of(None, random));
        let below = one.below();
        assert_eq!((below.trace, below.above), (one.own().trace, Some(one.own().own)));
    }
}
