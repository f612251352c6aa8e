//! A host that is killed where it is told to be: `crash-host HOME KILLPOINT OPERATION [INPUT]`. It calls
//! the operation of the home's connection `c` with this input, `{}` unless given, and prints the envelope.

use proofport_broker::SystemClock;
use proofport_tests::killpoint::{Kill, Killer};
use proofport_tests::rig;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[tokio::main]
async fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(home), Some(word), Some(operation)) = (args.next(), args.next(), args.next()) else {
        return ExitCode::from(2);
    };
    let input = args.next().unwrap_or_else(|| "{}".to_owned());
    let Some(kill) = Kill::from_word(&word) else { return ExitCode::from(2) };
    let open = rig::open(Path::new(&home), Arc::new(SystemClock), Arc::new(Killer(kill))).await;
    let delivery = open.deliver(&operation, &input, None).await;
    let Ok(text) = serde_json::to_string(&delivery.envelope) else { return ExitCode::FAILURE };
    let (half, rest) = text.split_at(text.len() / 2);
    let mut out = std::io::stdout().lock();
    let mut write = |part: &str| out.write_all(part.as_bytes()).and_then(|()| out.flush());
    if write(half).is_err() {
        return ExitCode::FAILURE;
    }
    if kill == Kill::MidDelivery {
        Killer::now();
    }
    if write(rest).is_err() {
        return ExitCode::FAILURE;
    }
    delivery.confirmed();
    open.close();
    if kill == Kill::AfterDeliveryMark {
        Killer::now();
    }
    ExitCode::SUCCESS
}
