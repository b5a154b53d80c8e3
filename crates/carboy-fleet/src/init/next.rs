//! What to do after `carboy fleet init`, with the commands as they are to be typed.

use std::fmt::Write;
use std::path::Path;

use super::broker::{self, BrokerPlace};
use super::permissions::Role;
use super::plan::FleetPlan;

/// The text that is printed, and kept as NEXT.txt.
pub fn text(folder: &Path, plan: &FleetPlan) -> String {
    let place = folder.display();
    let addresses: Vec<String> = plan.brokers.iter().map(BrokerPlace::url).collect();
    let urls = addresses.join(",");
    let mut text = format!(
        "A fleet is laid out in {place}. Everything in it is secret; ca.key and routes-ca.key make new secrets:\n\
         keep the folder where none of the brokers, gateways and workers run.\n\n\
         1. Brokers (nats-server 2.12.12, 2.14.3 or later for jobs that must not be lost). Copy each folder to its\n   \
         host and start it there:\n"
    );
    // A string takes every line.
    for (index, broker) in plan.brokers.iter().enumerate() {
        let home = broker::folder(index);
        writeln!(text, "     {broker}:  cd {place}/{home} && nats-server --config nats.conf").ok();
    }
    let first = plan.brokers.first().map_or(0, BrokerPlace::monitoring);
    writeln!(
        text,
        "   Each says `ok` when it is ready:  curl http://127.0.0.1:{first}/healthz   (on its own host)\n\n\
         2. Workers, each on its host with its own folder:"
    )
    .ok();
    for node in &plan.nodes {
        let home = Role::Worker(*node).folder();
        writeln!(text, "     carboy worker --nats {urls} --credentials {place}/{home}").ok();
    }
    if plan.nodes.is_empty() {
        writeln!(
            text,
            "     name them first, such as three of them:  carboy fleet init {place} --nodes 3"
        )
        .ok();
    }
    let gateway = Role::Gateway.folder();
    let ops = Role::Ops.folder();
    writeln!(
        text,
        "\n3. Gateways. For a trial one that makes a key by itself; for others two or more, each with --config and the same\n   \
         settings, which you write (docs/serve.md):\n     \
         carboy serve --nats {urls} --credentials {place}/{gateway}\n\n\
         4. Look at it:\n     \
         carboy fleet status --nats {urls} --credentials {place}/{ops}\n     \
         carboy top --nats {urls} --credentials {place}/{ops}\n\n\
         To add a node:  carboy fleet init {place} --nodes 1  then copy the new nats.conf to every broker, and\n\
         there:  nats-server --signal reload\n\
         To take one out: remove its name from fleet.json and its folder, and do the same.\n\
         Certificates are valid for two years. To renew one, remove its .pem and init again."
    )
    .ok();
    text
}
