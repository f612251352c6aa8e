//! That children of a batch are sent again while the whole call is not made anew, and the other way round.

use crate::broker::Inner;
use crate::intent::dividing;
use crate::meeting::Going;
use proofport_core::digest::Digest;
use proofport_core::state::State;
use std::sync::{Arc, PoisonError};
use tokio::sync::watch;

/// As long as it lives, no call with these inputs begins.
pub(crate) struct Dividing {
    inner: Arc<Inner>,
    keys: Vec<Digest>,
    /// Ends with it, which is how others hear of that.
    _ended: watch::Sender<Option<State>>,
}

impl Inner {
    /// Keeps calls away that have these inputs; none where one is under way, or its children are sent again.
    pub(crate) fn divide(self: &Arc<Self>, families: &[Digest]) -> Option<Dividing> {
        let (ended, state) = watch::channel(None);
        let keys: Vec<Digest> = families.iter().map(dividing).collect();
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if families.iter().chain(&keys).any(|key| under_way.contains_key(key)) {
            return None;
        }
        for (key, family) in keys.iter().zip(families) {
            under_way.insert(*key, vec![Going { intent: *family, state: state.clone() }]);
        }
        drop(under_way);
        Some(Dividing { inner: Arc::clone(self), keys, _ended: ended })
    }
}

impl Drop for Dividing {
    fn drop(&mut self) {
        let mut under_way = self.inner.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            under_way.remove(key);
        }
    }
}
