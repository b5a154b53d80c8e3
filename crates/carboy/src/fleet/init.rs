//! `carboy fleet init`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use carboy_fleet::name::NodeName;
use carboy_fleet::{BrokerPlace, FleetPlan, InitError};

use super::arguments::Init;
use crate::failure::{Failure, print};
use crate::guest_text::visible;

/// More nodes belong in another cell.
const MOST: u16 = 1000;

pub fn init(arguments: Init) -> Result<ExitCode, Failure> {
    let Init { folder, brokers, nodes } = arguments;
    let is_new = !folder.join("fleet.json").exists();
    let brokers = match brokers {
        Some(text) => places(&text)?,
        None if is_new => BrokerPlace::here(1),
        None => vec![],
    };
    let nodes = nodes.map_or(Ok(BTreeSet::new()), |text| names(&text))?;
    let text = carboy_fleet::init(&folder, FleetPlan { brokers, nodes }).map_err(|error| {
        let hint = error.hint();
        match error {
            InitError::Os { step, file, error } => {
                Failure::usage(format!("could not {step} {}: {error}", file.display()), hint)
            }
            other => Failure::usage(other.to_string(), hint),
        }
    })?;
    print(&visible(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn places(text: &str) -> Result<Vec<BrokerPlace>, Failure> {
    if let Ok(count) = text.parse::<u16>() {
        return Ok(BrokerPlace::here(count));
    }
    let places = text.split(',').map(|place| place.trim().parse::<BrokerPlace>());
    places.collect::<Result<_, _>>().map_err(|error| {
        let hint = "name the hosts as others reach them: --brokers 10.0.0.1,10.0.0.2,10.0.0.3";
        Failure::usage(error.to_string(), hint)
    })
}

fn names(text: &str) -> Result<BTreeSet<NodeName>, Failure> {
    if let Ok(count) = text.parse::<u16>() {
        let random = (0..count.min(MOST)).map(|_| NodeName::random());
        return random.collect::<Result<_, _>>().map_err(Failure::os("draw a random name"));
    }
    let parse = |name: &str| {
        name.trim().parse::<NodeName>().map_err(|error| {
            let hint = "`--nodes 3` makes three names";
            Failure::usage(format!("`{name}` is {error}"), hint)
        })
    };
    text.split(',').map(parse).collect()
}
