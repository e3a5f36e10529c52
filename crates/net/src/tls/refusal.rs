//! Why a session cannot go on, in words.

use rustls::{CertificateError, Error, OtherError};

/// Why the session cannot go on, and what the user can do about it.
#[must_use]
pub(super) fn refusal(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(reason) => format!(
            "cannot verify the server's certificate: {} (--ca-file FILE trusts the certificates in \
             FILE, --insecure accepts any)",
            in_words(reason)
        ),
        _ => error.to_string(),
    }
}

/// Where `rustls` has a variant's name only, what it means.
fn in_words(reason: &CertificateError) -> String {
    match reason {
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            format!("it is for {names}, not for {}", expected.to_str())
        }
        CertificateError::UnknownIssuer => "its issuer is not trusted".to_owned(),
        CertificateError::BadEncoding => "it cannot be read".to_owned(),
        CertificateError::BadSignature => "its signature is wrong".to_owned(),
        CertificateError::Other(OtherError(error)) => match error.to_string().as_str() {
            "CaUsedAsEndEntity" => "it is a CA certificate, not a server certificate".to_owned(),
            other => other.to_owned(),
        },
        other => other.to_string(),
    }
}

/// `localhost` of `DnsName("localhost")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_name_is_told_without_syntax() {
        let expected = "other".try_into().unwrap();
        for (presented, names) in [
            (&["DnsName(\"localhost\")", "IpAddress(127.0.0.1)"][..], "localhost, 127.0.0.1"),
            (&[], "no name"),
        ] {
            let presented = presented.iter().map(ToString::to_string).collect();
            let expected = rustls::pki_types::ServerName::clone(&expected);
            let reason = CertificateError::NotValidForNameContext { expected, presented };
            assert_eq!(in_words(&reason), format!("it is for {names}, not for other"));
        }
    }
}
