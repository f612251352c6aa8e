//! What waits for an operator's word, and the word.

use crate::operator_side::answered::Answered;
use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::session::SessionView;
use proofport_broker::{Card, DecideError, Reach};
use proofport_core::code::Code;
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use serde::{Deserialize, Serialize};

/// Every question that waits for an answer, with who asks.
#[derive(Serialize, Deserialize)]
pub struct Approvals {
    /// Only the one about this call; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
}

/// A question, and the session that asks, as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// The question.
    pub card: Card,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionView>,
}

/// Approves what waits.
#[derive(Serialize, Deserialize)]
pub struct Approve {
    /// Which call.
    pub id: RequestId,
    /// The request that was looked at.
    pub about: Digest,
    /// How far the word reaches.
    pub reach: Reach,
}

/// Denies what waits.
#[derive(Serialize, Deserialize)]
pub struct Deny {
    /// Which call.
    pub id: RequestId,
    /// The request that was looked at; none: whatever waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Digest>,
}

impl Ask for Approvals {
    const PATH: &'static str = "/v1/approvals";
    type Answer = Vec<Waiting>;

    async fn carry_out(self, desk: &Desk) -> Result<Vec<Waiting>, Failure> {
        let broker = desk.host().broker();
        let cards = match self.id {
            Some(id) => broker.card(&id)?.into_iter().collect(),
            None => broker.approvals()?,
        };
        let sessions = desk.sessions()?.list();
        let of = |card: Card| {
            let session = sessions.iter().find(|session| session.id.to_string() == card.session).cloned();
            Waiting { card, session }
        };
        Ok(cards.into_iter().map(of).collect())
    }
}

impl Ask for Approve {
    const PATH: &'static str = "/v1/approvals/approve";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        decided(desk, desk.host().broker().approve(&self.id, Some(self.about), self.reach).await)
    }
}

impl Ask for Deny {
    const PATH: &'static str = "/v1/approvals/deny";
    type Answer = Answered;

    async fn carry_out(self, desk: &Desk) -> Result<Answered, Failure> {
        decided(desk, desk.host().broker().deny(&self.id, self.about).await)
    }
}

fn decided(
    desk: &Desk,
    decided: Result<proofport_broker::Delivery, DecideError>,
) -> Result<Answered, Failure> {
    match decided {
        Ok(delivery) => {
            let answered = Answered::of(desk, &delivery)?;
            let approved = delivery.envelope.code() == Some(Code::InProgress);
            Ok(match approved && !desk.is_serving() {
                // Nobody is here who would go on with it.
                true => answered
                    .remark("no host runs here: `proofport wait ACT` carries it out, or the next host"),
                false => answered,
            })
        }
        Err(DecideError::NoSuchInvocation) => Answered::refusal(Code::NoSuchInvocation, None),
        Err(DecideError::VaultLocked) => Err(Failure::VaultLocked),
        Err(error @ (DecideError::NotWaiting | DecideError::OtherRequest | DecideError::Stopping)) => {
            Err(Failure::refused(&error))
        }
        Err(
            error @ (DecideError::Read(_)
            | DecideError::Journal(_)
            | DecideError::Illegal(_)
            | DecideError::Internal),
        ) => Err(Failure::internal(&error)),
    }
}
