//! Expected draws, computed from the published definitions in another language, not with this code.
//! Changing any of them changes reported results and must be intentional.

use core::time::Duration;

use ackwise_link::{Probability, Seed};

use super::super::*;
use crate::page::Page;

#[test]
fn spans_of_a_seed_never_change() {
    let uniform = Span::Uniform { from: Duration::from_secs(1), to: Duration::from_secs(2) };
    let exponential = Span::Exponential { mean: Duration::from_millis(250) };
    let pareto = Span::Pareto {
        least: Duration::from_secs(1),
        shape: 1.5,
        most: Duration::from_secs(60),
        truncation: Truncation::Conditional,
    };
    let table: [(&str, Span, [u64; 4]); 4] = [
        ("uniform", uniform, [1_353_597_224, 1_851_841_410, 1_250_862_851, 1_914_757_494]),
        ("exponential", exponential, [189_712_896, 718_802_212, 136_949_194, 183_409_486]),
        ("pareto", pareto, [4_355_967_810, 1_076_809_001, 1_070_202_994, 1_098_953_975]),
        ("weibull", Span::SURGE_ACTIVE_OFF, [148_190_311, 867_614_378, 3_872_408_192, 969_759_687]),
    ];
    for (name, span, nanos) in table {
        let mut stream = Seed(1).named(name).stream();
        let drawn = nanos.map(|_| span.draw(&mut stream));
        assert_eq!(drawn, nanos.map(Duration::from_nanos), "{name}");
    }
}

#[test]
fn sizes_of_a_seed_never_change() {
    let Pages::Drawn { primary: webstone, .. } = Pages::WEBSTONE_2 else { panic!() };
    let table: [(&str, Size, [u64; 8]); 2] = [
        ("surge", Size::SURGE_FILES, [28318, 42126, 4273, 5545, 10231, 4514, 13433, 48616]),
        ("webstone", webstone, [500, 5000, 500, 5000, 500, 500, 5000, 5000]),
    ];
    for (name, size, bytes) in table {
        let mut stream = Seed(1).named(name).stream();
        assert_eq!(bytes.map(|_| size.draw(&mut stream).0), bytes, "{name}");
    }
}

#[test]
fn pages_of_a_seed_never_change() {
    let gurkan = Pages::gurkan(1.24, Probability::per_million(120_000).unwrap());
    let table: [(&str, Pages, &[&[u64]]); 3] = [
        (
            "gurkan",
            gurkan,
            &[
                &[2175, 2444, 8025, 1629],
                &[2248, 500, 1378, 1216],
                &[1118, 1228, 3160, 1997],
                &[3029, 1307, 3252, 4662],
            ],
        ),
        ("mah", Pages::MAH, &[&[1154, 1302], &[1900, 2328], &[1511], &[4679]]),
        ("heidemann", Pages::HEIDEMANN, &[&[6651, 3883, 1866], &[6651, 3883, 1866]]),
    ];
    for (name, pages, expected) in table {
        let mut stream = Seed(1).named(name).stream();
        for files in expected {
            let page = Page { primary: files[0], inlines: files[1..].to_vec() };
            assert_eq!(pages.draw(&mut stream), page, "{name}");
        }
    }
}
