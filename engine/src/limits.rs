//! Every bound of the engine, in one place and related to one another at compile time.
//!
//! A bound here protects memory or time against hostile input; none of them loses a finding silently.
//! Where a bound is met the engine either works in smaller steps ([`HITS_MAX`]) or the limit is part of
//! what a rule means ([`MATCH_LEN_MAX`]).

/// Longest match, in bytes, that a rule without an upper bound of its own is searched for.
///
/// An armoured 16,384-bit RSA key takes 12.5 KiB; PGP key blocks with a few subkeys stay below 16 KiB.
pub const MATCH_LEN_MAX: usize = 16 * 1024;

/// A rule's keywords must occur within this many bytes before or after its match.
pub const KEYWORD_RADIUS: usize = 256;

/// A comment that allows a secret stands on its line, within this many bytes before or after the match.
pub const LINE_RADIUS: usize = 1024;

/// Longest literal given to the literal database; longer anchors are cut to their first bytes.
///
/// Vectorscan tells literals apart by eight bytes and compares the rest of longer ones. Measured on source
/// text, 16 bytes made no difference; short literals are shared by more rules.
pub const LITERAL_LEN_MAX: usize = 8;

/// Where a match can begin at fewer places than this, each is tried by itself.
pub const ANCHORED_STARTS_MAX: usize = 32;

/// Shortest literal that may stand for a rule: shorter ones hit on every line of text.
pub const LITERAL_LEN_MIN: usize = 3;

/// Most literals that one rule may need; a regex that needs more has no useful anchor.
pub const LITERALS_PER_RULE_MAX: usize = 64;

/// Capacity of a worker's hit log. A log that is full halves the block being scanned.
pub const HITS_MAX: usize = 64 * 1024;

/// Blocks of at most this size go to Vectorscan in one call, whose length argument has 32 bits.
pub const BLOCK_LEN_MAX: usize = 16 * 1024 * 1024;

/// A block of this size can never fill the hit log, so halving always ends.
pub const BLOCK_LEN_MIN: usize = 1024;

/// Candidates held back until no later match can overlap them; when full, the oldest half is settled.
pub const CANDIDATES_MAX: usize = 1024;

/// Most rules that an engine takes.
pub const RULES_MAX: usize = 16 * 1024;

/// Largest rule file, in bytes.
pub const RULE_FILE_LEN_MAX: usize = 4 * 1024 * 1024;

/// Compiled size of one rule's regex, in bytes.
pub const REGEX_LEN_MAX: usize = 4 * 1024 * 1024;

/// Most bytes that a token is decoded to where its structure is checked; longer ones are not judged.
pub const STRUCTURE_LEN_MAX: usize = 4096;

/// Deepest nesting of the JSON in a token; deeper ones are not judged.
pub const JSON_DEPTH_MAX: usize = 16;

/// Secrets shorter than this show no character at all.
pub const REDACT_LEN_MIN: usize = 16;

/// Characters shown at either end of a redacted secret.
pub const REDACT_SHOWN: usize = 4;

const _: () = {
    // Literals are unique, so at most one of each length and case sensitivity ends at a byte.
    assert!((BLOCK_LEN_MIN + LITERAL_LEN_MAX) * 2 * LITERAL_LEN_MAX <= HITS_MAX);
    assert!(BLOCK_LEN_MAX + LITERAL_LEN_MAX <= u32::MAX as usize);
    assert!(LITERAL_LEN_MIN <= LITERAL_LEN_MAX);
    assert!(2 * REDACT_SHOWN < REDACT_LEN_MIN);
    assert!(CANDIDATES_MAX >= 2);
};
