//! Transfers that a build costs once and its passes share.

use std::cell::RefCell;

use crate::cost::{Payload, Rates, Transfer};
use crate::hardware::Group;

/// The transfers of gathers by payload and group. A unit gathers its weights in forward and in backward, and a reduction of its
/// gradients moves as much: each is costed once.
#[derive(Debug, Default)]
pub(super) struct GatherCosts(RefCell<Vec<(Payload, Group, Transfer)>>);

impl GatherCosts {
    /// The transfer of a gather.
    pub fn cost(&self, rates: &Rates<'_>, payload: Payload, group: Group) -> Transfer {
        let mut known = self.0.borrow_mut();
        if let Some((.., transfer)) = known.iter().find(|(of, among, _)| (*of, *among) == (payload, group)) {
            return *transfer;
        }
        let transfer = rates.gather(payload, group);
        known.push((payload, group, transfer));
        transfer
    }
}
