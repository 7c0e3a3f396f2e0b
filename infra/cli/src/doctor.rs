//! `awo doctor`: the layers that confine client code on this machine, the price of those that are missing, and
//! their repair.

use std::path::{Path, PathBuf};

use awo_cloud::Environment;
use awo_supervisor::{CommandUsers, LayerReport, Layers};
use serde_json::json;

use crate::address;
use crate::arguments::Connection;
use crate::failure::Failure;
use crate::output::Output;

/// The file of the data directory in which a service writes its layers at its start.
const FILE: &str = "confinement.json";

/// Prints the layers of the local service; where none has started, those that one of this user would have.
pub fn run(
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let data_dir = address::data_dir(connection, environment);
    let written = read(&data_dir.join(FILE))?;
    let of_service = written.is_some().then_some(&data_dir);
    let layers = match written {
        Some(layers) => layers,
        None => tried()?,
    };
    let is_complete = layers.iter().all(|layer| layer.present || !layer.required);
    if output.is_json() {
        let shown = json!({
            "complete": is_complete,
            "dataDir": of_service.map(|dir| dir.display().to_string()),
            "layers": layers,
        });
        output.line(&shown.to_string())?;
    } else {
        show(&layers, of_service, output)?;
    }
    if is_complete {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

fn read(path: &Path) -> Result<Option<Vec<LayerReport>>, Failure> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let path = path.display();
            return Err(Failure::Broken(format!(
                "{path} cannot be read: {error}; run awo doctor as the service's user"
            )));
        }
    };
    let layers = serde_json::from_slice(&text);
    layers
        .map(Some)
        .map_err(|error| Failure::Broken(format!("{} cannot be read: {error}", path.display())))
}

fn tried() -> Result<Vec<LayerReport>, Failure> {
    let broken =
        |error: std::io::Error| Failure::Broken(format!("the layers cannot be tried: {error}"));
    let program = std::env::current_exe().map_err(broken)?;
    let layers = Layers::tried_by(&program).map_err(broken)?;
    let users = if layers.is_root {
        CommandUsers::OfRuns
    } else {
        CommandUsers::OfService
    };
    Ok(layers.report(users, &[]))
}

fn show(
    layers: &[LayerReport],
    of_service: Option<&PathBuf>,
    output: &Output,
) -> Result<(), Failure> {
    output.line(&match of_service {
        Some(dir) => format!(
            "Layers of the service on {}, at its last start:",
            dir.display()
        ),
        None => {
            "No local service has started here. Layers of one that this user starts:".to_owned()
        }
    })?;
    for layer in layers {
        let mark = match (layer.present, layer.required) {
            (true, _) => "present",
            (false, true) => "MISSING",
            (false, false) => "missing",
        };
        output.line(&format!("  {mark}  {:<11} {}", layer.layer, layer.detail))?;
        for (what, text) in [("costs", &layer.missing), ("repair", &layer.repair)] {
            if let Some(text) = text {
                output.line(&format!("           {what:<11} {text}"))?;
            }
        }
    }
    output
        .hint("AWO_CONFINEMENT=require refuses to start a service without a layer that is MISSING.")
}
