//! Detection rules: the TOML format, its validation, and the [`Rule`] that the engine compiles.
//!
//! A rule file comes from outside: every error names the file, the line and what is wrong. This file opens
//! no file itself; the caller hands in a name and the text.
//!
//! ```toml
//! provider = "Example"
//!
//! [[rules]]
//! id = "example-token"                     # unique over all files
//! description = "Example API token"
//! regex = '''\b(ext_[0-9a-z]{32})\b'''     # bytes, ASCII classes, `^` and `$` match at lines
//! secret_group = 1                         # default: 1 if there is a group, else 0 (the whole match)
//! anchors = ["ext_"]                       # default: derived from the regex
//! keywords = ["example"]                   # one of them within 256 bytes of the match, any case
//! entropy = 3.0                            # least Shannon entropy of the secret, bits a byte
//! confidence = "high"                      # low, medium or high
//! checksum = "crc32-base62"                # one of `Checksum`: a proven token is certain, a wrong one low
//! allow = ['''^ext_0+$''']                 # regexes over the secret that drop the finding
//! examples = ["key = ext_%{alnum:32}"]     # templates, see `example`
//! counter_examples = ["ext_%{alnum:31}"]
//! references = ["https://…"]
//! ```

use std::fmt;
use std::ops::Range;

use regex_automata::meta;
use regex_automata::util::syntax;
use regex_syntax::hir::{Hir, Look};
use serde::Deserialize;
use toml::Spanned;

use crate::checksum::Checksum;
use crate::finding::Confidence;
use crate::limits::{LITERAL_LEN_MIN, REGEX_LEN_MAX, RULE_FILE_LEN_MAX};

/// What is wrong with a rule file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RuleError {
    /// The file's name as the caller gave it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it and what to do.
    pub message: String,
}

/// Where a rule was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rule file.
    pub file: String,
    /// The line of the rule's id, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A valid rule. The fields mean what the keys of the format mean.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Unique name, in lower case with hyphens.
    pub id: String,
    /// One phrase for people.
    pub description: String,
    /// Who issues the secret.
    pub provider: String,
    /// The regex as written.
    pub regex: String,
    /// The capture group that holds the secret; 0 for the whole match.
    pub secret_group: usize,
    /// Literals that stand in for derived anchors; empty for derived ones.
    pub anchors: Vec<String>,
    /// Words of which one must occur near the match; empty for none.
    pub keywords: Vec<String>,
    /// Least entropy of the secret in bits a byte.
    pub entropy: f64,
    /// Confidence of a finding that nothing proves.
    pub confidence: Confidence,
    /// The provider's checksum, if it has one.
    pub checksum: Option<Checksum>,
    /// Regexes over the secret that drop a finding.
    pub allow: Vec<String>,
    /// Templates that the rule must find.
    pub examples: Vec<String>,
    /// Templates that the rule must not find.
    pub counter_examples: Vec<String>,
    /// The provider's documentation.
    pub references: Vec<String>,
    /// Where the rule was read.
    pub place: Place,
    pub(crate) hir: Hir,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    provider: String,
    #[serde(default)]
    rules: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: Spanned<String>,
    description: String,
    regex: Spanned<String>,
    secret_group: Option<Spanned<usize>>,
    #[serde(default)]
    anchors: Vec<Spanned<String>>,
    #[serde(default)]
    keywords: Vec<Spanned<String>>,
    entropy: Option<Spanned<f64>>,
    confidence: Spanned<Confidence>,
    checksum: Option<Checksum>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
    #[serde(default)]
    references: Vec<String>,
}

/// Reads a rule file and proves that each of its regexes compiles.
///
/// `file` is only used in messages.
///
/// # Errors
///
/// The first thing that is wrong with the file.
pub fn parse_rules(file: &str, text: &str) -> Result<Vec<Rule>, RuleError> {
    let rules = parse_unproven(file, text)?;
    for rule in &rules {
        compile(&rule.hir)
            .map_err(|error| rule.error(format!("the regex does not compile: {error}")))?;
        for pattern in &rule.allow {
            compile_allow(std::slice::from_ref(pattern))
                .map_err(|error| rule.error(format!("in `allow`, {pattern}: {error}")))?;
        }
        compile_allow(&rule.allow).map_err(|error| rule.error(format!("`allow`: {error}")))?;
    }
    Ok(rules)
}

/// As [`parse_rules`], but without compiling: what the embedded rules need, which tests have proven.
pub(crate) fn parse_unproven(file: &str, text: &str) -> Result<Vec<Rule>, RuleError> {
    let source = Source { file, text };
    if text.len() > RULE_FILE_LEN_MAX {
        return Err(source.error(0, format!("a rule file is at most {RULE_FILE_LEN_MAX} bytes")));
    }
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        source.error(error.span().map_or(0, |span| span.start), error.message().to_owned())
    })?;
    raw.rules.into_iter().map(|rule| source.rule(&raw.provider, rule.into_inner())).collect()
}

/// Compiles a rule's regex so that one DFA serves all workers wherever it stays small.
pub(crate) fn compile(hir: &Hir) -> Result<meta::Regex, String> {
    meta::Regex::builder().configure(meta_config()).build_from_hir(hir).map_err(describe)
}

/// Compiles regexes over a secret into one; `None` where there are none.
pub(crate) fn compile_allow(patterns: &[String]) -> Result<Option<meta::Regex>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    meta::Regex::builder()
        .configure(meta_config())
        .syntax(syntax_config())
        .build_many(patterns)
        .map(Some)
        .map_err(describe)
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn describe(error: meta::BuildError) -> String {
    error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string)
}

fn meta_config() -> meta::Config {
    meta::Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(REGEX_LEN_MAX))
        .hybrid_cache_capacity(256 * 1024)
        .dfa_state_limit(Some(1024))
        .dfa_size_limit(Some(128 * 1024))
}

fn syntax_config() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false).multi_line(true)
}

/// A file being read: turns offsets into lines.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn line(self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    fn error(self, offset: usize, message: impl Into<String>) -> RuleError {
        RuleError { file: self.file.to_owned(), line: self.line(offset), message: message.into() }
    }

    fn at<T>(self, span: Range<usize>, message: impl Into<String>) -> Result<T, RuleError> {
        Err(self.error(span.start, message))
    }

    fn rule(self, provider: &str, raw: RawRule) -> Result<Rule, RuleError> {
        self.check_id(&raw.id)?;
        let hir = self.parse_regex(&raw.regex)?;
        let secret_group = self.secret_group(raw.secret_group.as_ref(), &hir)?;
        if *raw.confidence.get_ref() == Confidence::Certain {
            let message = "`certain` is for what a checksum proves: write `high`";
            return self.at(raw.confidence.span(), message);
        }
        if let Some(entropy) = &raw.entropy
            && !(0.0..=8.0).contains(entropy.get_ref())
        {
            return self.at(entropy.span(), "entropy is between 0 and 8 bits a byte");
        }
        if let Some(anchor) = raw.anchors.iter().find(|a| a.get_ref().len() < LITERAL_LEN_MIN) {
            let message = format!("an anchor has at least {LITERAL_LEN_MIN} bytes");
            return self.at(anchor.span(), message);
        }
        if let Some(empty) = raw.keywords.iter().find(|k| k.get_ref().is_empty()) {
            return self.at(empty.span(), "a keyword is not empty");
        }
        Ok(Rule {
            place: Place { file: self.file.to_owned(), line: self.line(raw.id.span().start) },
            id: raw.id.into_inner(),
            description: raw.description,
            provider: provider.to_owned(),
            regex: raw.regex.into_inner(),
            secret_group,
            anchors: raw.anchors.into_iter().map(Spanned::into_inner).collect(),
            keywords: raw.keywords.into_iter().map(Spanned::into_inner).collect(),
            entropy: raw.entropy.map_or(0.0, Spanned::into_inner),
            confidence: raw.confidence.into_inner(),
            checksum: raw.checksum,
            allow: raw.allow,
            examples: raw.examples,
            counter_examples: raw.counter_examples,
            references: raw.references,
            hir,
        })
    }

    fn check_id(self, id: &Spanned<String>) -> Result<(), RuleError> {
        let text = id.get_ref();
        let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(valid) {
            return self.at(id.span(), "an id is 1 to 64 lower-case letters, digits and hyphens");
        }
        Ok(())
    }

    fn parse_regex(self, regex: &Spanned<String>) -> Result<Hir, RuleError> {
        let hir = syntax::parse_with(regex.get_ref(), &syntax_config())
            .or_else(|error| self.at(regex.span(), format!("not a valid regex: {error}")))?;
        let properties = hir.properties();
        if properties.minimum_len().unwrap_or(0) == 0 {
            return self.at(regex.span(), "the regex can match nothing at all");
        }
        let looks = properties.look_set();
        if looks.contains(Look::Start) || looks.contains(Look::End) {
            let message = "`\\A` and `\\z` are not supported: inputs are scanned in pieces";
            return self.at(regex.span(), message);
        }
        Ok(hir)
    }

    fn secret_group(self, given: Option<&Spanned<usize>>, hir: &Hir) -> Result<usize, RuleError> {
        let groups = hir.properties().explicit_captures_len();
        match given {
            None => Ok(groups.min(1)),
            Some(group) if *group.get_ref() <= groups => Ok(*group.get_ref()),
            Some(group) => self.at(group.span(), format!("the regex has {groups} capture groups")),
        }
    }
}

impl Rule {
    pub(crate) fn error(&self, message: impl Into<String>) -> RuleError {
        let Place { file, line } = self.place.clone();
        RuleError { file, line, message: format!("rule {}: {}", self.id, message.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rule: &str) -> String {
        format!("provider = \"Test\"\n\n[[rules]]\nid = \"a-b\"\ndescription = \"d\"\n{rule}\n")
    }

    fn message(rule: &str) -> String {
        parse_rules("x.toml", &file(rule)).unwrap_err().to_string()
    }

    #[test]
    fn a_minimal_rule_gets_the_defaults() {
        let rules = parse_rules("x.toml", &file("regex = 'abc(d)'\nconfidence = \"low\"")).unwrap();
        assert_eq!(rules[0].id, "a-b");
        assert_eq!(rules[0].provider, "Test");
        assert_eq!(rules[0].secret_group, 1);
        assert_eq!(rules[0].place, Place { file: "x.toml".to_owned(), line: 4 });
    }

    #[test]
    fn every_error_names_file_line_and_cause() {
        for (rule, line, cause) in [
            ("regex = 'a('\nconfidence = \"low\"", 6, "not a valid regex"),
            ("regex = 'a*'\nconfidence = \"low\"", 6, "match nothing"),
            ("regex = '\\Aabc'\nconfidence = \"low\"", 6, "\\A"),
            ("regex = 'abc'\nconfidence = \"sure\"", 7, "sure"),
            ("regex = 'abc'\nconfidence = \"certain\"", 7, "checksum"),
            ("regex = 'abc'\nconfidence = \"low\"\nsecret_group = 1", 8, "0 capture groups"),
            ("regex = 'abc'\nconfidence = \"low\"\nentropy = 9.0", 8, "between 0 and 8"),
            ("regex = 'abc'\nconfidence = \"low\"\nanchors = [\"ab\"]", 8, "at least 3"),
            ("regex = 'abc'\nconfidence = \"low\"\nallow = [\"(\"]", 4, "in `allow`, (: "),
            ("regex = 'abc'\nconfidence = \"low\"\nkeyword = []", 8, "unknown field `keyword`"),
            ("regex = 'abc'\nconfidence = \"low\"\nchecksum = \"md5\"", 8, "md5"),
            ("regex = 'a{1000}{1000}{1000}'\nconfidence = \"low\"", 4, "does not compile"),
            ("regex = 'abc'\nconfidence = \"low", 7, ""),
        ] {
            let message = message(rule);
            assert!(message.starts_with(&format!("x.toml:{line}: ")), "{message}");
            assert!(message.contains(cause), "{message}");
        }
    }

    #[test]
    fn classes_are_ascii_and_lines_are_anchors() {
        let rules = parse_rules("x", &file("regex = '^abc\\w$'\nconfidence = \"low\"")).unwrap();
        let regex = compile(&rules[0].hir).unwrap();
        assert!(regex.is_match("x\nabcd\ny"));
        assert!(!regex.is_match("abcä"));
    }
}
