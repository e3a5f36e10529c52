//! What the built-in servers must show, so that a run without a URL can say whether to trust the tool
//! on this machine.

use crate::card::{BuiltIn, Card, CheckId, Verdict};

/// Where `card` differs from what its server must show, one sentence each.
///
/// The server of 1996 stalls: its small answers wait for our acknowledgement. The fixed one fails
/// nothing. What was not asked (`--only`) is not expected.
pub(super) fn unexpected_findings(card: &Card) -> Vec<String> {
    let verdicts = card.findings.iter().map(|finding| (finding.id, finding.verdict));
    match card.server {
        Some(BuiltIn::Paper1996) => verdicts
            .filter(|(id, verdict)| *id == STALL && *verdict != Verdict::Fail)
            .map(|(id, _)| format!("the 1996 server does not fail {id} (expected a failure)"))
            .collect(),
        Some(BuiltIn::Fixed) => verdicts
            .filter(|(_, verdict)| *verdict == Verdict::Fail)
            .map(|(id, _)| format!("the fixed server fails {id} (expected no failure)"))
            .collect(),
        None => vec![],
    }
}

const STALL: CheckId = CheckId::NagleDelayedAck;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Finding, Protocol, Role, StackName, Values};

    #[test]
    fn the_server_of_1996_must_stall_and_the_fixed_one_must_not() {
        use CheckId::{CorkTimer, NagleDelayedAck, SplitHead};
        use Verdict::{Fail, Pass, Unknown, Warn};
        let (old, new) = (BuiltIn::Paper1996, BuiltIn::Fixed);
        for (server, findings, expected) in [
            (old, &[(SplitHead, Warn), (NagleDelayedAck, Fail)][..], None),
            (
                old,
                &[(NagleDelayedAck, Pass)],
                Some("the 1996 server does not fail nagle-delayed-ack (expected a failure)"),
            ),
            (
                old,
                &[(NagleDelayedAck, Unknown)],
                Some("the 1996 server does not fail nagle-delayed-ack (expected a failure)"),
            ),
            (old, &[(SplitHead, Warn)], None),
            (new, &[(SplitHead, Warn), (NagleDelayedAck, Pass), (CorkTimer, Unknown)], None),
            (
                new,
                &[(CorkTimer, Fail)],
                Some("the fixed server fails cork-timer (expected no failure)"),
            ),
        ] {
            let unexpected = unexpected_findings(&card(server, findings));
            assert_eq!(
                unexpected.first().map(String::as_str),
                expected,
                "{server:?}: {findings:?}"
            );
        }
    }

    fn card(server: BuiltIn, findings: &[(CheckId, Verdict)]) -> Card {
        let finding = |&(id, verdict): &(CheckId, Verdict)| Finding {
            id,
            verdict,
            cost_ms: None,
            summary: String::new(),
            values: Values::unknown(id),
            evidence: vec![],
            remedy: None,
            reason: None,
        };
        Card {
            status: None,
            grpc_status: None,
            server_congestion: None,
            target: String::new(),
            protocol: Protocol::Http1,
            role: Role::Server,
            server: Some(server),
            stack: StackName::Kernel,
            notes: vec![],
            emulated: None,
            findings: findings.iter().map(finding).collect(),
        }
    }
}
