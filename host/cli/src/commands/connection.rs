//! `connection`.

use super::App;
use crate::args::Connection as Command;
use crate::exit;
use proofport_gateway::config::Problem;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{CheckConnections, Checked as Found};
use serde::Serialize;

#[derive(Serialize)]
struct Checked {
    connections: usize,
    problems: Vec<Problem>,
}

pub(super) async fn run(app: &App, command: &Command) -> anyhow::Result<u8> {
    let Command::Check = command;
    let operator = app.operator(Connections::None).await?;
    let found = operator.ask(CheckConnections {}).await;
    operator.close()?;
    let Found { file: config, connections, problems } = found?;
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
