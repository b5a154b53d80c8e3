//! `carboy fleet init`: who may do what in a fleet, as files that brokers, gateways and workers are started with.
//!
//! Each role has a key of its own, and the brokers' settings say which subjects that key may use. So a node that was
//! broken into cannot take another's runs, answer for it or delete what is kept ([`permissions`]). Connections are
//! encrypted, and both sides have certificates ([`certificates`]).
//!
//! A folder that is there already is completed: what it has stays valid, and what is missing is made. So a node is
//! added by naming it, and a certificate is renewed by removing it.

mod broker;
mod certificates;
mod next;
mod permissions;
mod place;
mod plan;

use std::collections::BTreeSet;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

pub use broker::{BrokerPlace, WrongPlace};
use certificates::Authority;
use permissions::{Role, User};
pub use place::InitError;
use place::Place;
pub use plan::FleetPlan;

/// Lays out a fleet in a folder, or adds to the one that is there, and returns the text on what to do next.
pub fn init(folder: &Path, wanted: FleetPlan) -> Result<String, InitError> {
    let place = Place(folder.to_owned());
    let plan = merged(&place, wanted)?;
    check(&plan)?;
    place.folder("")?;
    place.write("fleet.json", &json(&plan)?)?;

    let clients = Authority::of(&place, "ca", "carboy fleet")?;
    // Another one: whoever has a certificate as a client must not pass for a broker of the cluster.
    let routes = Authority::of(&place, "routes-ca", "carboy fleet routes")?;
    let mut users = Vec::new();
    for role in Role::all(&plan.nodes) {
        let home = role.folder();
        place.folder(&home)?;
        let public = place.nkey(&home)?;
        clients.identify_client(&place, &home, &role.name())?;
        place.write(&format!("{home}/ca.pem"), clients.certificate())?;
        match &role {
            Role::Gateway => drop(place.once(&format!("{home}/session.key"), session_key)?),
            // A worker without `--node` is the node that its credentials are for.
            Role::Worker(node) => place.write(&format!("{home}/node"), &format!("{node}\n"))?,
            Role::Ops => {}
        }
        users.push(User { public, role });
    }
    for (index, broker) in plan.brokers.iter().enumerate() {
        let home = broker::folder(index);
        place.folder(&home)?;
        clients.identify_broker(&place, &home, "broker", broker)?;
        place.write(&format!("{home}/ca.pem"), clients.certificate())?;
        if plan.brokers.len() > 1 {
            routes.identify_broker(&place, &home, "route", broker)?;
            place.write(&format!("{home}/routes-ca.pem"), routes.certificate())?;
        }
        let settings = broker::settings(index, &plan.brokers, &users);
        place.write(&format!("{home}/nats.conf"), &settings)?;
    }
    let text = next::text(folder, &plan);
    place.write("NEXT.txt", &text)?;
    Ok(text)
}

fn check(plan: &FleetPlan) -> Result<(), InitError> {
    if !matches!(plan.brokers.len(), 1 | 3 | 5) {
        return Err(InitError::Brokers(plan.brokers.len()));
    }
    let mut met = BTreeSet::new();
    for broker in &plan.brokers {
        if !met.insert(broker) {
            return Err(InitError::SamePlace(broker.to_string()));
        }
    }
    Ok(())
}

fn json(plan: &FleetPlan) -> Result<String, InitError> {
    let text = serde_json::to_string_pretty(plan)
        .map_err(|error| InitError::Make { what: "fleet.json", why: error.to_string() })?;
    Ok(text + "\n")
}

/// 256 bits that only gateways know: with them a gateway signs the names of sessions.
fn session_key() -> Result<String, InitError> {
    let mut key = [0_u8; 32];
    getrandom(&mut key, GetRandomFlags::empty())
        .map_err(|error| InitError::Make { what: "a session key", why: error.to_string() })?;
    Ok(key.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n")
}

/// What is wanted, with what the folder has already.
fn merged(place: &Place, mut wanted: FleetPlan) -> Result<FleetPlan, InitError> {
    if let Some(text) = place.read("fleet.json")? {
        let had: FleetPlan = serde_json::from_str(&text).map_err(|error| InitError::Unusable {
            file: place.0.join("fleet.json"),
            why: error.to_string(),
        })?;
        wanted.nodes.extend(had.nodes);
        if wanted.brokers.is_empty() {
            wanted.brokers = had.brokers;
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests;
