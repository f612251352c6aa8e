use crate::closed::closed_enum;

closed_enum! {
    /// What the records prove about the remote. `Committed` is not success: exit status 23 and a
    /// complete 500 are committed.
    pub enum Outcome {
        /// Durable evidence shows that the dispatch boundary was not crossed.
        NotAttempted = "not_attempted",
        /// A complete, authoritative refusal.
        Rejected = "rejected",
        /// A complete, authoritative result.
        Committed = "committed",
        /// Dispatch may have happened and no complete result settles it.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// The outcome of an invocation from those of its attempts: committed if any is, else unknown
    /// if any is, else rejected if any is, else not attempted. A later refusal therefore never
    /// settles an earlier unknown.
    #[must_use]
    pub fn aggregate(attempts: impl IntoIterator<Item = Self>) -> Self {
        attempts
            .into_iter()
            .fold(Self::NotAttempted, |known, next| if next.weight() > known.weight() { next } else { known })
    }

    /// Whether nothing more can be learnt of an attempt with this outcome.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Rejected | Self::Committed => true,
            Self::NotAttempted | Self::Unknown => false,
        }
    }

    const fn weight(self) -> u8 {
        match self {
            Self::NotAttempted => 0,
            Self::Rejected => 1,
            Self::Unknown => 2,
            Self::Committed => 3,
        }
    }
}
