//! The [`Engine`]: rules compiled into one literal database and regexes that are built on first use.
//!
//! Immutable once made and shared by all workers; what a worker changes is in its
//! [`Scratch`]. No files, no threads, no clock, no environment.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex_automata::meta;

use crate::anchor::{self, AnchorSet};
use crate::finding::RuleIndex;
use crate::fingerprint::FingerprintKey;
use crate::limits::{KEYWORD_RADIUS, LINE_RADIUS, LITERAL_LEN_MAX, MATCH_LEN_MAX, RULES_MAX};
use crate::rule::{self, Rule, RuleError};
use crate::scan::Scan;
use crate::scratch::Scratch;
use crate::vectorscan::{Literal, LiteralDatabase, LiteralScanner, SetupError};

/// Why an engine could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A rule cannot be used.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// There is nothing to look for.
    #[error("there are no rules")]
    NoRules,
    /// More rules than the engine takes.
    #[error("{0} rules are more than the engine takes ({RULES_MAX})")]
    TooManyRules(usize),
    /// Vectorscan could not be set up.
    #[error("{0}")]
    Vectorscan(String),
}

impl From<SetupError> for EngineError {
    fn from(error: SetupError) -> Self {
        Self::Vectorscan(error.to_string())
    }
}

/// A rule with what its searches need.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) rule: Rule,
    /// Longest match looked for, in bytes.
    pub(crate) match_len_max: usize,
    regex: OnceLock<meta::Regex>,
    allow: OnceLock<Option<meta::Regex>>,
}

impl CompiledRule {
    fn new(rule: Rule) -> Self {
        let bound = rule.hir.properties().maximum_len().unwrap_or(MATCH_LEN_MAX);
        Self {
            rule,
            match_len_max: bound.min(MATCH_LEN_MAX),
            regex: OnceLock::new(),
            allow: OnceLock::new(),
        }
    }

    pub(crate) fn regex(&self) -> &meta::Regex {
        self.regex.get_or_init(|| {
            rule::compile(&self.rule.hir).expect("proven by parse_rules, or by tests if embedded")
        })
    }

    pub(crate) fn allow(&self) -> Option<&meta::Regex> {
        let compile = || {
            rule::compile_allow(&self.rule.allow)
                .expect("proven by parse_rules, or by tests if embedded")
        };
        self.allow.get_or_init(compile).as_ref()
    }
}

/// What a hit of a literal may mean: a match of this rule that starts `lead` bytes before the literal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) rule: RuleIndex,
    pub(crate) lead_min: u32,
    pub(crate) lead_max: u32,
}

/// A literal by which a rule is found, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The bytes; in lower case where case is ignored.
    pub bytes: Vec<u8>,
    /// Whether ASCII case is ignored.
    pub caseless: bool,
    /// Least and most bytes between the start of a match and the literal in it.
    pub lead: (usize, usize),
}

/// The literals of all rules and what they stand for.
#[derive(Debug)]
struct Anchors {
    literals: Vec<Literal>,
    ranges: Vec<Range<usize>>,
    targets: Vec<Target>,
}

/// The detection engine.
#[derive(Debug)]
pub struct Engine {
    rules: Vec<CompiledRule>,
    anchors: Anchors,
    database: Arc<LiteralDatabase>,
    pub(crate) key: FingerprintKey,
    /// Bytes before the end of a hit that can matter to it.
    pub(crate) reach_before: usize,
    /// Bytes behind the end of a hit that can matter to it.
    pub(crate) reach_after: usize,
}

impl Engine {
    /// Compiles `rules`; fingerprints will be made under `key`.
    ///
    /// # Errors
    ///
    /// If there is no rule or too many, if two have the same id, or if one has no anchor.
    pub fn new(rules: Vec<Rule>, key: FingerprintKey) -> Result<Self, EngineError> {
        if rules.is_empty() {
            return Err(EngineError::NoRules);
        }
        if rules.len() > RULES_MAX {
            return Err(EngineError::TooManyRules(rules.len()));
        }
        refuse_duplicates(&rules)?;
        let rules: Vec<CompiledRule> = rules.into_iter().map(CompiledRule::new).collect();
        let anchors = collect_anchors(&rules)?;
        let match_len_max = rules.iter().map(|rule| rule.match_len_max).max().unwrap_or(0);
        let lead_max = anchors.targets.iter().map(|target| target.lead_max as usize).max();
        // One byte more on either side is what `\b`, `^` and `$` look at.
        let context = KEYWORD_RADIUS.max(LINE_RADIUS) + 1;
        Ok(Self {
            database: Arc::new(LiteralDatabase::compile(&anchors.literals)?),
            reach_before: lead_max.unwrap_or(0) + LITERAL_LEN_MAX + context,
            reach_after: match_len_max + context,
            rules,
            anchors,
            key,
        })
    }

    /// The rules, in the order given.
    #[must_use]
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|compiled| &compiled.rule)
    }

    /// The rule of a finding that this engine made.
    ///
    /// # Panics
    ///
    /// If the index came from an engine with more rules.
    #[must_use]
    pub fn rule(&self, index: RuleIndex) -> &Rule {
        &self.rules[index.get()].rule
    }

    /// The rule with this id and its place.
    #[must_use]
    pub fn find_rule(&self, id: &str) -> Option<RuleIndex> {
        let index = self.rules.iter().position(|compiled| compiled.rule.id == id)?;
        u32::try_from(index).ok().map(RuleIndex)
    }

    /// The literals by which a rule is found.
    #[must_use]
    pub fn anchors(&self, rule: RuleIndex) -> Vec<Anchor> {
        let literals = self.anchors.literals.iter().zip(&self.anchors.ranges);
        let all = literals.flat_map(|(literal, range)| {
            self.anchors.targets[range.clone()].iter().map(move |target| (literal, target))
        });
        all.filter(|(_, target)| target.rule == rule)
            .map(|(literal, target)| Anchor {
                bytes: literal.bytes.clone(),
                caseless: literal.caseless,
                lead: (target.lead_min as usize, target.lead_max as usize),
            })
            .collect()
    }

    /// Memory for one worker.
    ///
    /// # Errors
    ///
    /// If Vectorscan has no memory left for its part.
    pub fn scratch(&self) -> Result<Scratch, EngineError> {
        let scanner = LiteralScanner::new(Arc::clone(&self.database))?;
        Ok(Scratch::new(scanner, self.rules.len()))
    }

    /// Begins the scan of one input with a scratch that this engine made.
    ///
    /// # Panics
    ///
    /// If the scratch was made by another engine.
    pub fn scan<'a>(&'a self, scratch: &'a mut Scratch) -> Scan<'a> {
        assert!(scratch.belongs_to(&self.database), "a scratch serves the engine that made it");
        Scan::new(self, scratch)
    }

    /// Most bytes of a chunk that [`Scan::chunk`] may want to see again at the start of the next.
    #[must_use]
    pub fn overlap_max(&self) -> usize {
        self.reach_before + self.reach_after + MATCH_LEN_MAX
    }

    pub(crate) fn compiled(&self, index: RuleIndex) -> &CompiledRule {
        &self.rules[index.get()]
    }

    pub(crate) fn literal_len(&self, literal: u32) -> usize {
        self.anchors.literals[literal as usize].bytes.len()
    }

    pub(crate) fn targets(&self, literal: u32) -> &[Target] {
        &self.anchors.targets[self.anchors.ranges[literal as usize].clone()]
    }
}

fn refuse_duplicates(rules: &[Rule]) -> Result<(), RuleError> {
    let mut seen: HashMap<&str, &Rule> = HashMap::with_capacity(rules.len());
    for rule in rules {
        if let Some(first) = seen.insert(&rule.id, rule) {
            return Err(rule.error(format!("the id is taken at {}", first.place)));
        }
    }
    Ok(())
}

/// Merges the anchors of all rules, so that each literal is looked for once.
fn collect_anchors(rules: &[CompiledRule]) -> Result<Anchors, RuleError> {
    let mut by_literal: HashMap<Literal, Vec<Target>> = HashMap::new();
    for (index, compiled) in rules.iter().enumerate() {
        let rule = RuleIndex(u32::try_from(index).expect("RULES_MAX fits 32 bits"));
        let set = anchors_of(compiled)?;
        let lead = |bytes: usize| u32::try_from(bytes).expect("MATCH_LEN_MAX fits 32 bits");
        let (lead_min, lead_max) = (lead(set.lead_min), lead(set.lead_max));
        for literal in set.literals {
            by_literal.entry(literal).or_default().push(Target { rule, lead_min, lead_max });
        }
    }
    let mut pairs: Vec<(Literal, Vec<Target>)> = by_literal.into_iter().collect();
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut anchors = Anchors { literals: Vec::new(), ranges: Vec::new(), targets: Vec::new() };
    for (literal, targets) in pairs {
        let start = anchors.targets.len();
        anchors.targets.extend(targets);
        anchors.ranges.push(start..anchors.targets.len());
        anchors.literals.push(literal);
    }
    Ok(anchors)
}

fn anchors_of(compiled: &CompiledRule) -> Result<AnchorSet, RuleError> {
    let rule = &compiled.rule;
    if !rule.anchors.is_empty() {
        return Ok(AnchorSet::anywhere(&rule.anchors, compiled.match_len_max));
    }
    anchor::derive(&rule.hir).ok_or_else(|| {
        rule.error(
            "the regex has no literal of 3 bytes or more that every match must contain; \
             write one into it or name some in `anchors`",
        )
    })
}
