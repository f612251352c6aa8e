//! The long fault runs: one JSON file of counts each under `target/evidence/`. `evidence settle` and
//! `evidence agents` make these alone.

use proofport_tests::evidence::{agents, faults, http, kills, settle, ssh};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn keep(name: &str, counts: &impl Serialize) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/evidence");
    std::fs::create_dir_all(&folder)?;
    let text = serde_json::to_string_pretty(counts).map_err(std::io::Error::other)?;
    std::fs::write(folder.join(format!("{name}.json")), text + "\n")
}

fn say(line: &str) {
    use std::io::Write as _;
    // A closed terminal must not stop the run.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Whether the run of every contract against other people's servers is sound.
async fn settled(program: &Path) -> std::io::Result<bool> {
    let counts = settle::run(settle::Plan::of(5_000, 100, 20_260_106), program).await;
    keep("settle", &counts)?;
    say(&format!(
        "settle.json: {} invocations, {} effects, {} hosts killed; {} settled, {} wait for a person; duplicates {}, lost {}, false refusals {}, forgotten {}\n{}",
        counts.invocations,
        counts.total.effects,
        counts.kills,
        counts.total.settled.values().sum::<u64>(),
        counts.total.waits.values().sum::<u64>(),
        counts.total.duplicates,
        counts.total.lost,
        counts.total.false_refusals,
        counts.total.forgotten + counts.total.forgotten_answers + counts.total.without_record,
        counts.table()
    ));
    Ok(counts.is_sound())
}

/// Whether two hundred agents at one host for ten minutes lost nothing, did nothing twice and left it as it was.
async fn agents() -> std::io::Result<bool> {
    let duration = std::time::Duration::from_secs(600);
    let counts = agents::run(agents::Plan { agents: 200, duration, kills: 5, seed: 20_260_107 }).await;
    keep("agents", &counts)?;
    say(&format!(
        "agents.json: {} agents, {} s, {} hosts killed; {} calls, {} effects, {} answers lost on the way; told {:?}; false claims {}, duplicates {}, unasked {}, denied and made {}; memory {} KiB, then {} KiB",
        counts.agents,
        counts.seconds,
        counts.kills,
        counts.calls,
        counts.effects,
        counts.lost_answers,
        counts.told,
        counts.false_claims,
        counts.duplicates,
        counts.unasked,
        counts.denied_and_made,
        counts.memory_kib.0,
        counts.memory_kib.1
    ));
    Ok(counts.is_sound() && counts.growth() < 1.2)
}

#[tokio::main]
async fn main() -> std::io::Result<ExitCode> {
    let beside =
        |name: &str| -> std::io::Result<PathBuf> { Ok(std::env::current_exe()?.with_file_name(name)) };
    if std::env::args().nth(1).as_deref() == Some("settle") {
        let sound = settled(&beside("settle-host")?).await?;
        return Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if std::env::args().nth(1).as_deref() == Some("agents") {
        return Ok(if agents().await? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let calls = faults::run(4000, 20_260_101).await;
    keep("calls", &calls)?;
    say(&format!(
        "calls.json: {} calls, {} effects; false not_attempted {}, false rejected {}, false committed {}, second effects {}",
        calls.calls,
        calls.effects,
        calls.false_not_attempted,
        calls.false_rejected,
        calls.false_committed,
        calls.second_effects
    ));
    let wire = http::run(10_000, 20_260_103).await;
    keep("http", &wire)?;
    say(&format!(
        "http.json: {} calls, {} effects; false not_attempted {}, false rejected {}, false committed {}, second effects {}\n{}",
        wire.calls,
        wire.effects,
        wire.false_not_attempted,
        wire.false_rejected,
        wire.false_committed,
        wire.second_effects,
        wire.table()
    ));
    let killed = kills::run(300, 20_260_102, &beside("crash-host")?).await;
    keep("kills", &killed)?;
    say(&format!(
        "kills.json: {} hosts killed, {} effects; false not_attempted {}, unrecorded effects {}, second effects {}",
        killed.kills,
        killed.effects,
        killed.false_not_attempted,
        killed.unrecorded_effects,
        killed.second_effects
    ));
    let deployed = ssh::run(50, 20_260_104).await;
    keep("ssh", &deployed)?;
    say(&format!(
        "ssh.json: {} releases in {} calls; {} unknowns found done, {} found not done, {} unsettled; false claims {}, second deployments {}, looks at a broken release {} of {}",
        deployed.releases,
        deployed.calls,
        deployed.settled_committed,
        deployed.settled_absent,
        deployed.unsettled,
        deployed.false_refusals + deployed.false_committed,
        deployed.second_deployments,
        deployed.broken,
        deployed.looks
    ));
    // It panics at the first record that is lost, with the seed that shows it again.
    let power = proofport_power_loss::run(20_260_105, 5_000);
    keep("power", &power)?;
    say(&format!(
        "power.json: {} disks after a power loss, {} after a second one while the first was mended; {} acknowledged records looked for, {} lost",
        power.images, power.second_crashes, power.acknowledged, power.lost
    ));
    let settled = settled(&beside("settle-host")?).await?;
    let settled = agents().await? && settled;
    Ok(if settled && calls.is_sound() && wire.is_sound() && killed.is_sound() && deployed.is_sound() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
