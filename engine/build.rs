//! Embeds the files of `rules/` into the engine: writes a list of their names and texts.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rules").canonicalize()?;
    println!("cargo::rerun-if-changed={}", rules.display());
    let mut files = fs::read_dir(&rules)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut list = String::from("[");
    for path in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().unwrap_or_default().display();
        let (name, path) = (format!("rules/{name}"), path.display().to_string());
        writeln!(list, "({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("rules.rs"), list)
}
