//! The engine on bytes in memory, one core: what a scan costs where nothing, little or much is found.
//!
//! Beside it, on the same bytes in the same run: counting newlines (what merely looking at every byte
//! costs), and one regex of one rule by the regex engine that ripgrep uses (what a scanner would pay for
//! each rule that it runs over everything).
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::{Engine, FingerprintKey, embedded_rules, expand};

const LEN: usize = 8 << 20;

/// Inputs of one length: source-like text without, with few, and with many secrets and near misses.
fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let source = "    let value = self.table.get(&key).copied().unwrap_or_default();\n\
                  /* the parser keeps its tokens until the password dialog is closed */\n\
                  if (ctx->state != STATE_READY) { return -EINVAL; }\n";
    let secret = "export KEY=AKIA%{base32:16} TOKEN=glpat-%{base62:20}\n";
    let miss = "key_%{alnum:20} sk_live_%{base62:4} password = get_password() xoxb-1 ghp_\n";
    let mix = |every: usize, template: &str| {
        let mut text = Vec::with_capacity(LEN + 1024);
        let mut lines = 0;
        while text.len() < LEN {
            text.extend_from_slice(source.as_bytes());
            lines += 1;
            if lines % every == 0 {
                text.extend(expand(template, lines as u64, None).unwrap());
            }
        }
        text.truncate(LEN);
        text
    };
    vec![
        ("source", mix(usize::MAX, "")),
        ("sparse secrets", mix(200, secret)),
        ("dense near misses", mix(1, miss)),
    ]
}

fn scan(criterion: &mut Criterion) {
    let key = FingerprintKey::new(&[0; 32]);
    let engine = Engine::new(embedded_rules().unwrap(), key).unwrap();
    let mut scratch = engine.scratch().unwrap();
    let regex = regex_automata::meta::Regex::new(r"(?-u)\bghp_[0-9A-Za-z]{36}\b").unwrap();
    for (name, input) in inputs() {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(LEN as u64)).sample_size(20);
        group.bench_function("all rules", |bencher| {
            bencher.iter(|| {
                let mut count = 0;
                engine.scan(&mut scratch).chunk(&input, true, &mut |_, _| count += 1);
                count
            });
        });
        group.bench_function("one regex of ripgrep's engine", |bencher| {
            bencher.iter(|| regex.find_iter(black_box(&input)).count());
        });
        group.bench_function("counting newlines", |bencher| {
            bencher.iter(|| memchr::memchr_iter(b'\n', black_box(&input)).count());
        });
        group.finish();
    }
}

fn start(criterion: &mut Criterion) {
    criterion.bench_function("reading and compiling the rules", |bencher| {
        bencher.iter(|| {
            let key = FingerprintKey::new(&[0; 32]);
            Engine::new(embedded_rules().unwrap(), key).unwrap()
        });
    });
}

criterion_group!(benches, scan, start);
criterion_main!(benches);
