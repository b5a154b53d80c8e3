//! The filter in the kernel against the profile: every call and every rule, measured in jars.

use std::collections::BTreeMap;

use carboy_engine::Host;
use carboy_jail::profile::{Grant, Profile, Verdict};

use crate::support::*;

/// One call with its arguments.
type Probe = (u32, [u64; 6]);

/// Calls that do not come back when they are allowed.
const NO_RETURN: [u32; 4] = [15, 34, 60, 231];
/// `uretprobe` and `uprobe`: newer kernels carry them out past every filter, and they do nothing
/// but where the kernel itself put them.
const PAST_EVERY_FILTER: [u32; 2] = [335, 336];
/// How many are tried in one jar: few enough that no limit on refusals is crossed.
const TOGETHER: usize = 20;

/// Makes the calls one after the other and answers with what each returned.
fn program(probes: &[Probe]) -> String {
    let list = serde_json::to_string(probes).unwrap();
    format!(
        "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
call.restype = ctypes.c_long
result = []
for number, args in {list}:
    ctypes.set_errno(0)
    answer = call(ctypes.c_long(number), *[ctypes.c_ulong(arg) for arg in args])
    result.append(ctypes.get_errno() if answer == -1 else 0)
"
    )
}

/// Tries probes that come back, and compares each with what the profile says of it.
async fn try_together(
    bench: &Bench,
    profile: &Profile,
    probes: &[Probe],
    faults: &mut Vec<String>,
) {
    let outcome = bench.ask(&program(probes)).await;
    if outcome.error.is_some() {
        // One of them ended the jar. Which one shows when each has a jar of its own.
        if let [(number, args)] = probes {
            faults.push(format!("{number} {args:x?} ended the jar: {:?}", outcome.error));
            return;
        }
        for probe in probes {
            Box::pin(try_together(bench, profile, &[*probe], faults)).await;
        }
        return;
    }
    let errnos: Vec<i32> = serde_json::from_str(&result(&outcome)).unwrap();
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for ((number, args), errno) in probes.iter().zip(errnos) {
        let name = carboy_name(*number);
        match profile.judge(*number, args) {
            Verdict::Answer(wanted) if errno != wanted => {
                faults.push(format!("{name} {args:x?}: errno {errno}, the profile says {wanted}"));
            }
            Verdict::Refuse(wanted) => {
                *refused.entry(name.clone()).or_default() += 1;
                if errno != wanted {
                    faults.push(format!("{name} {args:x?}: errno {errno}, not {wanted}"));
                }
            }
            // A child that is to start a program is refused as that.
            Verdict::Grant(Grant::Program) => {
                *refused.entry("execve".to_owned()).or_default() += 1;
                if errno != 1 {
                    faults.push(format!("{name} {args:x?}: errno {errno}, not EPERM"));
                }
            }
            Verdict::Sealing if errno != 1 => {
                faults.push(format!("{name} {args:x?}: errno {errno} after sealing"));
            }
            _ => {}
        }
    }
    let counted: BTreeMap<String, u64> =
        outcome.refused().map(|denial| (denial.what.clone(), denial.count)).collect();
    if counted != refused {
        faults.push(format!("counted {counted:?}, the profile refuses {refused:?}"));
    }
}

fn carboy_name(number: u32) -> String {
    carboy_jail::call_name(number).unwrap_or("unknown").to_owned()
}

#[tokio::test]
async fn every_call_and_every_rule_is_as_the_profile_says() {
    let bench = Bench::with_pool(carboy_engine::PoolConfig {
        ceiling: 8,
        ..carboy_engine::PoolConfig::default()
    });
    let profile = Profile::process(walls(), Host::look().landlock_abi).unwrap();
    let mut probes = profile.probes();
    let named: std::collections::BTreeSet<u32> = probes.iter().map(|(number, _)| *number).collect();
    probes.extend((0..600).filter(|number| !named.contains(number)).map(|number| (number, [0; 6])));
    let (mut back, mut untried) = (Vec::new(), Vec::new());
    for probe in probes {
        match profile.judge(probe.0, &probe.1) {
            Verdict::Kill => panic!("the profile kills on {probe:x?}"),
            Verdict::Grant(Grant::Program) => back.push(probe),
            // They would start something; tests of the limits show them.
            Verdict::Grant(_) => untried.push(probe),
            Verdict::Allow if NO_RETURN.contains(&probe.0) => untried.push(probe),
            _ if PAST_EVERY_FILTER.contains(&probe.0) => untried.push(probe),
            _ => back.push(probe),
        }
    }
    let mut faults = Vec::new();
    for some in back.chunks(TOGETHER) {
        try_together(&bench, &profile, some, &mut faults).await;
    }
    println!(
        "{} probes came back, {} were not tried: {:?}",
        back.len(),
        untried.len(),
        untried.iter().map(|(number, _)| carboy_name(*number)).collect::<Vec<_>>(),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    bench.close().await;
}
