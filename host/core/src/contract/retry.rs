use crate::closed::closed_enum;

closed_enum! {
    /// What automation may do now, computed from the record and the declared contract only.
    pub enum Retry {
        /// Nothing.
        Never = "never",
        /// The same call after somebody corrected something.
        AfterCorrection = "after_correction",
        /// The same call after a delay.
        Backoff = "backoff",
        /// The stored bytes with the same idempotency key.
        SameIdempotencyKey = "same_idempotency_key",
        /// Ask the remote what happened; send no effect.
        Reconcile = "reconcile",
        /// Fetch the stored result; send nothing.
        FetchResult = "fetch_result",
    }
}
