//! `secret`. No value is ever printed, and no command gives one back.

use super::App;
use crate::args::{Secret as Command, SecretSet};
use crate::render::time::rfc3339;
use crate::{exit, passphrase, secret_input};
use anyhow::Context as _;
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{RemoveSecret, RotateSecret, Secrets, Sent, SetSecret, Version};
use proofport_gateway::{SecretInfo, Uses};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

#[derive(Serialize)]
struct Changed<'a> {
    name: &'a Name,
    /// The newest version; none after removal.
    version: Option<u32>,
}

#[derive(Serialize)]
struct Listed {
    secrets: Vec<SecretInfo>,
}

pub(super) async fn run(app: &App, command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Set(SecretSet { name, destinations, modes }) => {
            let operator = app.operator(Connections::None).await?;
            let uses = Uses { destinations, modes };
            let set = SetSecret { name: name.clone(), value: Sent(value()?), uses };
            let Version { version } = operator.ask(set).await?;
            operator.close()?;
            changed(app, &name, Some(version), "stored")
        }
        Command::Rotate(args) => {
            let operator = app.operator(Connections::None).await?;
            let rotate = RotateSecret { name: args.name.clone(), value: Sent(value()?) };
            let Version { version } = operator.ask(rotate).await?;
            operator.close()?;
            changed(app, &args.name, Some(version), "renewed")
        }
        Command::Remove(args) => {
            let operator = app.operator(Connections::None).await?;
            operator.ask(RemoveSecret { name: args.name.clone() }).await?;
            operator.close()?;
            changed(app, &args.name, None, "removed in all its versions")
        }
        Command::List => {
            let operator = app.operator(Connections::None).await?;
            let listed = Listed { secrets: operator.ask(Secrets {}).await? };
            operator.close()?;
            app.out.answer(&listed, || list(&listed.secrets))?;
            Ok(exit::OK)
        }
    }
}

/// The value: typed unseen at a terminal, else everything on standard input.
fn value() -> anyhow::Result<Secret> {
    if io::stdin().is_terminal() {
        passphrase::ask("Value (not shown): ").context("the value could not be asked for")
    } else {
        secret_input::read_standard().context("the value could not be read from standard input")
    }
}

fn changed(app: &App, name: &Name, version: Option<u32>, what: &str) -> anyhow::Result<u8> {
    app.out.answer(&Changed { name, version }, || {
        let version = version.map(|version| format!(" as version {version}")).unwrap_or_default();
        format!("{name} {what}{version}.\n")
    })?;
    Ok(exit::OK)
}

fn list(secrets: &[SecretInfo]) -> String {
    if secrets.is_empty() {
        return "There are no secrets. Store one with `proofport secret set`.\n".to_owned();
    }
    let mut text = String::new();
    for secret in secrets {
        let places: Vec<String> = secret.uses.destinations.iter().map(ToString::to_string).collect();
        let modes: Vec<&str> = secret.uses.modes.iter().map(|mode| mode.as_str()).collect();
        let _ = writeln!(text, "{}", secret.name);
        let _ = writeln!(text, "  for       {}", places.join(", "));
        let _ = writeln!(text, "  mode      {}", modes.join(", "));
        if let Some(newest) = secret.versions.last() {
            let _ = writeln!(text, "  version   {}, set {}", newest.version, rfc3339(newest.created_at));
        }
    }
    text
}
