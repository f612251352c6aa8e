//! How far an invocation got: what a protected record says first to whoever investigates.

use crate::approval::Approval;
use crate::closed::closed_enum;
use crate::event::QueryPurpose;
use crate::evidence::Evidence;
use crate::state::{Standing, State};

closed_enum! {
    /// A line that an invocation crosses on its way. Of a read, the lines on the wire are those of its
    /// queries.
    pub enum Boundary {
        /// Everything that could be checked without a secret was, and it is bound to what it will use.
        InputValidated = "input_validated",
        /// A credential was chosen and may be used for this, or it is known that none is needed.
        CredentialSelected = "credential_selected",
        /// A person approved, or the policy asks nobody.
        UserAuthorized = "user_authorized",
        /// A connection was tried, or a kept one was taken.
        ConnectionStarted = "connection_started",
        /// Bytes of the request may have left this host.
        DispatchStarted = "dispatch_started",
        /// The whole request was offered to the transport.
        RequestSent = "request_sent",
        /// A first byte of an answer arrived.
        ResponseStarted = "response_started",
        /// A complete answer arrived.
        ResponseComplete = "response_complete",
        /// What can be handed over is on record.
        ResultStored = "result_stored",
        /// It was handed over at least once.
        ResultDelivered = "result_delivered",
    }
}

impl State {
    /// The lines that this invocation crossed, in their order on the way.
    #[must_use]
    pub fn boundaries(&self) -> Vec<Boundary> {
        Boundary::ALL.iter().copied().filter(|boundary| self.crossed(*boundary)).collect()
    }

    fn crossed(&self, boundary: Boundary) -> bool {
        let mut reads = self.queries.iter().filter(|query| query.purpose == QueryPurpose::Read);
        let mut asked = |seen: fn(&Evidence) -> bool| reads.any(|query| seen(&query.evidence));
        match boundary {
            Boundary::InputValidated => self.binding.is_some(),
            Boundary::CredentialSelected => self.credential.is_some(),
            Boundary::UserAuthorized => {
                let nobody = self.credential.is_some() && self.approval_terms().needs == Approval::Auto;
                nobody || self.word.is_some_and(|word| word.approved)
            }
            Boundary::ConnectionStarted => !self.setup.is_empty(),
            Boundary::DispatchStarted => self.dispatched() || asked(|_| true),
            Boundary::RequestSent => {
                self.attempts.iter().any(|attempt| attempt.request_sent) || asked(Evidence::request_complete)
            }
            Boundary::ResponseStarted => {
                self.attempts.iter().any(|attempt| attempt.response_started)
                    || asked(Evidence::response_started)
            }
            Boundary::ResponseComplete => {
                self.attempts.iter().any(|attempt| attempt.response_complete) || asked(Evidence::complete)
            }
            Boundary::ResultStored => self.result.is_some(),
            Boundary::ResultDelivered => self.standing == Standing::Delivered,
        }
    }
}
