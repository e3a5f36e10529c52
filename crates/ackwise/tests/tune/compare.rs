//! `--compare`: before, and with the change.

use super::*;

/// What it prints of a server that holds the last segment of each response until the client's delayed ACK.
#[test]
fn a_comparison_shows_what_the_change_is_worth() {
    let test = "a_comparison_shows_what_the_change_is_worth";
    run(test, || {
        let port = free_port();
        let mut python = Command::new(program("python3", "python3")?);
        python.args(["-c", PYTHON, &port.to_string()]);
        let _python = Running::start(python, port);
        let url = format!("http://127.0.0.1:{port}/");
        let change = ["--apply", "--nodelay", "--port", &port.to_string(), "--json"];
        let output = ackwise(&[&change[..], &["--compare", &url]].concat());
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = text.lines().map(|line| schema::keeping_to("tune", line)).collect();
        let compared = lines.iter().filter(|it| it["act"] == "compared");
        let compared: Vec<_> = compared.filter_map(|it| it["reason"].as_str()).collect();
        let found = |start: &str| compared.iter().find(|it| it.starts_with(start)).expect(&text);
        assert!(found("nagle-delayed-ack").contains("fail ("), "{text}");
        let latency = found("median latency");
        let ratio = latency.split(" with it, ").nth(1).and_then(|it| it.split(' ').next());
        let ratio: f64 = ratio.and_then(|it| it.parse().ok()).expect(latency);
        assert!(ratio < 0.5 && latency.contains("10 rounds"), "{latency}");
        let nobody = ackwise(&[&change[..], &["--compare", "http://127.0.0.1:1/"]].concat());
        let error = String::from_utf8(nobody.stderr).unwrap();
        assert!(error.contains("cannot compare: check: ") && error.lines().count() == 1, "{error}");
        Ok(())
    });
}
