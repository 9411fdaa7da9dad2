//! One worker's memory: made once, reused for every input.
//!
//! Regex caches are made when a rule is first tried, so that a worker pays only for rules that occur;
//! nothing else is allocated after [`Engine::scratch`](crate::Engine::scratch).

use std::sync::Arc;

use regex_automata::meta;
use regex_automata::util::primitives::NonMaxUsize;

use crate::finding::RuleIndex;
use crate::limits::{CANDIDATES_MAX, HITS_MAX};
use crate::scan::Candidate;
use crate::vectorscan::{HitLog, LiteralDatabase, LiteralScanner};

/// Everything that a scan writes to.
#[derive(Debug)]
pub struct Scratch {
    database: Arc<LiteralDatabase>,
    pub(crate) scanner: LiteralScanner,
    pub(crate) log: HitLog,
    pub(crate) memory: Memory,
}

/// The part of the scratch that confirming and judging use.
#[derive(Debug)]
pub(crate) struct Memory {
    rules: Vec<RuleMemory>,
    /// The rules whose `resume` is not zero.
    touched: Vec<RuleIndex>,
    /// Findings that a later match may still overlap.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) slots: Vec<Option<NonMaxUsize>>,
}

/// What is remembered of one rule.
#[derive(Debug, Default)]
pub(crate) struct RuleMemory {
    /// Offset in the input before which no further match of this rule may start.
    pub(crate) resume: u64,
    pub(crate) regex: Option<Box<meta::Cache>>,
    pub(crate) allow: Option<Box<meta::Cache>>,
}

impl Scratch {
    pub(crate) fn new(scanner: LiteralScanner, rules: usize) -> Self {
        Self {
            database: scanner.database(),
            scanner,
            log: HitLog::with_capacity(HITS_MAX),
            memory: Memory {
                rules: std::iter::repeat_with(RuleMemory::default).take(rules).collect(),
                touched: Vec::with_capacity(rules),
                candidates: Vec::with_capacity(CANDIDATES_MAX),
                slots: Vec::new(),
            },
        }
    }

    pub(crate) fn belongs_to(&self, database: &Arc<LiteralDatabase>) -> bool {
        Arc::ptr_eq(&self.database, database)
    }
}

impl Memory {
    /// Forgets the last input; costs only what that input touched.
    pub(crate) fn reset(&mut self) {
        for rule in self.touched.drain(..) {
            self.rules[rule.get()].resume = 0;
        }
        self.candidates.clear();
    }

    pub(crate) fn resume(&self, rule: RuleIndex) -> u64 {
        self.rules[rule.get()].resume
    }

    pub(crate) fn set_resume(&mut self, rule: RuleIndex, offset: u64) {
        let resume = &mut self.rules[rule.get()].resume;
        assert!(offset > *resume, "a rule's matches do not overlap");
        if *resume == 0 {
            self.touched.push(rule);
        }
        *resume = offset;
    }

    /// The regex cache of a rule together with the slots for its groups.
    pub(crate) fn search(
        &mut self,
        rule: RuleIndex,
        regex: &meta::Regex,
        slots: usize,
    ) -> (&mut meta::Cache, &mut [Option<NonMaxUsize>]) {
        if self.slots.len() < slots {
            self.slots.resize(slots, None);
        }
        let cache = &mut self.rules[rule.get()].regex;
        (cache.get_or_insert_with(|| Box::new(regex.create_cache())), &mut self.slots[..slots])
    }

    pub(crate) fn allow_cache(&mut self, rule: RuleIndex, regex: &meta::Regex) -> &mut meta::Cache {
        let cache = &mut self.rules[rule.get()].allow;
        cache.get_or_insert_with(|| Box::new(regex.create_cache()))
    }
}
