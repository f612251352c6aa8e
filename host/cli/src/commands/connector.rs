//! `connector`.

use super::App;
use crate::args::{Connector as Command, Install, ModuleFile};
use crate::exit;
use crate::render::review::{next_steps, shown};
use crate::render::time::rfc3339;
use anyhow::Context as _;
use proofport_core::digest::Digest;
use proofport_core::id::Name;
use proofport_gateway::host::Connections;
use proofport_gateway::operator::{Reviewed, review};
use proofport_gateway::operator_side::{Base64, Connectors, InstallConnector, RevokeConnector};
use proofport_gateway::registry::Approved;
use proofport_gateway::review::Review;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

/// More than any module that is taken, in bytes: its own limit has its own message.
const MOST: u64 = 256 * 1024 * 1024;

#[derive(Serialize)]
struct Shown<'a> {
    approved: bool,
    review: &'a Review,
}

#[derive(Serialize)]
struct Listed<'a> {
    connectors: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a Name,
    version: &'a str,
    digest: Digest,
    size: u64,
    approved_at: String,
    operations: Vec<&'a Name>,
}

pub(super) async fn run(app: &App, command: &Command) -> anyhow::Result<u8> {
    match command {
        Command::Inspect(file) => inspect(app, file).await,
        Command::Install(args) => install(app, args).await,
        Command::List => list(app).await,
        Command::Revoke(args) => revoke(app, args.digest).await,
    }
}

async fn inspect(app: &App, file: &ModuleFile) -> anyhow::Result<u8> {
    let reviewed = look_at(file).await?;
    let review = reviewed.review();
    app.out.answer(&Shown { approved: false, review }, || {
        format!("{}\nNothing was approved; `proofport connector install FILE` does that.\n", shown(review))
    })?;
    Ok(exit::OK)
}

async fn install(app: &App, args: &Install) -> anyhow::Result<u8> {
    let reviewed = look_at(&args.module).await?;
    let review = reviewed.review();
    if !args.yes {
        anyhow::ensure!(
            io::stdin().is_terminal() && io::stderr().is_terminal() && !app.out.json,
            "approving a module needs a person: run it at a terminal, or give --yes if you know the file"
        );
        app.out.answer(&Shown { approved: false, review }, || shown(review))?;
        anyhow::ensure!(confirmed()?, "nothing was approved");
    }
    let config = app.home()?.config();
    let operator = app.operator(Connections::None).await?;
    let module = Base64(reviewed.module().to_vec());
    operator.ask(InstallConnector { digest: review.digest, module }).await?;
    if operator.embedded().is_none() {
        app.out.remark("the running host takes it up when it starts next");
    }
    operator.close()?;
    app.out.answer(&Shown { approved: true, review }, || {
        // At a terminal it was shown before the question.
        let seen = if args.yes { format!("{}\n", shown(review)) } else { String::new() };
        format!("{seen}Approved exactly this module.\n\n{}", next_steps(review, &config))
    })?;
    Ok(exit::OK)
}

async fn list(app: &App) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let approved = operator.ask(Connectors {}).await?;
    operator.close()?;
    let listed = Listed { connectors: approved.iter().map(Entry::of).collect() };
    app.out.answer(&listed, || {
        if listed.connectors.is_empty() {
            return "No connector is approved. Review one with `proofport connector install FILE`.\n"
                .to_owned();
        }
        let mut text = String::new();
        for Entry { name, version, digest, size, approved_at, operations } in &listed.connectors {
            let operations: Vec<&str> = operations.iter().map(|operation| operation.as_str()).collect();
            let version = crate::render::visible::text(version);
            let _ = writeln!(text, "{name} {version}\n  digest      {digest}\n  size        {size} bytes");
            let _ = writeln!(text, "  approved    {approved_at}\n  operations  {}", operations.join(", "));
        }
        text
    })?;
    Ok(exit::OK)
}

async fn revoke(app: &App, digest: Digest) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let revoked = operator.ask(RevokeConnector { digest }).await;
    operator.close()?;
    let revoked = revoked?;
    app.out.answer(&Entry::of(&revoked), || {
        let (name, version) =
            (&revoked.manifest.name, crate::render::visible::text(&revoked.manifest.version));
        format!("{name} {version} may not run any more; what it had dispatched goes on to its end.\n")
    })?;
    Ok(exit::OK)
}

impl<'a> Entry<'a> {
    fn of(approved: &'a Approved) -> Self {
        Self {
            name: &approved.manifest.name,
            version: &approved.manifest.version,
            digest: approved.digest,
            size: approved.size,
            approved_at: rfc3339(approved.approved_at),
            operations: approved.manifest.operations.iter().map(|operation| &operation.name).collect(),
        }
    }
}

/// The bytes that are reviewed are the ones that are approved: they are read once.
async fn look_at(args: &ModuleFile) -> anyhow::Result<Reviewed> {
    let path = args.file.display();
    let mut module = Vec::new();
    File::open(&args.file)
        .and_then(|file| file.take(MOST).read_to_end(&mut module))
        .with_context(|| format!("could not read {path}"))?;
    review(module).await.with_context(|| format!("{path} can't be taken as a connector"))
}

fn confirmed() -> io::Result<bool> {
    let mut out = anstream::stderr();
    write!(out, "Approve exactly this module? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
