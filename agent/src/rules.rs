//! Which rules are used: the embedded ones, or those of a file or folder that a person names.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use engine::limits::RULE_FILE_LEN_MAX;
use engine::{Engine, FingerprintKey, Rule, embedded_rules, parse_rules};

/// Compiles the rules at `path`, or the embedded ones.
///
/// # Errors
///
/// With file, line and what is wrong.
pub fn engine(path: Option<&Path>, key: FingerprintKey) -> Result<Arc<Engine>> {
    let rules = match path {
        None => embedded_rules()?,
        Some(path) => load(path)?,
    };
    Ok(Arc::new(Engine::new(rules, key)?))
}

fn load(path: &Path) -> Result<Vec<Rule>> {
    let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
    if !metadata.is_dir() {
        return load_file(path);
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
        let path = entry.with_context(|| path.display().to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("{}: no rule file (*.toml) in it", path.display());
    }
    files.sort();
    let mut rules = Vec::new();
    for file in files {
        rules.extend(load_file(&file)?);
    }
    Ok(rules)
}

fn load_file(path: &Path) -> Result<Vec<Rule>> {
    let name = path.display().to_string();
    let file = fs::File::open(path).with_context(|| name.clone())?;
    let mut text = String::new();
    // One byte more than allowed, so that a file that is too long is refused rather than cut.
    let limit = RULE_FILE_LEN_MAX as u64 + 1;
    file.take(limit).read_to_string(&mut text).with_context(|| name.clone())?;
    Ok(parse_rules(&name, &text)?)
}
