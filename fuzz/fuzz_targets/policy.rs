//! Policies as a request carries them: read or refused, never a panic, and what is valid stays so
//! under a ceiling.
#![no_main]

use carboy_protocol::{LimitName, Policy, Preset};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(policy) = serde_json::from_slice::<Policy>(data)
        && policy.validate().is_ok()
    {
        let ceiling = Policy::preset(Preset::Low).limits;
        let limits = policy.limits.clamped(&ceiling);
        let within = |name: &LimitName| limits.get(*name) <= ceiling.get(*name);
        assert!(LimitName::ALL.iter().all(within));
        assert!(Policy { limits, ..policy }.validate().is_ok());
    }
});
