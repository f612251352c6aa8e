use crate::closed::closed_enum;

closed_enum! {
    /// A connector's reason for a verdict. It chooses the code and the advice.
    pub enum Reason {
        /// The operation did what was asked.
        Done = "done",
        /// The remote took the work on and has not finished it.
        Accepted = "accepted",
        /// The credential was refused.
        Unauthenticated = "unauthenticated",
        /// The credential may not do this.
        Forbidden = "forbidden",
        /// The caller can repair the input.
        InvalidInput = "invalid_input",
        /// Something that the input names does not exist.
        NotFound = "not_found",
        /// The remote's state forbids it.
        Conflict = "conflict",
        /// A precondition did not hold.
        PreconditionFailed = "precondition_failed",
        /// Too many requests.
        RateLimited = "rate_limited",
        /// The first request with this idempotency key is still running.
        StillRunning = "still_running",
        /// The idempotency key is known with another payload.
        PayloadMismatch = "payload_mismatch",
        /// The remote said that it could not do it now.
        Unavailable = "unavailable",
        /// The remote failed while doing it.
        RemoteFailed = "remote_failed",
        /// The children of a batch differ.
        Partial = "partial",
        /// A query showed that the effect happened.
        Present = "present",
        /// A query showed that the effect did not happen.
        Absent = "absent",
        /// The answer could not be read.
        Unreadable = "unreadable",
    }
}

impl Reason {
    /// Whether a refusal for this reason rests on the request alone, so that each copy of the request
    /// meets it. Any other may come from what an earlier copy did.
    #[must_use]
    pub const fn lies_in_the_request(self) -> bool {
        match self {
            Self::Unauthenticated | Self::Forbidden | Self::InvalidInput | Self::PayloadMismatch => true,
            Self::Done
            | Self::Accepted
            | Self::NotFound
            | Self::Conflict
            | Self::PreconditionFailed
            | Self::RateLimited
            | Self::StillRunning
            | Self::Unavailable
            | Self::RemoteFailed
            | Self::Partial
            | Self::Present
            | Self::Absent
            | Self::Unreadable => false,
        }
    }
}
