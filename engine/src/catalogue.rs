//! The rules that come with Lapwing: the files of `rules/`, embedded at build time.

use crate::rule::{Rule, RuleError, parse_unproven};

/// Name and text of every rule file, ordered by name.
static FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Reads the embedded rules.
///
/// # Errors
///
/// Never in a build that passed its tests: they prove every embedded rule.
pub fn embedded_rules() -> Result<Vec<Rule>, RuleError> {
    let mut rules = Vec::new();
    for (file, text) in FILES {
        rules.extend(parse_unproven(file, text)?);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::parse_rules;

    #[test]
    fn every_embedded_rule_compiles() {
        assert!(!FILES.is_empty());
        for (file, text) in FILES {
            parse_rules(file, text).unwrap();
        }
    }

    #[test]
    fn every_embedded_rule_is_documented_and_has_examples() {
        for rule in embedded_rules().unwrap() {
            assert!(rule.examples.len() >= 2, "{}: two examples", rule.id);
            assert!(rule.counter_examples.len() >= 2, "{}: two counter-examples", rule.id);
            assert!(!rule.references.is_empty(), "{}: a reference", rule.id);
            assert!(!rule.description.is_empty(), "{}: a description", rule.id);
        }
    }
}
