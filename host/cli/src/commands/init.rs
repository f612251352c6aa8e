//! `init`.

use super::App;
use super::audit::advice;
use crate::args::Init;
use crate::exit;
use anyhow::Context as _;
use proofport_gateway::home::Home;
use proofport_gateway::operator;
use proofport_gateway::{KdfParams, VaultError};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Made<'a> {
    home: &'a Path,
    audit_identity: &'a Path,
}

pub(super) async fn run(app: &App, args: &Init) -> anyhow::Result<u8> {
    let path = app.home_path()?;
    if app.home.is_none()
        && let Some(folder) = path.parent()
    {
        // Only for the usual place: of a path that was named, a mistyped part must make nothing.
        std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    }
    if let Ok(home) = Home::at(&path)
        && home.vault().exists()
    {
        // Told before a passphrase is asked for. The vault itself overwrites nothing either.
        return Err(VaultError::AlreadyExists { path: home.vault() }.into());
    }
    let kdf = KdfParams::default();
    let kdf = KdfParams { memory_kib: args.kdf_memory_kib.unwrap_or(kdf.memory_kib), ..kdf };
    let passphrase = app.passphrases.new_one()?;
    let home = operator::init(&path, &passphrase, kdf, args.audit_identity.as_deref()).await?;
    let usual = home.audit_identity();
    let audit_identity = args.audit_identity.as_deref().unwrap_or(&usual);
    app.out.answer(&Made { home: home.path(), audit_identity }, || {
        format!(
            "Made {}. Nobody can open it without the passphrase, and no command shows it.\n\
             {}.\n\
             Next: `proofport connector install FILE`, then `proofport secret set`, then {}.\n",
            home.path().display(),
            capital(&advice(audit_identity)),
            home.config().display(),
        )
    })?;
    Ok(exit::OK)
}

/// A remark as a sentence of its own.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}
