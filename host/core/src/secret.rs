//! Secret bytes: zeroised when dropped, without `Debug`, `Display`, `Serialize` or `PartialEq`, so
//! that nothing can print, store or compare one by accident.

use zeroize::Zeroizing;

/// The shortest secret that the host takes. Shorter ones can't be told from ordinary text by the
/// leak guard.
pub const SHORTEST_SECRET: usize = 8;

/// A secret's bytes.
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes ownership of the bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes. Named so that every use is seen in review: only injection and the leak guard need
    /// it.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// A second owner of the same bytes, zeroised on its own.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(self.0.clone())
    }
}
