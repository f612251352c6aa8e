//! `connection`.

use super::App;
use crate::args::Connection as Command;
use crate::exit;
use proofport_gateway::config::Problem;
use proofport_gateway::host::Connections;
use serde::Serialize;

#[derive(Serialize)]
struct Checked {
    connections: usize,
    problems: Vec<Problem>,
}

pub(super) async fn run(app: &App, command: &Command) -> anyhow::Result<u8> {
    let Command::Check = command;
    let host = app.open(Connections::None).await?;
    let checked = host.check_connections();
    let config = host.home().config();
    host.close()?;
    let (connections, problems) = checked?;
    let checked = Checked { connections, problems };
    app.out.answer(&checked, || match checked.problems.as_slice() {
        [] => format!(
            "{}: {} in order. Next: `proofport call CONNECTION.OPERATION --input JSON`.\n",
            config.display(),
            counted(connections),
        ),
        problems => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    })?;
    Ok(if checked.problems.is_empty() { exit::OK } else { exit::FAILED })
}

fn counted(connections: usize) -> String {
    match connections {
        1 => "1 connection is".to_owned(),
        several => format!("{several} connections are"),
    }
}
