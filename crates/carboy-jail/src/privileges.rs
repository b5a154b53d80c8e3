//! Capabilities and `no_new_privs`.

use carboy_protocol::SetupFault;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, configure_capability_in_ambient_set, no_new_privs,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::fault::{OrFault, expect};

const CAPABILITIES: &str = "capabilities";
const NO_NEW_PRIVILEGES: &str = "no new privileges";

/// What a zygote needs to make mount and pid namespaces for its jars and to empty their bounding
/// sets; all of it counts inside its own user namespace only.
const ZYGOTE: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SETPCAP);

/// Every capability the kernel knows, one at a time.
fn known() -> impl Iterator<Item = CapabilitySet> {
    (0..64)
        .map(|bit| CapabilitySet::from_bits_retain(1 << bit))
        .take_while(|one| capability_is_in_bounding_set(*one).is_ok())
}

/// Takes these out of the bounding set.
fn unbound(capabilities: impl Iterator<Item = CapabilitySet>) -> Result<(), SetupFault> {
    for one in capabilities {
        let dropped = remove_capability_from_bounding_set(one);
        dropped.or_fault(CAPABILITIES, "prctl", "PR_CAPBSET_DROP")?;
    }
    Ok(())
}

/// Gives up all capabilities but the zygote's two, which survive the exec as ambient ones.
pub(crate) fn keep_zygote() -> Result<(), SetupFault> {
    unbound(known().filter(|one| !ZYGOTE.contains(*one)))?;
    let sets = CapabilitySets { effective: ZYGOTE, permitted: ZYGOTE, inheritable: ZYGOTE };
    set_capabilities(None, sets).or_fault(CAPABILITIES, "capset", "the zygote's two")?;
    for one in ZYGOTE.iter() {
        configure_capability_in_ambient_set(one, true).or_fault(
            CAPABILITIES,
            "prctl",
            "PR_CAP_AMBIENT_RAISE",
        )?;
    }
    let found = capabilities(None).or_fault(CAPABILITIES, "capget", "")?;
    expect(CAPABILITIES, "permitted", found.permitted, ZYGOTE)
}

/// Gives up every capability of a zygote's fork, in all five sets.
///
/// The zygote's two are all that its bounding set holds. That nothing is left there is for the
/// engine to read: asking for each capability in turn takes longer than the rest of sealing.
pub(crate) fn drop_zygote() -> Result<(), SetupFault> {
    unbound(ZYGOTE.iter())?;
    drop_sets()
}

/// Gives up every capability in all five sets.
///
/// A process without `CAP_SETPCAP` (an ordinary user in nested walls) cannot empty its bounding
/// set; that is read back and reported, and `no_new_privs` makes the set ineffective.
pub(crate) fn drop_all() -> Result<(), SetupFault> {
    empty_bounding_set()?;
    drop_sets()
}

/// Empties the bounding set, if this process has the capability for it.
pub(crate) fn empty_bounding_set() -> Result<(), SetupFault> {
    let held = capabilities(None).or_fault(CAPABILITIES, "capget", "")?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        unbound(known())?;
        let empty = known().all(|one| matches!(capability_is_in_bounding_set(one), Ok(false)));
        expect(CAPABILITIES, "bounding set empty", empty, true)?;
    }
    Ok(())
}

/// Empties the four sets of the process itself.
fn drop_sets() -> Result<(), SetupFault> {
    clear_ambient_capability_set().or_fault(CAPABILITIES, "prctl", "PR_CAP_AMBIENT_CLEAR_ALL")?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).or_fault(CAPABILITIES, "capset", "none")?;
    let found = capabilities(None).or_fault(CAPABILITIES, "capget", "")?;
    expect(CAPABILITIES, "all sets", found, none)
}

/// Nothing that is executed from here on can gain privileges.
pub(crate) fn forbid_gains() -> Result<(), SetupFault> {
    set_no_new_privs(true).or_fault(NO_NEW_PRIVILEGES, "prctl", "PR_SET_NO_NEW_PRIVS")?;
    expect(NO_NEW_PRIVILEGES, "no_new_privs", no_new_privs().ok(), Some(true))
}
