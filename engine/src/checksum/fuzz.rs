//! Random and spoilt bytes for every algorithm: none panics, none takes noise for a token, and a verdict
//! does not depend on what was judged before. Seeds are fixed.

use super::{Checksum, Verdict};

pub(super) const ALL: [Checksum; 25] = [
    Checksum::Crc32Base62,
    Checksum::Sha256Base32,
    Checksum::GrafanaServiceAccount,
    Checksum::Atlassian,
    Checksum::GitlabRoutable,
    Checksum::Confluent,
    Checksum::Cloudflare,
    Checksum::Zuplo,
    Checksum::AzureEntraSecret,
    Checksum::AzureIdentifiableKey,
    Checksum::AzureAnnotatedKey,
    Checksum::AzureSasSignature,
    Checksum::Bech32,
    Checksum::Base58check,
    Checksum::PypiMacaroon,
    Checksum::SentryOrganisation,
    Checksum::GrafanaCloud,
    Checksum::GrafanaApiKey,
    Checksum::Jwt,
    Checksum::GithubJwt,
    Checksum::DiscordBot,
    Checksum::JfrogReference,
    Checksum::JfrogApiKey,
    Checksum::Sendgrid,
    Checksum::AwsKeyId,
];

/// xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let value = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(value).unwrap() % limit
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

/// Beginnings that get past the first tests, with room for what follows.
fn seeds() -> Vec<Vec<u8>> {
    let a = |count: usize| "a".repeat(count);
    let json =
        super::base64::encode(br#"{"alg":"x","k":[1,{"n":null}],"id":-1.5}"#, super::base64::URL);
    let json = String::from_utf8(json).unwrap();
    let macaroon = b"\x02\x01\x08pypi.org\x02\x02ii\x00\x02\x02cc\x00\x00\x06\x20ssssssssssssssss";
    let macaroon = super::base64::encode(macaroon, super::base64::URL);
    [
        format!("npm_{}", a(36)),
        format!("github_pat_{}_{}", a(22), a(59)),
        format!("glsa_{}_{}", a(32), a(8)),
        format!("ATATT3{}=01234567", a(186)),
        format!("gl{}pat-{}.01.0u{}", "", a(30), a(7)),
        format!("cflt{}", a(60)),
        format!("cfut_{}", a(48)),
        format!("zpka_{}_{}", a(20), a(8)),
        format!("abc8{}Q~{}", "", a(34)),
        format!("{}+ASt{}A==", a(76), a(5)),
        format!("{}JQQJ{}99BA{}", a(52), "", a(24)),
        format!("{}A%3D", a(42)),
        format!("nsec{}1{}", "", "q".repeat(58)),
        "5".repeat(51),
        "x".repeat(111),
        format!("pypi-{}", String::from_utf8(macaroon).unwrap()),
        format!("sntrys_{json}_{}", a(43)),
        format!("glc_{json}"),
        json.clone(),
        format!("{json}.{json}.{}", a(43)),
        format!("ghs_12_{json}.{json}.{}", a(43)),
        format!("Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3.{}.{}", a(6), a(27)),
        format!("cmVmdGtu{}", a(56)),
        format!("AKCp{}", a(69)),
        format!("SG.{}A.{}A", a(21), a(42)),
        format!("AKIA{}", "A".repeat(16)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    const LIKELY: &[u8] = b"_-.=~%+/:{}\"\\019azAZ\x00\xff";
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, LIKELY[random.below(LIKELY.len())]),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if at < bytes.len() => bytes[at] = random.byte(),
            _ if at < bytes.len() => bytes[at] = LIKELY[random.below(LIKELY.len())],
            _ => {
                let copy = bytes.clone();
                bytes.extend_from_slice(&copy[..copy.len().min(5_000)]);
            }
        }
    }
}

#[test]
fn noise_is_never_valid_and_never_panics() {
    let mut random = Random::new(7);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.byte()).collect();
        for checksum in ALL {
            let verdict = checksum.verify(&bytes);
            assert_eq!(verdict, Verdict::NotApplicable, "{checksum:?}: {bytes:?}");
        }
    }
}

#[test]
fn spoilt_tokens_never_panic_and_are_judged_alike_twice() {
    let mut random = Random::new(11);
    let seeds = seeds();
    let mut judged = [false; ALL.len()];
    for round in 0..60_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        mutate(&mut random, &mut bytes);
        for (checksum, judged) in ALL.into_iter().zip(&mut judged) {
            let verdict = checksum.verify(&bytes);
            assert_eq!(checksum.verify(&bytes), verdict);
            *judged |= verdict != Verdict::NotApplicable;
        }
    }
    let never: Vec<_> = ALL.iter().zip(judged).filter(|(_, judged)| !judged).collect();
    // A wrong annotated key is not applicable, and no mutation makes a right one.
    assert!(matches!(never[..], [(Checksum::AzureAnnotatedKey, false)]), "{never:?}");
}

#[test]
fn whatever_is_completed_does_not_panic() {
    let mut random = Random::new(13);
    let seeds = seeds();
    for round in 0..20_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        mutate(&mut random, &mut bytes);
        let len = bytes.len();
        for checksum in ALL {
            bytes.truncate(len);
            let _ = checksum.complete(&mut bytes);
            assert!(bytes.len() <= len + 16, "{checksum:?}");
        }
    }
}

#[test]
fn long_input_is_bounded() {
    // The longest match that a rule can have, for each algorithm, with what costs most.
    for byte in *b"a1Q{[\"" {
        let bytes = vec![byte; crate::limits::MATCH_LEN_MAX];
        let nested =
            [b"glc_", &super::base64::encode(&bytes, super::base64::STANDARD)[..]].concat();
        for checksum in ALL {
            assert_ne!(checksum.verify(&bytes), Verdict::Valid);
            assert_ne!(checksum.verify(&nested), Verdict::Valid);
        }
    }
}
