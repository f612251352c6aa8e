//! Creates a ticket through a running host, and says what became of it.
//!
//! ```text
//! cargo run -p proofport-client --example ticket -- ~/.proofport/agent.sock tracker.create_ticket "The lamp is out"
//! ```

// A program's output is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use proofport_client::{Call, CallError, Client, Outcome, Retries};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(socket), Some(operation), Some(title)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: ticket SOCKET CONNECTION.OPERATION TITLE");
        return ExitCode::from(2);
    };
    let client = Client::unix(socket).with_retries(Retries {
        most: 3,
        longest_delay: Duration::from_secs(30),
        // A person may have to approve it.
        longest_wait: Duration::from_secs(600),
    });
    let call = match Call::new(&operation, &json!({ "title": title })) {
        Ok(call) => call,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match client.call(&call).await {
        Ok(success) => {
            let when = if success.repeated() { "before" } else { "now" };
            match success.result::<Value>() {
                Ok(result) => println!("done {when}: {result}"),
                Err(error) => println!("done {when}: {error}"),
            }
            ExitCode::SUCCESS
        }
        Err(CallError::Answered(answer)) => {
            println!("{}", answer.message());
            match answer.outcome() {
                Some(Outcome::Unknown) => ExitCode::from(12),
                Some(Outcome::Rejected) => ExitCode::from(11),
                Some(Outcome::Committed) => ExitCode::from(13),
                Some(Outcome::NotAttempted) | None => ExitCode::from(10),
            }
        }
        // Running this program again with the same title makes the same call, which the host meets with the first.
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(70)
        }
    }
}
