//! `lapwing rules`: for people who write rules, or want to know what one does.
//!
//! Everything is said of the compiled engine, so that it is what a scan would do.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use anyhow::{Context, Result, bail};
use engine::{Decision, Engine, FingerprintKey, Rule, Scratch, expand};

use crate::cli::{Rules, RulesAction};
use crate::escape::for_people;
use crate::exit::Exit;
use crate::report::explanation;
use crate::rules;

/// Text around an example, so that it does not stand alone.
const AROUND: &str = "\nthe quick brown fox jumps over a lazy dog\n";

/// Longest text that `rules test` reads.
const TEXT_LEN_MAX: u64 = 64 * 1024 * 1024;

/// Does what the options say.
///
/// # Errors
///
/// If the rules are wrong, one is not known, or standard output is gone.
pub fn run(options: &Rules) -> Result<Exit> {
    // Fingerprints are never shown here.
    let key = FingerprintKey::new(&[0; 32]);
    let engine = rules::engine(options.rules.as_deref(), key)?;
    match &options.action {
        RulesAction::List => list(&engine),
        RulesAction::Show { id } => show(&engine, id),
        RulesAction::Check => check(&engine),
        RulesAction::Test { id } => test(&engine, id.as_deref(), io::stdin().lock()),
    }
}

fn print(text: &str) -> Result<()> {
    io::stdout().lock().write_all(text.as_bytes()).context("writing to standard output")
}

fn list(engine: &Engine) -> Result<Exit> {
    let width = engine.rules().map(|rule| rule.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for rule in engine.rules() {
        let Rule { id, confidence, description, provider, .. } = rule;
        writeln!(text, "{id:width$}  {confidence:7}  {provider}: {description}")?;
    }
    print(&text)?;
    Ok(Exit::Clean)
}

fn show(engine: &Engine, id: &str) -> Result<Exit> {
    let Some(index) = engine.find_rule(id) else {
        let close = engine.rules().map(|rule| &*rule.id).filter(|other| {
            other.contains(id) || id.split('-').next().is_some_and(|word| other.starts_with(word))
        });
        let close: Vec<&str> = close.take(10).collect();
        if close.is_empty() {
            bail!("there is no rule {id}; `lapwing rules list` shows all");
        }
        bail!("there is no rule {id}; is it one of {}?", close.join(", "));
    };
    let rule = engine.rule(index);
    let mut text =
        format!("{} ({}), {}\n{}\n\n", rule.id, rule.provider, rule.place, rule.description);
    writeln!(text, "confidence    {}", rule.confidence)?;
    writeln!(text, "regex         {}", rule.regex)?;
    writeln!(text, "secret group  {}", rule.secret_group)?;
    for anchor in engine.anchors(index) {
        let case = if anchor.caseless { ", any case" } else { "" };
        let (min, max) = anchor.lead;
        let lead = if min == max { format!("{min}") } else { format!("{min} to {max}") };
        let shown = for_people(&anchor.bytes);
        writeln!(text, "found by      {shown} ({lead} bytes into the match{case})")?;
    }
    if !rule.keywords.is_empty() {
        writeln!(text, "keywords      {}", rule.keywords.join(", "))?;
    }
    if rule.entropy > 0.0 {
        writeln!(text, "entropy       at least {} bits a byte", rule.entropy)?;
    }
    if let Some(checksum) = rule.checksum {
        writeln!(text, "checksum      {checksum:?}")?;
    }
    for (what, lines) in [
        ("allow", &rule.allow),
        ("example", &rule.examples),
        ("no example", &rule.counter_examples),
        ("see", &rule.references),
    ] {
        for line in lines {
            writeln!(text, "{what:12}  {}", for_people(line.as_bytes()))?;
        }
    }
    print(&text)?;
    Ok(Exit::Clean)
}

/// Counts of what was proven.
#[derive(Default)]
struct Proof {
    examples: usize,
    counter_examples: usize,
    faults: Vec<String>,
}

fn check(engine: &Engine) -> Result<Exit> {
    let mut scratch = engine.scratch()?;
    let mut proof = Proof::default();
    for rule in engine.rules() {
        let fault = |what: &str| format!("{}: rule {}: {what}", rule.place, rule.id);
        if rule.examples.len() < 2 || rule.counter_examples.len() < 2 {
            proof.faults.push(fault("it needs two examples and two counter-examples"));
        }
        for (number, template) in (1..).zip(&rule.examples) {
            proof.examples += 1;
            if let Err(why) = prove(engine, &mut scratch, rule, (number, template), true) {
                proof.faults.push(fault(&format!("example {number}: {why}")));
            }
        }
        for (number, template) in (1..).zip(&rule.counter_examples) {
            proof.counter_examples += 1;
            if let Err(why) = prove(engine, &mut scratch, rule, (number, template), false) {
                proof.faults.push(fault(&format!("counter-example {number}: {why}")));
            }
        }
    }
    let mut providers: Vec<&str> = engine.rules().map(|rule| &*rule.provider).collect();
    providers.sort_unstable();
    providers.dedup();
    if proof.faults.is_empty() {
        print(&format!(
            "{} rules of {} providers: all of {} examples are found, none of {} counter-examples\n",
            engine.rules().len(),
            providers.len(),
            proof.examples,
            proof.counter_examples
        ))?;
        return Ok(Exit::Clean);
    }
    bail!("{}\n{} faults", proof.faults.join("\n"), proof.faults.len());
}

/// Whether the rule finds a template, or rightly does not; alone and in the middle of a text.
fn prove(
    engine: &Engine,
    scratch: &mut Scratch,
    rule: &Rule,
    (seed, template): (u64, &str),
    wanted: bool,
) -> Result<(), String> {
    let bytes = expand(template, seed, rule.checksum).map_err(|error| error.to_string())?;
    let around = AROUND.as_bytes();
    for text in [&bytes[..], &[around, &bytes, around].concat()] {
        let mut decisions: Vec<String> = Vec::new();
        // An example counts as found if the rule recognises it, though another rule may say it better.
        let mut recognised = false;
        let mut observe = |decision: &Decision| {
            if engine.rule(decision.rule).id == rule.id {
                recognised |= decision.judgement.confidence.is_some();
                decisions.push(explanation(&rule.id, decision));
            }
        };
        let mut found = false;
        engine.scan(scratch).observed_by(&mut observe).chunk(text, true, &mut |finding, _| {
            found |= engine.rule(finding.rule).id == rule.id;
        });
        let found = if wanted { recognised } else { found };
        if found != wanted {
            let what = if found { "it is found" } else { "it is not found" };
            let why = if decisions.is_empty() {
                "the regex does not match".to_owned()
            } else {
                decisions.join("; ")
            };
            return Err(format!("{what}: {why}"));
        }
    }
    Ok(())
}

fn test(engine: &Engine, id: Option<&str>, text: impl Read) -> Result<Exit> {
    if let Some(id) = id {
        engine.find_rule(id).with_context(|| format!("there is no rule {id}"))?;
    }
    let mut bytes = Vec::new();
    text.take(TEXT_LEN_MAX + 1).read_to_end(&mut bytes).context("reading standard input")?;
    if bytes.len() as u64 > TEXT_LEN_MAX {
        bail!("the text is longer than {TEXT_LEN_MAX} bytes: use `lapwing scan --explain -`");
    }
    let mut lines = String::new();
    let mut observe = |decision: &Decision| {
        let rule = engine.rule(decision.rule);
        if id.is_none_or(|id| id == rule.id) {
            lines.push_str(&explanation(&rule.id, decision));
            lines.push('\n');
        }
    };
    let mut found = false;
    engine.scan(&mut engine.scratch()?).observed_by(&mut observe).chunk(
        &bytes,
        true,
        &mut |finding, _| found |= id.is_none_or(|id| id == engine.rule(finding.rule).id),
    );
    if lines.is_empty() {
        lines.push_str("no regex matches\n");
    }
    print(&lines)?;
    Ok(if found { Exit::Findings } else { Exit::Clean })
}
