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
    let mut text = format!("Next, write into {}, with the service's real origin:\n\n", config.display());
    let _ = writeln!(text, "[connections.{name}]");
    let _ = writeln!(text, "connector = \"{}\"", review.digest);
    let _ = writeln!(text, "origins = [\"https://api.example.com\"]");
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
                "Then `proofport secret set {secret} --for https://api.example.com --mode {mode}`, with the value \
                 on standard input."
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
