use crate::closed::closed_enum;

closed_enum! {
    /// What one exchange is for.
    pub enum Role {
        /// It changes nothing: GET, HEAD, or a reviewed template.
        Query = "query",
        /// The invocation's one effect.
        Effect = "effect",
    }
}
