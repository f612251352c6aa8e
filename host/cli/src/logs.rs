//! The program's log, on standard error: failures of the host, and what else `PROOFPORT_LOG` asks for.

use crate::exit::Usage;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

const VARIABLE: &str = "PROOFPORT_LOG";

/// Begins logging. Only lines of this program's own are written, at whatever
/// level: those of the libraries below may hold bytes of a request.
///
/// # Errors
/// When the variable is no filter.
pub(crate) fn start() -> Result<(), Usage> {
    // Whoever runs the program is its operator, who has to learn why the host failed.
    let value = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let value = value.unwrap_or_else(|| "error".into());
    let wrong = || Usage(format!("{VARIABLE} is not a filter: write error, warn, info, debug or trace"));
    let filter = EnvFilter::try_new(value.to_str().ok_or_else(wrong)?).map_err(|_| wrong())?;
    let ours = filter_fn(|line| line.target().starts_with("proofport"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_filter(ours)
        .with_filter(filter);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines))
        .map_err(|_| Usage("the log was begun before".to_owned()))
}
