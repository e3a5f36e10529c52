//! Why an exchange takes the time it takes.

use super::World;
use crate::observe::Observer;

impl<O: Observer> World<'_, O> {
    /// Something may have changed on a connection.
    #[expect(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "next step")]
    pub(super) const fn watch(&mut self, _place: u32) {}
}
