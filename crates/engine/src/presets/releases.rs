//! Releases of stacks that have no file of their own, and the stack that stands for each.

use std::sync::Arc;

use crate::stack::Stack;

use super::Library;

impl Library {
    /// The stack of a release that has no file of its own: the latest of its family that is not newer, or else the first,
    /// with a caveat that says which.
    pub(super) fn release(&self, id: &str) -> Option<Arc<Stack>> {
        let (family, wanted) = release(id)?;
        let of_family = |id| release(id).filter(|(other, _)| *other == family).map(|(_, release)| (release, id));
        let mut known: Vec<(Vec<u32>, &str)> = self.stacks.ids().filter_map(of_family).collect();
        known.sort();
        let (_, nearest) = known.iter().rfind(|(release, _)| *release <= wanted).or(known.first())?;
        let mut stack = Stack::clone(&*self.stacks.find(nearest)?);
        stack.caveats.push(format!("stack '{id}' has no file of its own: {nearest} stands for it"));
        Some(Arc::new(stack))
    }
}

/// The family and the release in an id: `megatron-bridge` and 26, 2, 1 in `megatron-bridge-26.02.01`. A year alone, as in
/// `nemo-2025`, is before all releases of that year.
fn release(id: &str) -> Option<(&str, Vec<u32>)> {
    let (family, release) = id.rsplit_once('-')?;
    let numbers = release.strip_prefix('v').unwrap_or(release).split('.');
    let mut numbers: Vec<u32> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
    if let Some(year @ 2000..) = numbers.first_mut() {
        *year -= 2000;
    }
    Some((family, numbers))
}

#[cfg(test)]
mod tests {
    use crate::presets::Library;

    #[test]
    fn a_release_is_the_latest_of_its_family_that_is_not_newer() {
        let library = Library::embedded();
        for (asked, found) in [
            ("megatron-bridge-25.09", "megatron-bridge-2025"),
            ("megatron-bridge-26.02.01", "megatron-bridge-2025"),
            ("nemo-24.03.01", "nemo-2024"),
            ("nemo-25.04", "nemo-2025"),
            // Older than every file: the first.
            ("nemo-23.11", "nemo-2024"),
        ] {
            let stack = library.stack(asked).expect(asked);
            assert_eq!(stack.id, found, "{asked}");
            let said = format!("stack '{asked}' has no file of its own: {found} stands for it");
            assert_eq!(stack.caveats.last(), Some(&said));
            assert!(!library.stack(found).expect(found).caveats.contains(&said));
        }
        for unknown in ["nowhere-25.04", "nemo-next", "nemo"] {
            assert!(library.stack(unknown).is_err(), "{unknown}");
        }
    }
}
