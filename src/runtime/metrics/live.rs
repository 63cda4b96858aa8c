//! Gauges that are looked up when somebody asks for them: kept up to date they would be work, and stale when it matters.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Look = Box<dyn Fn() + Send + Sync>;

/// What has to be looked up; a clone is the same list.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<Vec<Look>>>);

impl Live {
    pub(super) fn add(&self, look: impl Fn() + Send + Sync + 'static) {
        self.list().push(Box::new(look));
    }

    pub(super) fn look(&self) {
        for look in self.list().iter() {
            look();
        }
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.list().len()).finish()
    }
}
