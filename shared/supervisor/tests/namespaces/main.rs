//! Commands with namespaces of their own: nothing of them is left either, and each has a machine to itself.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

#[path = "../trees/escapes.rs"]
mod escapes;
mod places;
#[path = "../trees/scene.rs"]
mod scene;
#[path = "../trees/stop_requests.rs"]
mod stop_requests;
mod users;

/// Arguments of every supervisor here.
const EXTRA: &[&str] = &["--private"];

/// False where the kernel grants no namespaces: there is nothing to see then.
fn can_be_tested() -> bool {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_supervise-command"));
    let output = command.arg("--layers").output().unwrap();
    let layers: awo_supervisor::Layers = serde_json::from_slice(&output.stdout).unwrap();
    let refusal = layers.no_namespaces;
    if let Some(why) = &refusal {
        println!("skipped: {why}");
    }
    refusal.is_none()
}
