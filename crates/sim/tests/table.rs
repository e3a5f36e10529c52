//! Hosts with a table of connections: what TIME-WAIT costs them (Faber, Touch and Yue 1997).

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::time::Duration;

use ackwise_http::{Behaviour, page::Transfer};
use ackwise_sim::{
    Measures, Nobody, Scenario, run,
    table::{Dummies, TableMeasures, TableModel, TableOrder},
};
use ackwise_tcp::{ByteCount, policy::ClosePolicy};
use scenarios::ethernet;

const TABLE: TableModel = TableModel {
    order: TableOrder::Linear,
    record: ByteCount(256),
    memory: None,
    others: 0,
    dummies: None,
};

/// A server that closes first, a hundred times.
fn scenario(table: TableModel) -> Scenario {
    let mut scenario = ethernet(Transfer::Serial, Behaviour::FIXED);
    scenario.nodes[1].table = Some(table);
    scenario
}

fn server(scenario: &Scenario) -> (Measures, TableMeasures) {
    let measures = run(scenario, &mut Nobody).unwrap();
    let table = measures.hosts["server"].table.unwrap();
    (measures, table)
}

#[test]
fn a_swap_leaves_nothing_in_the_servers_table() {
    let mut scenario = scenario(TABLE);
    let (measures, ordinary) = server(&scenario);
    assert_eq!(measures.hosts["server"].most_time_wait, 300);
    assert!(ordinary.most_memory >= 300 * 256, "{ordinary:?}");

    scenario.nodes[0].tcp.as_mut().unwrap().policies.close = ClosePolicy::Swap;
    let (measures, swapped) = server(&scenario);
    assert!(measures.hosts["server"].most_time_wait <= 1);
    assert!(swapped.most_memory <= 2 * 256, "{swapped:?}");
    assert!(swapped.examined < ordinary.examined, "{swapped:?}, {ordinary:?}");
}

#[test]
fn a_table_alone_changes_nothing_that_is_sent() {
    let mut without = scenario(TABLE);
    without.nodes[1].table = None;
    let hash = |scenario: &Scenario| run(scenario, &mut Nobody).unwrap().work.trace_hash;
    assert_eq!(hash(&scenario(TABLE)), hash(&without));
}

#[test]
fn without_memory_a_server_refuses_until_time_wait_is_over() {
    let (_, table) = server(&scenario(TableModel { memory: Some(ByteCount(25_600)), ..TABLE }));
    assert!(table.refused > 0, "{table:?}");
    assert_eq!(table.most_memory, 25_600);
}

/// A client in whose TIME-WAIT ten connections fit: the eleventh cannot be opened before the first one
/// has left, 60 s later.
#[test]
fn without_memory_a_client_cannot_connect_until_time_wait_is_over() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    scenario.nodes[0].table = Some(TableModel { memory: Some(ByteCount(2_560)), ..TABLE });
    let measures = run(&scenario, &mut Nobody).unwrap();
    let table = measures.hosts["client"].table.unwrap();
    assert_eq!(table.most_memory, 2_560);
    let web = &measures.applications["web"];
    assert_eq!((web.documents, web.connections_opened), (100, 100), "{web:?}");
    assert_eq!(table.refused, web.connections_failed, "a try a second");
    assert!((9 * 50..9 * 70).contains(&table.refused), "nine times a minute: {table:?}");
    assert!(web.percentile(1.0) > Some(Duration::from_secs(50)), "{web:?}");
}

#[test]
fn dummies_make_each_look_up_dearer_until_they_expire() {
    let dummies = Dummies { entries: 1_000, at: Duration::ZERO, every: Duration::ZERO };
    let mut scenario = scenario(TableModel { dummies: Some(dummies), ..TABLE });
    let time = |scenario: &Scenario| server(scenario).0.applications["web"].mean_time().unwrap();
    scenario.nodes[1].cost.per_entry = Duration::from_micros(1);
    let slow = time(&scenario);
    scenario.nodes[1].cost.per_entry = Duration::ZERO;
    // Each of a page's three SYNs passes the list.
    assert!(slow > time(&scenario) + Duration::from_millis(3), "{slow:?}");
    let (measures, table) = server(&scenario);
    assert_eq!(table.most_memory / 256, measures.hosts["server"].most_time_wait);
}
