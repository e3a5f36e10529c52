//! What the reproduction of the papers must reach, and that `docs/findings.md` says what it gives.

#[path = "../../ackwise/tests/schema/mod.rs"]
mod schema;

use std::{fs, sync::LazyLock};

use ackwise_lab::experiment::Experiment;
use ackwise_papers::{
    Effort,
    claim::{Claim, Holds},
    figure::Figure,
    figures,
    paper::{Paper, PaperResults},
    report::{Reproduction, html, json, section, text},
    reproduce,
    table::{ComparisonTable, Row},
};
use ackwise_report::Block;

static HEIDEMANN: LazyLock<Reproduction> = LazyLock::new(|| {
    let papers = [Paper::Heidemann];
    reproduce(&papers, Effort::Full, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
});

/// The whole of the thesis takes minutes.
static GURKAN: LazyLock<Reproduction> = LazyLock::new(|| {
    let quick = reproduce(&[Paper::Gurkan], Effort::Quick, &mut |_| {});
    quick.unwrap_or_else(|error| panic!("{error}"))
});

static FABER: LazyLock<Reproduction> = LazyLock::new(|| {
    let papers = [Paper::Faber];
    reproduce(&papers, Effort::Full, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
});

fn heidemann() -> &'static PaperResults {
    &HEIDEMANN.papers[0]
}

fn table(id: &str) -> &'static ComparisonTable {
    let found = heidemann().tables.iter().find(|table| table.id == id);
    found.unwrap_or_else(|| panic!("there is no table {id}"))
}

fn values(id: &str, measure: &str) -> Vec<f64> {
    let rows = table(id).rows.iter().filter(|row| row.measure == measure);
    rows.map(|row| row.ours.expect("each case has a value")).collect()
}

#[test]
fn table_1_comes_as_near_as_it_must() {
    assert_eq!(HEIDEMANN.outside_limits(), 0, "{}", text(&HEIDEMANN));
    let limited = table("heidemann1997_table_1").rows.iter().filter_map(Row::is_within).count();
    assert_eq!(limited, 4);
}

/// The utilizations and the serial rates do. By the thesis' own definition the other rates do not: a finding, with its
/// reason below the table.
#[test]
fn the_thesis_tables_come_as_near_as_they_must_or_are_a_finding() {
    let rows = GURKAN.papers[0].tables.iter().flat_map(|table| &table.rows);
    let limited: Vec<_> = rows.filter(|row| row.is_within().is_some()).collect();
    assert_eq!(limited.len(), 4 * 2 + 8, "rates, utilization, windows");
    for row in limited {
        let is_serial = row.case.0.iter().any(|(_, value)| value.to_string() == "serial");
        let must = row.measure == "link_utilization_points" || is_serial;
        assert!(!must || row.is_within() == Some(true), "{row:?}");
    }
}

#[test]
fn fabers_tables_come_as_near_as_they_must() {
    assert_eq!(FABER.outside_limits(), 0, "{}", text(&FABER));
    let rows = FABER.papers[0].tables.iter().flat_map(|table| &table.rows);
    assert_eq!(rows.filter_map(Row::is_within).count(), 6 + 3 + 2 + 2 * 3);
}

#[test]
fn fabers_server_fails_and_no_one_cost_of_an_rst_gives_both_tables() {
    let holds = |id: &str| {
        let claims = &FABER.papers[0].claims;
        claims.iter().find(|claim| claim.id == id).map(Claim::holds)
    };
    assert_eq!(holds("faber.unmodified-runs-out-of-memory"), Some(Holds::Yes));
    // The paper does not say whether the server is the bottleneck in both tables.
    assert_eq!(holds("faber.one-cost-for-both-tables"), Some(Holds::NotTestable));
}

#[test]
fn a_verdict_has_tests_and_no_verdict_has_a_reason() {
    for claim in heidemann().claims.iter().chain(&FABER.papers[0].claims) {
        match claim.holds() {
            Holds::NotTestable => assert!(claim.remark.len() > 30, "{claim:?}"),
            _ => assert!(!claim.tests.is_empty(), "{claim:?}"),
        }
    }
}

#[test]
fn what_rests_on_a_fitted_value_is_not_decided() {
    let papers = [heidemann(), &FABER.papers[0]];
    for id in [
        "heidemann.fourteen-times-slower",
        "heidemann.forty-percent-faster",
        "faber.gains",
        "faber.half-in-the-worst-case",
        "faber.60-connections-a-second",
    ] {
        let claim = papers.iter().flat_map(|it| &it.claims).find(|claim| claim.id == id).unwrap();
        assert_eq!(claim.holds(), Holds::NotTestable, "{claim:?}");
        assert!(claim.remark.starts_with("Rests on a fitted value: "), "{claim:?}");
        assert!(!claim.numbers.is_empty(), "{claim:?}");
    }
}

#[test]
fn an_old_result_of_atm_is_reproduced() {
    let rates = values("heidemann1997_large_mtu", "rate_kbps");
    let [described, controls @ ..] = rates.as_slice() else { panic!("{rates:?}") };
    assert!((8.0 * 61.0..8.0 * 62.0).contains(described), "{described}");
    assert!(controls[..4].iter().all(|control| *control > 50.0 * described), "{rates:?}");
}

#[test]
fn the_findings_say_first_how_near_the_thesis_own_rate_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");
    let findings = fs::read_to_string(path).unwrap();
    assert!(
        findings.contains("By the thesis' definition of the rate (rate_sum) the median errors")
    );
}

#[test]
fn every_printed_value_of_the_thesis_has_one_of_ours_beside_it() {
    for number in ["4_2", "4_4", "4_6", "4_8", "4_9", "4_10"] {
        let id = format!("gurkan1998_table_{number}");
        let table = GURKAN.papers[0].tables.iter().find(|table| table.id == id).unwrap();
        let published: Vec<_> = table.rows.iter().filter(|row| row.published.is_some()).collect();
        assert!(published.len() >= 48, "{id}: {}", published.len());
        assert!(published.iter().all(|row| row.ours.is_some()), "{id}");
    }
}

#[test]
fn the_findings_are_of_the_thesis_experiment_as_it_is() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text =
        fs::read_to_string(format!("{root}/crates/papers/experiments/gurkan_tables.toml")).unwrap();
    let experiment = Experiment::parse("gurkan_tables.toml", &text).unwrap();
    let findings = fs::read_to_string(format!("{root}/docs/findings.md")).unwrap();
    let hash = format!("gurkan_tables.toml, experiment {}.", experiment.hash());
    assert!(findings.contains(&hash), "docs/findings.md is out of date: {hash}");
}

/// What T/TCP saves is a set-up for each of three connections: a round trip, and two packets of 40 bytes.
#[test]
fn t_tcp_saves_the_set_up_of_each_connection() {
    let table = table("heidemann1997_transactions");
    let page_ms = |network: &str, transport: &str| {
        let is = |row: &&Row| {
            let case: Vec<_> = row.case.0.iter().map(|(_, value)| value.to_string()).collect();
            case == [network, transport] && row.measure == "page_ms"
        };
        table.rows.iter().find(is).and_then(|row| row.ours).expect("the case was run")
    };
    for (network, round_trip_ms, megabits) in [
        ("ethernet", 0.7, 8.7),
        ("fast-internet", 90.0, 1.0),
        ("wavelan", 40.0, 1.0),
        ("adsl", 30.0, 6.0),
    ] {
        let saved = page_ms(network, "http") - page_ms(network, "t-tcp, window of two");
        let set_up = round_trip_ms + 2.0 * 40.0 * 8.0 / (megabits * 1e3);
        assert!((saved / (3.0 * set_up) - 1.0).abs() < 0.05, "{network}: {saved} ms");
        assert_eq!(page_ms(network, "t-tcp").to_bits(), page_ms(network, "fast-open").to_bits());
    }
}

/// The verdicts that a review with the task to refute has changed.
#[test]
fn what_a_review_found_stays_found() {
    let papers = [heidemann(), &FABER.papers[0]];
    for (id, holds) in [
        ("heidemann.model-within-5-percent", Holds::NotTestable),
        ("heidemann.receiver-1996", Holds::NotTestable),
        ("heidemann.170-to-190-ms", Holds::NotTestable),
        ("heidemann.model-accounts-for-most", Holds::NotTestable),
        ("heidemann.model-underestimates", Holds::NotTestable),
        ("heidemann.up-to-200-ms", Holds::No),
        ("heidemann.model-setup", Holds::Yes),
        ("heidemann.window-of-two", Holds::Yes),
        ("faber.one-cost-for-both-tables", Holds::NotTestable),
    ] {
        let claim = papers.iter().flat_map(|it| &it.claims).find(|claim| claim.id == id).unwrap();
        assert_eq!(claim.holds(), holds, "{claim:?}");
    }
}

#[test]
fn pages_stall_three_times_once_and_never() {
    assert_eq!(values("heidemann1997_table_1", "stalls_per_page"), [0.0, 3.0, 1.0, 0.0]);
}

#[test]
fn the_figures_have_the_same_packets_in_the_same_order() {
    for id in ["heidemann.short-initial-segment", "heidemann.odd-short-final-segment"] {
        let claim = heidemann().claims.iter().find(|claim| claim.id == id).unwrap();
        assert_eq!(claim.holds(), Holds::Yes, "{claim:?}");
        let [printed, ours] = ["stall_printed_ms", "stall_ms"].map(|name| claim.numbers[name]);
        assert!((printed - ours).abs() < 200.0, "{claim:?}");
    }
}

#[test]
fn the_model_is_within_5_percent_of_the_simulator_or_it_is_said_why() {
    let rows = &table("heidemann1997_model").rows;
    assert_eq!(rows.len(), 7 * 3 * 2 * 3);
    for ways in rows.chunks(3) {
        let errors = ways.iter().map(|row| row.model_error().unwrap().abs());
        let best = errors.fold(f64::MAX, f64::min);
        assert!(best <= 0.05, "{ways:?}");
    }
}

#[test]
fn json_has_the_promised_shape() {
    let document = schema::keeping_to("reproduce", json(&HEIDEMANN));
    let first = &document["tables"][0];
    assert_eq!(first["id"], "heidemann1997_table_1");
    let row = &first["rows"][0];
    assert_eq!(row["case"]["protocol"], "http");
    assert_eq!((&row["measure"], row["published"].as_f64()), (&"mean_ms".into(), Some(43.0)));
    assert!(row["ours"].is_f64() && row["error"].is_f64(), "{row}");
    for claim in document["claims"].as_array().unwrap() {
        assert!(claim["id"].is_string() && claim["text"].is_string(), "{claim}");
        assert!(claim["holds"].is_boolean() || claim["holds"].is_null(), "{claim}");
        assert!(claim["numbers"].is_object(), "{claim}");
        assert!(claim.get("only_by").is_some(), "{claim}");
        let untested = claim["tests"].as_array().unwrap().is_empty();
        assert!(claim["holds"].is_null() || !untested, "{claim}");
    }
}

#[test]
fn the_findings_are_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");
    let findings = fs::read_to_string(path).unwrap();
    for results in [heidemann(), &FABER.papers[0]] {
        assert!(
            findings.contains(&section(results)),
            "docs/findings.md is out of date: cargo run --release -- reproduce --markdown > \
             docs/findings.md"
        );
    }
}

#[test]
fn the_page_has_every_table_claim_and_figure_and_is_always_the_same() {
    let page = html(&HEIDEMANN, &mut |_| {}).expect("its figures run");
    assert_eq!(page, html(&HEIDEMANN, &mut |_| {}).expect("its figures run"));
    let PaperResults { tables, claims, .. } = heidemann();
    let names = tables.iter().map(|table| table.id.as_str()).chain(claims.iter().map(|it| it.id));
    for name in names.chain(["Figure 1:", "Figure 2:", "Figure 3:", "Figure 4:"]) {
        assert!(page.contains(name), "{name}");
    }
    assert!(page.contains("within their tolerances"), "the verdict");
    assert!(page.contains("; tolerance ±10 %"), "tolerances are named");
    assert!(page.len() < 512 << 10, "{} bytes", page.len());
}

#[test]
fn the_thesis_figures_have_what_is_published_beside_ours() {
    let figures = figures(&GURKAN.papers[0]).expect("they run");
    let numbers: Vec<_> =
        figures.iter().filter_map(|it| it.title.split([' ', ':']).nth(1)).collect();
    let sketched = (3..=5).map(|number| format!("2.{number}"));
    let expected: Vec<_> = sketched.chain((2..=13).map(|number| format!("4.{number}"))).collect();
    assert_eq!(numbers, expected);
    let plots = figures.iter().flat_map(|figure| &figure.blocks).filter_map(|block| match block {
        Block::Plot(plot) => Some(plot),
        _ => None,
    });
    for plot in plots {
        assert!(!plot.lines.is_empty(), "{}", plot.title);
        for line in &plot.lines {
            assert!(!line.points.is_empty(), "{}: {}", plot.title, line.name);
        }
    }
}

#[test]
fn fabers_first_table_is_drawn() {
    let figures = figures(&FABER.papers[0]).expect("nothing is run for it");
    let [Figure { blocks, .. }] = figures.as_slice() else { panic!("{figures:?}") };
    let Block::Plot(plot) = &blocks[0] else { panic!("{blocks:?}") };
    assert_eq!(plot.lines.iter().map(|line| line.points.len()).collect::<Vec<_>>(), [6; 4]);
}
