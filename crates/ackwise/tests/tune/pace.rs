//! `--pace`, and the order that eBPF sees.

use super::*;

fn congestion(socket: SockRef<'_>) -> String {
    let name = socket.tcp_congestion().unwrap();
    String::from_utf8(name).unwrap().trim_end_matches('\0').to_owned()
}

/// A server with CUBIC, and a connection of it with Reno.
fn server() -> Own {
    let own = Own::new();
    SockRef::from(&own.listener).set_tcp_congestion(b"cubic").unwrap();
    SockRef::from(&own.connection).set_tcp_congestion(b"reno").unwrap();
    own
}

fn names(own: &Own) -> [String; 2] {
    [congestion(SockRef::from(&own.listener)), congestion(SockRef::from(&own.connection))]
}

fn has_btf() -> Result<(), String> {
    let there = Path::new("/sys/kernel/btf/vmlinux").exists();
    there.then_some(()).ok_or_else(|| "a kernel with BTF; CONFIG_DEBUG_INFO_BTF".to_owned())
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn pacing_registers_is_inherited_and_is_given_back_also_after_sigkill() {
    let test = "pacing_registers_is_inherited_and_is_given_back_also_after_sigkill";
    run(test, || {
        has_btf()?;
        let _alone = paces_alone();
        let paced = ["ackwise_cubic", "ackwise_reno"];
        let unpaced = ["cubic", "reno"];
        let own = server();
        let port = own.port.to_string();
        let arguments = ["--port", &port, "--pace", "--nodelay"];
        let is = |own: &Own, expected: [&str; 2]| names(own) == expected;
        let starts = |own: &Own| {
            let tuning = Tuning::start(&arguments);
            wait_until("both sockets pace", || is(own, paced));
            tuning
        };

        // Ended as by Ctrl-C. What it accepted meanwhile is set back, too.
        let mut tuning = starts(&own);
        let (client, inherited) = own.pair(1);
        assert_eq!(congestion(SockRef::from(&inherited)), "ackwise_cubic");
        exchange(&client, &inherited);
        // The names are taken.
        let other = server();
        let refused = ackwise(&["--port", &other.port.to_string(), "--pace", "--apply"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains("is registered already"), "{text}");
        assert_eq!((text.trim().lines().count(), names(&other)), (1, unpaced.map(str::to_owned)));
        let text = tuning.end();
        for part in [
            "set         TCP_CONGESTION on listener 127.0.0.1:",
            "cubic -> ackwise_cubic: ",
            "reno -> ackwise_reno: open before the run",
            "TCP_CONGESTION on 3 sockets have their original congestion control again",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(is(&own, unpaced), "{:?}", names(&own));
        assert_eq!(congestion(SockRef::from(&inherited)), "cubic");
        exchange(&client, &inherited);

        // After SIGKILL, by the keeper.
        starts(&own).kill();
        wait_until("the keeper gives back", || is(&own, unpaced) && journals(&own).is_empty());
        assert!(!own.connection.nodelay().unwrap());

        // After SIGKILL of both. The sockets go on with what they have, and their listener's children get it.
        let tuning = starts(&own);
        tuning.kill_keeper();
        tuning.kill();
        assert!(is(&own, paced) && journals(&own).len() == 1);
        let (client, late) = own.pair(2);
        exchange(&client, &late);
        assert_eq!(congestion(SockRef::from(&late)), "ackwise_cubic");
        let undone = undo();
        assert_eq!(undone.status.code(), Some(0), "{undone:?}");
        assert!(is(&own, unpaced), "{:?}", names(&own));
        assert_eq!(congestion(SockRef::from(&late)), "cubic");
        assert!(!own.connection.nodelay().unwrap() && journals(&own).is_empty());
        exchange(&client, &late);
        // Nothing is left of the programs.
        wait_until("the name is free", || {
            SockRef::from(&own.connection).set_tcp_congestion(b"ackwise_reno").is_err()
        });

        // BBR stays.
        if SockRef::from(&own.listener).set_tcp_congestion(b"bbr").is_ok() {
            let text = ackwise(&["--port", &port, "--pace", "--watch", "100ms"]).stdout;
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("left        TCP_CONGESTION"), "{text}");
            assert!(text.contains("bbr is not changed"), "{text}");
        }
        Ok(())
    });
}

/// Request, response and ACK fall into one tick, and still a second is enough.
#[test]
fn ties_of_one_tick_are_decided_by_the_order_that_ebpf_saw() {
    let test = "ties_of_one_tick_are_decided_by_the_order_that_ebpf_saw";
    run(test, || {
        has_btf()?;
        let own = Own::new();
        let port = own.port.to_string();
        let arguments = ["--port", &port, "--max-connections", "1", "--unsure-after", "60m"];
        let mut tuning = Tuning::start(&arguments);
        assert!(tuning.text.contains("seen by eBPF"), "{}", tuning.text);
        let [idle, in_flight] = [1, 1].map(|host| own.pair(host));
        for (client, server) in [&idle, &in_flight] {
            exchange(client, server);
        }
        (&in_flight.0).write_all(b"request").unwrap();
        (&in_flight.1).read_exact(&mut [0; 7]).unwrap();
        idle.0.set_read_timeout(Some(LIMIT)).unwrap();
        assert_eq!((&idle.0).read(&mut [0]).unwrap(), 0, "a FIN");
        thread::sleep(Duration::from_millis(1_500));
        let text = tuning.end();
        (&in_flight.1).write_all(b"response").unwrap();
        (&in_flight.0).read_exact(&mut [0; 8]).expect("it is still open");
        assert!(text.contains("order of request and response seen by eBPF"), "{text}");
        assert!(text.contains("1 idle connection closed (0 of them"), "{text}");
        Ok(())
    });
}
