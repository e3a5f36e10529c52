//! Real prefork servers: after `SIGKILL` of the run and of its second process, `--undo` restores every option
//! of every socket.

use std::collections::{BTreeMap, BTreeSet};

use ackwise_linux::foreign::{ForeignSocket, Holders, SocketOption};

use super::*;

const APPLICATION: &str = "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '8000000')])
    return [b'x' * 8000000]
";

#[test]
fn after_sigkill_undo_restores_every_option_of_apache_prefork() {
    let test = "after_sigkill_undo_restores_every_option_of_apache_prefork";
    run(test, || {
        let (directory, port) = (Directory::new(test), free_port());
        let apache = program("apache2", "apache2")?;
        let path = directory.0.display();
        fs::create_dir(directory.0.join("site")).unwrap();
        fs::write(directory.0.join("site/page"), vec![b'x'; 8_000_000]).unwrap();
        let config = directory.0.join("config");
        let text = format!(
            "ServerRoot {path}\nPidFile {path}/pid\nListen 127.0.0.1:{port}\nServerName x
            LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
            LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
            StartServers 5\nMinSpareServers 5\nMaxRequestWorkers 20\nKeepAliveTimeout 300
            User www-data\nGroup www-data\nErrorLog {path}/errors\nDocumentRoot {path}/site\n"
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(apache);
        command.args(["-D", "FOREGROUND", "-f"]).arg(config);
        let _apache = Running::start(command, port);
        restores(port);
        Ok(())
    });
}

#[test]
fn after_sigkill_undo_restores_every_option_of_gunicorn() {
    let test = "after_sigkill_undo_restores_every_option_of_gunicorn";
    run(test, || {
        let (directory, port) = (Directory::new(test), free_port());
        let mut gunicorn = Command::new(program("gunicorn", "gunicorn")?);
        fs::write(directory.0.join("page.py"), APPLICATION).unwrap();
        let address = format!("127.0.0.1:{port}");
        gunicorn.args([
            "--workers",
            "4",
            "--timeout",
            "300",
            "--bind",
            &address,
            "page:application",
        ]);
        gunicorn.current_dir(&directory.0);
        let _gunicorn = Running::start(gunicorn, port);
        restores(port);
        Ok(())
    });
}

/// Three clients read nothing of a response of 8 MB, so that buffers do not change but by the run.
fn restores(port: u16) {
    // The host's may be BBR, which is not paced.
    for (socket, holders) in sockets(port) {
        let copy = ForeignSocket::copy(holders.of_inode(socket.inode), socket.cookie);
        let _ = copy.map(|it| it.set_congestion("cubic"));
    }
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let mut before = BTreeMap::new();
    wait_until("the clients' windows are closed", || {
        thread::sleep(Duration::from_millis(500));
        let last = std::mem::replace(&mut before, options(port));
        before.len() == 4 && last == before
    });
    let number = port.to_string();
    let mut arguments =
        vec!["--port", &number, "--nodelay", "--unsent", "16KB", "--buffer-memory", "64KiB"];
    let paces = cfg!(feature = "ebpf") && Path::new("/sys/kernel/btf/vmlinux").exists();
    let _alone = paces.then(paces_alone);
    if paces {
        arguments.push("--pace");
    }
    let tuning = Tuning::start(&arguments);
    wait_until("all buffers are smaller", || {
        let during = options(port);
        before
            .iter()
            .filter(|(cookie, it)| during.get(cookie).is_some_and(|new| new != *it))
            .count()
            == 4
            && during.values().filter(|it| it.contains(&("SO_BUF_LOCK", "1".to_owned()))).count()
                == 3
    });
    tuning.kill_keeper();
    tuning.kill();
    assert_ne!(options(port), before, "nobody is left to give back");
    let undone = undo();
    assert_eq!(options(port), before, "{}", String::from_utf8_lossy(&undone.stdout));
    // A second time there is nothing left of this run.
    let again = String::from_utf8(undo().stdout).unwrap();
    assert!(!again.contains(&format!(":{port}")), "{again}");
    drop(clients);
}

/// The options of a port's sockets, by cookie.
fn options(port: u16) -> BTreeMap<u64, Vec<(&'static str, String)>> {
    let read = |(socket, holders): (TcpSocket, Holders)| {
        let copy = ForeignSocket::copy(holders.of_inode(socket.inode), socket.cookie).ok()?;
        let values = OPTIONS.iter().map(|it| (it.name(), copy.option(*it).unwrap().to_string()));
        let congestion = ("TCP_CONGESTION", copy.congestion().unwrap());
        Some((socket.cookie, values.chain([congestion]).collect()))
    };
    sockets(port).into_iter().filter_map(read).collect()
}

/// A port's sockets, with the processes that hold each.
fn sockets(port: u16) -> Vec<(TcpSocket, Holders)> {
    let mut sockets = Vec::new();
    let visit = |socket: &TcpSocket| sockets.push(*socket);
    SocketTable::here().unwrap().each(Query::local_port(port), visit).unwrap();
    sockets.retain(|socket| socket.inode != 0);
    sockets.into_iter().map(|it| (it, Holders::of(&BTreeSet::from([it.inode])))).collect()
}

const OPTIONS: [SocketOption; 5] = [
    SocketOption::NoDelay,
    SocketOption::NotSentLowat,
    SocketOption::SendBuffer,
    SocketOption::ReceiveBuffer,
    SocketOption::BufferLock,
];
