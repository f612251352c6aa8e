//! `result`: the stored answer of a call, and the content that was stored beside it.

use super::App;
use super::call::{deliver, refuse};
use super::content::{Source, Stopped, Target, cut, into_file, into_stream, whole};
use crate::args::{Act, Answer};
use crate::exit::{self, Usage};
use crate::operator::{Latch, Operator};
use crate::render::envelope;
use crate::render::published::Published;
use anyhow::Context as _;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::id::RequestId;
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{Answered, Chunk, ContentChunk, Delivered, Fetch};
use std::cell::RefCell;
use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use tokio::runtime::Handle;
use zeroize::Zeroizing;

pub(super) async fn run(app: &App, args: Answer) -> anyhow::Result<u8> {
    let Answer { act: Act { id }, content } = args;
    let target = content.map(Target::from);
    // What a remote wrote moves no cursor.
    if target == Some(Target::Stream) && std::io::stdout().is_terminal() {
        return Err(
            Usage("standard output is a terminal: name a file, or a program with `|`".to_owned()).into()
        );
    }
    let refused = || match target {
        Some(Target::Stream) => Ok(unsaid(app, &Published::refusal(Code::VaultLocked, None)?)),
        Some(Target::File(_)) | None => refuse(app, Code::VaultLocked, None),
    };
    let Some(proved) = app.proved(Latch::Ignored).await? else {
        return refused();
    };
    let Some(operator) = proved.operator(app.out, Connections::None).await? else {
        return refused();
    };
    let answered = operator.ask(Fetch { id }).await?;
    match &target {
        Some(target) => fetch(app, operator, answered, target).await,
        None => deliver(app, operator, answered).await,
    }
}

/// Hands over the stored content and then the answer that it goes with. Where the content goes to
/// standard output, the answer has no place there and goes unsaid.
async fn fetch(app: &App, operator: Operator, answered: Answered, target: &Target) -> anyhow::Result<u8> {
    let envelope = Published::of(&answered)?;
    let Some((facts, id)) = envelope.content().copied().zip(envelope.request_id()) else {
        if !envelope.ok() {
            // The answer says why there is none.
            return match target {
                Target::File(_) => deliver(app, operator, answered).await,
                Target::Stream => Ok(unsaid(app, &envelope)),
            };
        }
        operator.close()?;
        return Err(
            Usage("this result has no stored content: ask for it without --content".to_owned()).into()
        );
    };
    let stored = Stored { operator: &operator, id, facts, newest: RefCell::new(None) };
    let moved = match stored.is_there() {
        Ok(true) => {
            let source = Source {
                facts,
                chunk: &|n| Ok(Zeroizing::new(stored.chunk(n)?.bytes.0.clone())),
                digest: &|n| stored.chunk(n).ok()?.digest,
            };
            match target {
                Target::Stream => into_stream(&source, &mut standard_output()?).map(|()| 0),
                Target::File(path) => into_file(&source, path),
            }
        }
        Ok(false) => Err(Stopped::Damaged { kept: 0 }),
        Err(error) => Err(Stopped::NotGiven { kept: 0, error }),
    };
    match (moved, target) {
        (Ok(held), Target::File(_)) => {
            app.out.remark(&whole(&facts, target, held));
            deliver(app, operator, answered).await
        }
        (Ok(held), Target::Stream) => {
            app.out.remark(&whole(&facts, target, held));
            if answered.own {
                operator.ask(Delivered { id }).await?;
            }
            operator.close()?;
            Ok(exit::OK)
        }
        (Err(stopped), _) => {
            operator.close()?;
            app.out.remark(&cut(&stopped, &facts, target, &id)?);
            Ok(exit::UNDELIVERED)
        }
    }
}

/// A stored content, of which the chunk that was asked for last is at hand.
struct Stored<'a> {
    operator: &'a Operator,
    id: RequestId,
    facts: ContentFacts,
    newest: RefCell<Option<(u32, Rc<Chunk>)>>,
}

impl Stored<'_> {
    /// A content of no bytes has no chunk to ask for.
    fn is_there(&self) -> anyhow::Result<bool> {
        Ok(self.facts.chunks == 0 || self.ask(0)?.is_some())
    }

    fn chunk(&self, number: u32) -> anyhow::Result<Rc<Chunk>> {
        let newest =
            self.newest.borrow().as_ref().filter(|(known, _)| *known == number).map(|(_, c)| Rc::clone(c));
        match newest {
            Some(newest) => Ok(newest),
            None => self.ask(number)?.context("the content is not there any more"),
        }
    }

    fn ask(&self, number: u32) -> anyhow::Result<Option<Rc<Chunk>>> {
        let ask = ContentChunk { id: self.id, facts: self.facts, number };
        // The transfer is a plain loop over files, so this thread is lent to the question meanwhile.
        let asked = || Handle::current().block_on(self.operator.ask(ask));
        let chunk = tokio::task::block_in_place(asked)?.map(Rc::new);
        *self.newest.borrow_mut() = chunk.clone().map(|chunk| (number, chunk));
        Ok(chunk)
    }
}

/// An answer where standard output is for a content: whoever reads that must not take one for the other.
fn unsaid(app: &App, envelope: &Published) -> u8 {
    app.out.remark(&envelope::text(envelope));
    envelope.exit_status()
}

/// Without a buffer, so that what is counted was handed over.
fn standard_output() -> anyhow::Result<File> {
    let owned = std::io::stdout().as_fd().try_clone_to_owned();
    Ok(File::from(owned.context("standard output can't be used")?))
}
