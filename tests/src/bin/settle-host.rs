//! A host that is killed: `settle-host HOME [KILLPOINT PASSAGES]`. It carries out the calls on its standard
//! input, all at once, says on its standard output how each was answered, and ends with its input. With a
//! killpoint it kills itself when that is passed for this many times.

use proofport_tests::evidence::settle::serve::{self, LastPassage};
use proofport_tests::killpoint::Kill;
use std::path::Path;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (home, last) = match words.as_slice() {
        [home] => (home, None),
        [home, word, passages] => {
            let (Some(kill), Ok(passages)) = (Kill::from_word(word), passages.parse()) else {
                return ExitCode::from(2);
            };
            (home, Some(LastPassage::of(kill, passages)))
        }
        _ => return ExitCode::from(2),
    };
    serve::serve(Path::new(home), last).await;
    ExitCode::SUCCESS
}
