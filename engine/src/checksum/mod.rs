//! Checksums and structures that providers build into their tokens, which prove a token without asking
//! anybody.
//!
//! A token of another length, shape or version than the algorithm knows is "not applicable", never
//! "invalid": providers add forms. Nothing here allocates when it verifies, nothing recurses deeper than
//! [`limits::JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX), and time is linear in the token but for
//! base 58, whose input has 111 characters at most.
//!
//! One file a family: CRC-32 in `crc`, SHA-256 in `fine_grained`, Marvin32 in `azure`, the check
//! characters of Bech32 and base58check in `bech32` and `base58`, what a token decodes to in `macaroon`,
//! `json_token` and `decoded`.

mod azure;
mod base58;
pub(crate) mod base64;
mod bech32;
mod crc;
mod decoded;
mod digits;
mod fine_grained;
#[cfg(test)]
mod fuzz;
mod json;
mod json_token;
mod macaroon;
mod marvin;

use serde::Deserialize;

pub(crate) use self::base58::encode_check as encode_base58check;

/// An algorithm, as named in rule files, in lower case with hyphens: `crc32-base62`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Checksum {
    /// GitHub and npm: the last six characters are the CRC-32 (IEEE) of the 30 or 70 characters between
    /// the prefix's underscore and them, in base 62, padded with zeros.
    Crc32Base62,
    /// GitHub, fine-grained: eight characters after the first 77 are the start of the SHA-256 of those
    /// 77 in base 32; eight free characters follow.
    Sha256Base32,
    /// Grafana `glsa_`: the last eight characters are the CRC-32 of the 37 before the underscore, its
    /// lowest byte first, in hexadecimal.
    GrafanaServiceAccount,
    /// Atlassian and Bitbucket: the last eight characters are the CRC-32 of all before them, in upper-case
    /// hexadecimal.
    Atlassian,
    /// GitLab, routable: two characters give the payload's length and seven the CRC-32 of all before
    /// them, in base 36.
    GitlabRoutable,
    /// Confluent `cflt`: the last six characters are the CRC-32 of the 54 before them, its lowest byte
    /// first, in base 64.
    Confluent,
    /// Cloudflare `cfk_`, `cfut_`, `cfat_`: the last eight characters are the CRC-32 of the 40 before
    /// them, in lower-case hexadecimal.
    Cloudflare,
    /// Zuplo `zpka_`: the last eight characters are the CRC-32 of what stands between the underscores, in
    /// lower-case hexadecimal.
    Zuplo,
    /// Microsoft Entra `8Q~`: the last three characters are the start of the Marvin32 of the 37 before
    /// them. One token in 290,000 has that by chance.
    AzureEntraSecret,
    /// Azure's identifiable keys: base 64 with a service's signature, whose last four bytes are the
    /// Marvin32 of those before them.
    AzureIdentifiableKey,
    /// Azure's annotated keys `JQQJ9`: what follows the first 80 characters is the start of the Marvin32
    /// of the 60 bytes that they encode, which one key in 15 million has by chance. Never invalid: no
    /// independent key has confirmed it.
    AzureAnnotatedKey,
    /// Azure `sig=`: the base 64 of 32 bytes, percent-encoded or not. Plausible at most.
    AzureSasSignature,
    /// Bech32 with 58 characters of data: `AGE-SECRET-KEY-1` of age, `nsec1` of Nostr.
    Bech32,
    /// Base58check: Bitcoin's wallet import format and BIP-32 extended private keys.
    Base58check,
    /// PyPI: a macaroon for one of its hosts, complete to the signature.
    PypiMacaroon,
    /// Sentry `sntrys_`: base 64 of a JSON object with `iat`, `url`, `region_url` and `org`.
    SentryOrganisation,
    /// Grafana Cloud `glc_`: base 64 of a JSON object with `o`, `n`, `k` and `m`.
    GrafanaCloud,
    /// Grafana's older API keys: base 64 of a JSON object with `n`, `k` and `id`.
    GrafanaApiKey,
    /// A JWT whose header is a JSON object with `alg` and whose payload is one. Plausible at most: people
    /// write such tokens for tests, and providers give out ones that are no secret.
    Jwt,
    /// GitHub `ghs_`, digits, an underscore and such a JWT.
    GithubJwt,
    /// Discord: the first of three parts is the base 64 of a decimal id.
    DiscordBot,
    /// JFrog: base 64 of `reftkn:`, two numbers and the token.
    JfrogReference,
    /// JFrog `AKCp`: base 58 of 54 bytes. Plausible at most: one in a hundred is that by chance.
    JfrogApiKey,
    /// SendGrid: 16 and 32 bytes in base 64. Plausible at most.
    Sendgrid,
    /// AWS key ids: an account's number of twelve digits is encoded. Plausible at most: most characters
    /// at random give one, and ids from before 2019 hold none.
    AwsKeyId,
}

/// What a checksum says of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The check characters are right or the structure is complete: by chance that happens once in 2^32
    /// tokens or less often, unless the algorithm says otherwise.
    Valid,
    /// The token has the known shape and its check characters or its structure are wrong.
    Invalid,
    /// The structure is right, but too many texts have it for that to be a proof.
    Plausible,
    /// The token has a shape that the algorithm does not know.
    NotApplicable,
}

impl Verdict {
    /// Of check characters: whether they hold, or `None` if there are none.
    fn of(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::Valid,
            Some(false) => Self::Invalid,
            None => Self::NotApplicable,
        }
    }
}

impl Checksum {
    /// Checks a whole token, prefix included.
    #[must_use]
    pub fn verify(self, token: &[u8]) -> Verdict {
        match self {
            Self::Crc32Base62 => Verdict::of(crc::verify_base62(token)),
            Self::Sha256Base32 => Verdict::of(fine_grained::verify(token)),
            Self::GrafanaServiceAccount => Verdict::of(crc::verify_grafana(token)),
            Self::Atlassian => Verdict::of(crc::verify_atlassian(token)),
            Self::GitlabRoutable => Verdict::of(crc::verify_gitlab(token)),
            Self::Confluent => Verdict::of(crc::verify_confluent(token)),
            Self::Cloudflare => Verdict::of(crc::verify_cloudflare(token)),
            Self::Zuplo => Verdict::of(crc::verify_zuplo(token)),
            Self::AzureEntraSecret => Verdict::of(azure::verify_entra(token)),
            Self::AzureIdentifiableKey => Verdict::of(azure::verify_identifiable(token)),
            Self::AzureAnnotatedKey => Verdict::of(azure::verify_annotated(token)),
            Self::AzureSasSignature => decoded::azure_sas(token),
            Self::Bech32 => Verdict::of(bech32::verify(token)),
            Self::Base58check => Verdict::of(base58::verify(token)),
            Self::PypiMacaroon => macaroon::verify_pypi(token),
            Self::SentryOrganisation => json_token::sentry(token),
            Self::GrafanaCloud => json_token::grafana_cloud(token),
            Self::GrafanaApiKey => json_token::grafana_api_key(token),
            Self::Jwt => json_token::jwt(token),
            Self::GithubJwt => json_token::github_jwt(token),
            Self::DiscordBot => Verdict::of(decoded::discord(token)),
            Self::JfrogReference => Verdict::of(decoded::jfrog_reference(token)),
            Self::JfrogApiKey => decoded::jfrog_api_key(token),
            Self::Sendgrid => decoded::sendgrid(token),
            Self::AwsKeyId => decoded::aws_key_id(token),
        }
    }

    /// Appends to a token that lacks it the part that the algorithm determines, for examples; `false` if
    /// the algorithm has no such part.
    pub(crate) fn complete(self, token: &mut Vec<u8>) -> bool {
        match self {
            Self::Crc32Base62 => crc::complete_base62(token),
            Self::Sha256Base32 => fine_grained::complete(token),
            Self::GrafanaServiceAccount => crc::complete_grafana(token),
            Self::Atlassian => crc::complete_atlassian(token),
            Self::GitlabRoutable => crc::complete_gitlab(token),
            Self::Confluent => crc::complete_confluent(token),
            Self::Cloudflare | Self::Zuplo => crc::complete_hex(token),
            Self::AzureEntraSecret => azure::complete_entra(token),
            Self::AzureIdentifiableKey => azure::complete_identifiable(token),
            Self::AzureAnnotatedKey => azure::complete_annotated(token),
            Self::Bech32 => bech32::complete(token),
            Self::AzureSasSignature
            | Self::Base58check
            | Self::PypiMacaroon
            | Self::SentryOrganisation
            | Self::GrafanaCloud
            | Self::GrafanaApiKey
            | Self::Jwt
            | Self::GithubJwt
            | Self::DiscordBot
            | Self::JfrogReference
            | Self::JfrogApiKey
            | Self::Sendgrid
            | Self::AwsKeyId => return false,
        }
        true
    }
}

/// What the tests of all families do: complete tokens and spoil them.
#[cfg(test)]
mod support {
    use super::{Checksum, Verdict};

    /// The token that `start` becomes.
    pub(super) fn completed(checksum: Checksum, start: &str) -> Vec<u8> {
        let mut token = start.as_bytes().to_vec();
        assert!(checksum.complete(&mut token), "{checksum:?} adds no characters");
        token
    }

    /// Completes `start`, compares what is added with what another implementation computed, and proves that
    /// the token is valid and that one wrong character from `from` on makes it what `wrong` says. `swap`
    /// are two characters of the alphabet.
    pub(super) fn assert_checks(
        checksum: Checksum,
        start: &str,
        check: &str,
        from: usize,
        swap: [u8; 2],
    ) {
        let token = completed(checksum, start);
        assert_eq!(std::str::from_utf8(&token[start.len()..]).unwrap(), check, "{checksum:?}");
        assert_eq!(checksum.verify(&token), Verdict::Valid, "{checksum:?}");
        assert_wrong(checksum, &token, from, swap, Verdict::Invalid);
    }

    pub(super) fn assert_wrong(
        checksum: Checksum,
        token: &[u8],
        from: usize,
        swap: [u8; 2],
        verdict: Verdict,
    ) {
        for index in (from..token.len()).filter(|&index| !b".=_".contains(&token[index])) {
            let mut wrong = token.to_vec();
            wrong[index] = if wrong[index] == swap[0] { swap[1] } else { swap[0] };
            assert_eq!(checksum.verify(&wrong), verdict, "{checksum:?} wrong at {index}");
        }
    }

    pub(super) fn assert_not_applicable(checksum: Checksum, tokens: &[String]) {
        for token in tokens {
            let verdict = checksum.verify(token.as_bytes());
            assert_eq!(verdict, Verdict::NotApplicable, "{checksum:?}: {token}");
        }
    }
}
