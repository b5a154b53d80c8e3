//! The tools of each tenant: made from the settings, and offered to jobs.

use std::sync::Arc;

use carboy_protocol::Tool;

use super::config::{DoorConfig, TenantConfig};
use super::problem::Problem;
use super::tenants::ConfigFault;
use super::tools::{HttpTool, HttpTools};

/// The tools of all tenants, by their numbers.
pub(super) fn of(config: &DoorConfig) -> Result<Vec<HttpTools>, ConfigFault> {
    let of_tenant = |(tenant, config): (&String, &TenantConfig)| {
        let tools = config.tools.iter().map(|(name, tool)| {
            let made = HttpTool::of(name, tool).map_err(|(field, why)| ConfigFault {
                setting: format!("tenants.{tenant}.tools.{name}.{field}"),
                why,
            });
            Ok((name.clone(), Arc::new(made?)))
        });
        tools.collect()
    };
    config.tenants.iter().map(of_tenant).collect()
}

/// Offers a run the tools of its tenant, beside those of its caller.
pub(super) fn offer(tools: &HttpTools, named: &mut Vec<Tool>) -> Result<(), Problem> {
    if let Some(tool) = named.iter().find(|tool| tools.contains_key(&tool.name)) {
        let detail = format!("a tool `{}` is this server's own", tool.name);
        return Err(Problem::request(detail).hint("give yours another name"));
    }
    named.extend(tools.values().map(|tool| tool.offered()));
    Ok(())
}
