//! What was already reported: a secret is alerted once a path, until it is gone from it.
//!
//! Holds hashes only, of paths under a random key and of secrets as their fingerprints' first bytes; no
//! path and no secret. Bounded by `KNOWN_PATHS_MAX` paths of `SECRETS_PER_FILE_MAX` secrets; beyond that the
//! path reported longest ago is forgotten, which can only repeat an alert.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use engine::Finding;

use crate::limits::{KNOWN_PATHS_MAX, SECRETS_PER_FILE_MAX};

/// A rule and a secret.
pub type Identity = (u32, u64);

/// The paths with reported secrets.
#[derive(Debug, Default)]
pub struct Known {
    hasher: RandomState,
    paths: HashMap<u64, Box<[Identity]>>,
    /// In the order of their first report; may name paths that are clean by now.
    order: VecDeque<u64>,
}

impl Known {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The identity of a finding within its path.
    #[must_use]
    pub fn identity(hasher: &RandomState, finding: &Finding) -> Identity {
        let rule = hasher.hash_one(finding.rule);
        (u32::try_from(rule >> 32).expect("32 bits"), hasher.hash_one(finding.fingerprint))
    }

    /// The key under which identities are made.
    #[must_use]
    pub fn hasher(&self) -> &RandomState {
        &self.hasher
    }

    /// A file was scanned to its end without a finding. Allocates nothing.
    pub fn clean(&mut self, path: &[u8]) {
        if !self.paths.is_empty() {
            self.paths.remove(&self.hasher.hash_one(path));
        }
    }

    /// A file was scanned with these findings. Leaves those that are new to its path. If the scan was not
    /// `complete`, what was known of the path may still be there and stays known.
    pub fn retain_new(
        &mut self,
        path: &[u8],
        found: &mut Vec<(Identity, Finding)>,
        complete: bool,
    ) {
        let key = self.hasher.hash_one(path);
        let before = self.paths.remove(&key);
        if before.is_none() {
            self.order.push_back(key);
            self.forget_oldest();
        }
        let before = before.unwrap_or_default();
        let mut now: Vec<Identity> = found.iter().map(|(identity, _)| *identity).collect();
        if !complete {
            now.extend_from_slice(&before);
        }
        now.sort_unstable();
        now.dedup();
        now.truncate(SECRETS_PER_FILE_MAX);
        self.paths.insert(key, now.into_boxed_slice());
        found.retain(|(identity, _)| before.binary_search(identity).is_err());
    }

    fn forget_oldest(&mut self) {
        while self.order.len() > KNOWN_PATHS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.paths.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::{Engine, FingerprintKey, expand, parse_rules};

    use super::*;

    /// Findings of different secrets.
    fn findings(count: usize) -> Vec<Finding> {
        let rule = "provider = 'T'\n[[rules]]\nid = 'r'\ndescription = 'd'\n\
                    regex = '''tok_[0-9a-f]{16}'''\nconfidence = 'high'\n";
        let rules = parse_rules("t.toml", rule).unwrap();
        let engine = Engine::new(rules, FingerprintKey::new(&[0; 32])).unwrap();
        let text = expand(&"tok_%{hex:16} ".repeat(count), 1, None).unwrap();
        let mut found = Vec::new();
        engine
            .scan(&mut engine.scratch().unwrap())
            .chunk(&text, true, &mut |finding, _| found.push(finding.clone()));
        found
    }

    fn report(known: &mut Known, path: &str, findings: &[Finding]) -> usize {
        let mut found = findings
            .iter()
            .map(|finding| (Known::identity(known.hasher(), finding), finding.clone()))
            .collect();
        known.retain_new(path.as_bytes(), &mut found, true);
        found.len()
    }

    #[test]
    fn a_scan_that_broke_off_forgets_nothing() {
        let (mut known, findings) = (Known::new(), findings(3));
        assert_eq!(report(&mut known, "/a", &findings), 3);
        known.retain_new(b"/a", &mut Vec::new(), false);
        assert_eq!(report(&mut known, "/a", &findings), 0);
    }

    #[test]
    fn a_secret_is_new_once_a_path() {
        let (mut known, findings) = (Known::new(), findings(3));
        assert_eq!(report(&mut known, "/a", &findings[..2]), 2);
        assert_eq!(report(&mut known, "/a", &findings[..2]), 0);
        assert_eq!(report(&mut known, "/a", &findings), 1);
        assert_eq!(report(&mut known, "/b", &findings), 3);
    }

    #[test]
    fn a_secret_that_was_gone_is_new_again() {
        let (mut known, findings) = (Known::new(), findings(2));
        assert_eq!(report(&mut known, "/a", &findings), 2);
        assert_eq!(report(&mut known, "/a", &findings[..1]), 0);
        assert_eq!(report(&mut known, "/a", &findings), 1);
        known.clean(b"/a");
        assert_eq!(report(&mut known, "/a", &findings), 2);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut known, findings) = (Known::new(), findings(1));
        for path in 0..KNOWN_PATHS_MAX + 10 {
            report(&mut known, &path.to_string(), &findings);
            if path % 2 == 0 {
                known.clean(path.to_string().as_bytes());
            }
        }
        assert!(known.paths.len() <= KNOWN_PATHS_MAX);
        assert!(known.order.len() <= KNOWN_PATHS_MAX);
    }
}
