//! Profiles: read or refused, never a panic, and whatever is read compiles to a program that ends
//! every path in an answer.
#![no_main]

use carboy_jail::filter::{compile, compile_closing};
use carboy_jail::profile::Profile;
use carboy_protocol::Walls;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for walls in [Walls::Full, Walls::Nested] {
        if let Ok(profile) = Profile::parse(text, walls) {
            for program in [compile(&profile), compile_closing(&profile)] {
                let last = program.last().map(|step| step.code);
                assert_eq!(last, Some(0x06));
            }
        }
    }
});
