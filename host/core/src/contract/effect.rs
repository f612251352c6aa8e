use crate::closed::closed_enum;

closed_enum! {
    /// Whether an operation may change anything at the remote. Declared, never guessed.
    pub enum Effect {
        /// Every exchange is a query.
        Read = "read",
        /// Exactly one exchange is an effect.
        Write = "write",
    }
}
