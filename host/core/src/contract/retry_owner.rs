use crate::closed::closed_enum;

closed_enum! {
    /// Whose move it is.
    pub enum RetryOwner {
        /// The host carries it out by itself.
        Host = "host",
        /// The caller may call again.
        Caller = "caller",
        /// A person must act.
        Operator = "operator",
        /// There is nothing to retry.
        Nobody = "nobody",
    }
}
