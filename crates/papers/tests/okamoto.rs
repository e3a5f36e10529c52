//! What the reproduction of Okamoto et al. 2001 says, and that it covers what the paper's text says.

use std::{fs, sync::LazyLock};

use ackwise_lab::experiment::Experiment;
use ackwise_papers::{
    Effort,
    claim::{Claim, Holds},
    figures,
    okamoto::reproduce,
    paper::{Paper, PaperResults},
    report::section,
    table::ComparisonTable,
};
use ackwise_report::Block;

static QUICK: LazyLock<PaperResults> = LazyLock::new(|| {
    reproduce(Effort::Quick, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
});

fn claim(id: &str) -> &'static Claim {
    let found = QUICK.claims.iter().find(|claim| claim.id == format!("okamoto.{id}"));
    found.unwrap_or_else(|| panic!("there is no claim {id}"))
}

fn table(id: &str) -> &'static ComparisonTable {
    let id = format!("okamoto2001_{id}");
    QUICK.tables.iter().find(|table| table.id == id).unwrap_or_else(|| panic!("no table {id}"))
}

fn value(id: &str, case: &[&str], measure: &str) -> f64 {
    let has = |row: &&ackwise_papers::table::Row| {
        let shown: Vec<String> = row.case.0.iter().map(|(_, value)| value.to_string()).collect();
        row.measure == measure && case.iter().all(|it| shown.iter().any(|shown| shown == it))
    };
    let found = table(id).rows.iter().find(has).and_then(|row| row.ours);
    found.unwrap_or_else(|| panic!("{id} has no {measure} of {case:?}"))
}

#[test]
fn every_claim_of_the_parameters_file_is_decided() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = format!("{root}/crates/papers/experiments/published/okamoto2001_parameters.toml");
    let text = fs::read_to_string(path).unwrap();
    // In the file's order; a claim that is added there has to be decided here.
    let decided = [
        "scheme-1-falls",
        "scheme-2-better",
        "scheme-2-falls",
        "scheme-3-significantly-better",
        "scheme-4-better-for-few",
        "scheme-4-little-for-many",
        "no-help-at-50",
        "response-time-much-improved",
        "little-between-3-and-4",
        "scheme-4-best",
    ];
    assert_eq!(text.matches(".claim]]").count(), decided.len());
    for id in decided {
        let claim = claim(id);
        assert!(!claim.numbers.is_empty() && !claim.remark.is_empty(), "{claim:?}");
    }
}

#[test]
fn the_file_has_what_the_paper_prints() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text =
        fs::read_to_string(format!("{root}/crates/papers/experiments/okamoto.toml")).unwrap();
    let experiment = Experiment::parse("okamoto.toml", &text).unwrap();
    assert_eq!((experiment.cases().len(), experiment.seeds().len()), (24, 10));
    for case in experiment.cases() {
        let links = &case.scenario.links;
        for side in ["below", "above"] {
            let losses: Vec<_> = links
                .iter()
                .filter(|link| link.name.starts_with(side))
                .map(|link| format!("{:?}", link.directions[0].faults.loss))
                .collect();
            let mut kinds = losses.clone();
            kinds.sort_unstable();
            kinds.dedup();
            assert_eq!(kinds.len(), 5);
            for kind in kinds {
                let fifth = losses.iter().filter(|loss| **loss == kind).count();
                assert_eq!(fifth * 5, losses.len(), "{side}: {kind}");
            }
        }
    }
}

/// The tables that a quick run has with all their seeds.
#[test]
fn the_findings_have_the_deadlock_and_the_two_clients_as_they_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");
    let findings = fs::read_to_string(path).unwrap();
    for id in ["deadlock", "two_clients"] {
        let tables = vec![table(id).clone()];
        let section = section(&PaperResults { paper: Paper::Okamoto, tables, claims: Vec::new() });
        let (_title, table) = section.split_once("\n### ").unwrap();
        assert!(findings.contains(table), "{table}");
    }
}

#[test]
fn closing_idle_connections_is_what_helps_many_clients() {
    for (id, holds) in [
        ("scheme-3-significantly-better", true),
        ("most-connections-idle", true),
        ("soon-established-at-50", true),
        ("equal-buffers", true),
    ] {
        assert_eq!(
            claim(id).holds(),
            if holds { Holds::Yes } else { Holds::No },
            "{:?}",
            claim(id)
        );
    }
}

#[test]
fn misses_that_hold_all_places_wait_for_ever_and_one_reserved_place_is_a_cure() {
    let waiting = |cure, scheme| value("deadlock", &[cure, scheme], "misses_waiting");
    let documents = |cure, scheme| value("deadlock", &[cure, scheme], "documents");
    for scheme in ["1", "2", "3", "4"] {
        assert_eq!((waiting("none", scheme), documents("none", scheme)), (200.0, 0.0), "{scheme}");
        for cure in ["1 place for servers", "50 places for servers"] {
            assert!(documents(cure, scheme) > 10.0, "{cure}: {scheme}");
        }
        assert_eq!(waiting("only clients count", scheme), 0.0);
        assert_eq!(waiting("misses rejected", scheme), 0.0);
    }
    // A hit leaves an idle connection, which schemes 3 and 4 close.
    assert_eq!(waiting("none, half hit", "1"), 200.0);
    assert!(documents("none, half hit", "4") > 1_000.0);
}

#[test]
fn halving_gives_nothing_where_idle_buffers_take_no_memory() {
    for clients in ["50", "100", "200", "500"] {
        let ratio = value("linux", &["free (Linux)", clients], "bytes_4_3");
        assert!((ratio - 1.0).abs() < 0.05, "{clients}: {ratio}");
    }
}

#[test]
fn the_figures_have_a_line_for_each_scheme() {
    let figures = figures(&QUICK).expect("nothing is run for them");
    let plots = figures.iter().flat_map(|figure| &figure.blocks).filter_map(|block| match block {
        Block::Plot(plot) => Some(plot),
        _ => None,
    });
    let plots: Vec<_> = plots.collect();
    assert_eq!(plots.len(), 1 + 4);
    for plot in plots {
        assert_eq!(plot.lines.len(), 6, "{}", plot.title);
        assert!(plot.lines.iter().all(|line| line.points.len() >= 4), "{}", plot.title);
    }
}
