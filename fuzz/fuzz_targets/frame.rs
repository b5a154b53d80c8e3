//! Bytes from inside a jar: decoded in pieces, checked, parsed. Nothing may panic, nothing may be
//! longer than allowed, and whatever the check accepts an ordinary parser accepts too.
#![no_main]

use carboy_protocol::frame::Decoder;
use carboy_protocol::{FromJar, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (u8, &[u8])| {
    let (piece, bytes) = data;
    let mut decoder = Decoder::new(4096);
    for piece in bytes.chunks(usize::from(piece).max(1)) {
        if decoder.feed(piece).is_err() {
            return;
        }
        while let Some(body) = decoder.next() {
            assert!(body.len() <= 4096);
            if json::check(&body, 100).is_ok() {
                let parsed = serde_json::from_slice::<Box<serde_json::value::RawValue>>(&body);
                assert!(parsed.is_ok());
                let message = serde_json::from_slice::<FromJar>(&body);
                drop(message);
            }
        }
    }
});
