//! A module under review, and what to do once it is approved.

use proofport_core::contract::InjectionMode;
use proofport_gateway::review::{Review, SlotReview};
use std::fmt::Write as _;
use std::path::Path;

/// The review. Its texts were made safe to show by the gateway.
pub(crate) fn shown(review: &Review) -> String {
    review.to_string()
}

/// What to write into the configuration, with this very digest, and what to store in the vault.
pub(crate) fn next_steps(review: &Review, config: &Path) -> String {
    let name = &review.name;
    let mut text =
        format!("Next, write into {}, with the service's real origin or host:\n\n", config.display());
    let _ = writeln!(text, "[connections.{name}]");
    let _ = writeln!(text, "connector = \"{}\"", review.digest);
    let ssh = review.slots.iter().flat_map(|slot| &slot.modes).any(|mode| place(*mode) == SSH);
    let http = review.slots.iter().flat_map(|slot| &slot.modes).any(|mode| place(*mode) == HTTP);
    if http || !ssh {
        let _ = writeln!(text, "origins = [\"{HTTP}\"]");
    }
    if ssh {
        let _ = writeln!(text, "\n[connections.{name}.ssh]");
        let _ = writeln!(text, "hosts = [\"user@host.example.com\"]");
        let _ = writeln!(text, "host_keys = [\"SHA256:…\"]");
    }
    for slot in &review.slots {
        let _ = writeln!(text, "\n[connections.{name}.credentials.{}]", slot.name);
        let _ = writeln!(text, "secret = \"{}\"", secret(review, slot));
        if let Some(mode) = slot.modes.first() {
            let _ = writeln!(text, "mode = \"{mode}\"");
            for key in companions(*mode) {
                let _ = writeln!(text, "{key} = \"…\"");
            }
        }
    }
    if !review.settings.is_empty() {
        let _ = writeln!(text, "\n[connections.{name}.config]");
        for setting in &review.settings {
            let _ = writeln!(text, "# {setting}");
        }
    }
    text.push('\n');
    for slot in &review.slots {
        if let Some(mode) = slot.modes.first() {
            let secret = secret(review, slot);
            let _ = writeln!(
                text,
                "Then `proofport secret set {secret} --for {} --mode {mode}`, with the value on standard input.",
                place(*mode)
            );
        }
    }
    text.push_str("Then `proofport connection check`.\n");
    text
}

/// A name for the slot's secret.
fn secret(review: &Review, slot: &SlotReview) -> String {
    format!("{}-{}", review.name, slot.name).replace('_', "-")
}

const HTTP: &str = "https://api.example.com";
const SSH: &str = "ssh://host.example.com";

/// An example of a place for a secret in this mode.
const fn place(mode: InjectionMode) -> &'static str {
    match mode {
        InjectionMode::SshKey | InjectionMode::SshPassword | InjectionMode::SshKeyboardInteractive => SSH,
        InjectionMode::HttpBearer
        | InjectionMode::HttpBasic
        | InjectionMode::HttpHeader
        | InjectionMode::HttpQuery
        | InjectionMode::AwsSigv4
        | InjectionMode::TlsClientCertificate => HTTP,
    }
}

/// The keys that a mode needs beside the secret.
const fn companions(mode: InjectionMode) -> &'static [&'static str] {
    match mode {
        InjectionMode::HttpBasic => &["user"],
        InjectionMode::HttpHeader => &["header"],
        InjectionMode::HttpQuery => &["query"],
        InjectionMode::AwsSigv4 => &["access_key_id", "region", "service"],
        InjectionMode::HttpBearer
        | InjectionMode::TlsClientCertificate
        | InjectionMode::SshKey
        | InjectionMode::SshPassword
        | InjectionMode::SshKeyboardInteractive => &[],
    }
}
