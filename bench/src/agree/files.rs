//! Writes a point and its users as input of each simulator.

use std::fmt::Write;

use super::point::{Plan, Point};
use super::users::{SECONDS, User, Users};

/// Input of `bench/agree/web.tcl`.
pub(super) fn tcl(point: &Point, users: &Users) -> String {
    let Point { rate, delay, queue, plan, web, ftp: _, initial_window, window, loss: _ } = point;
    let (plan, count, lost) = (plan.name(), users.all.len(), joined(&users.lost, " "));
    let mut text = format!(
        "set rate {rate}kb\nset delay {delay}ms\nset queue {queue}\nset plan {plan}\n\
         set initial_window {initial_window}\nset max_window {window}\nset request 210\n\
         set gap 0.0015\nset seconds {SECONDS}\nset web_users {web}\nset users {count}\n\
         set lost {{{lost}}}\n"
    );
    for (number, User { start, pages, think }) in users.all.iter().enumerate() {
        let pages: String =
            pages.iter().map(|page| format!("{{{}}} ", joined(page, " "))).collect();
        let think: String = think.iter().map(|&span| format!("{} ", seconds(span))).collect();
        let start = seconds(*start);
        let _ = write!(
            text,
            "set pages({number}) {{{pages}}}\nset think({number}) {{{think}}}\n\
             set start({number}) {start}\n"
        );
    }
    text
}

/// Input of `ackwise run`. TCP is configured as in the script for ns-2, as far as
/// `docs/figures/simulator.md` says: FullTcp's Tahoe with the timers of 1998, which acknowledges
/// full-sized segments immediately and others at a tick of 100 ms (`segsperack_`, `interval_`), and
/// SYN-ACK and FIN before the program acts.
pub(super) fn toml(point: &Point, users: &Users) -> String {
    let Point { rate, delay, queue, plan, web, ftp: _, initial_window, window, loss: _ } = point;
    let lost: Vec<u32> = users.lost.iter().map(|nth| nth + 1).collect();
    let back = match lost.len() {
        0 => String::new(),
        _ => format!("back = {{ loss = {{ nth = [{}] }} }}", joined(&lost, ", ")),
    };
    let mut text = format!(
        r#"duration = "{SECONDS} s"
[tcp]
preset = "sunos-4.1"
ack = {{ ns-2 = {{ every = 1, interval = "100 ms" }} }}
congestion = "ns-2-tahoe"
hold = "off"
timers = "ns-2"
initial_window = {initial_window}
receive_buffer = "{window} segments"
send_buffer = "10 MB"
time_wait = "1 s"
[host]
client = {{ count = 4 }}
server = {{ count = 4 }}
[router.near]
[router.far]
[link.bottleneck]
ends = ["near", "far"]
rate = "{rate} kb/s"
delay = "{delay} ms"
queue = "{queue} packets"
{back}
[link.client_access]
ends = ["client", "near"]
rate = "10 Mb/s"
delay = {{ each = ["1 ms", "2 ms", "3 ms", "4 ms"] }}
queue = "50 packets"
[link.server_access]
ends = ["far", "server"]
rate = "10 Mb/s"
delay = {{ each = ["0.1 ms", "2 ms", "3 ms", "4 ms"] }}
queue = "50 packets"
"#
    );
    for (number, user) in users.all.iter().enumerate() {
        let plan = if number < *web as usize { *plan } else { Plan::Single };
        text += &application(number, user, plan);
    }
    text
}

fn application(number: usize, User { start, pages, think }: &User, plan: Plan) -> String {
    let transfer = match plan {
        Plan::Single | Plan::Persistent => "\"persistent\"",
        Plan::Pipelined => "\"pipelined\"",
        Plan::Parallel => "{ parallel = { connections = 3 } }",
    };
    let connections = if plan == Plan::Parallel { "kept" } else { "per-document" };
    let sizes =
        |page: &Vec<u32>| page.iter().map(|size| format!("\"{size} B\"")).collect::<Vec<_>>();
    let pages = pages.iter().map(|page| format!("[{}]", joined(&sizes(page), ", ")));
    let think: Vec<_> = think.iter().map(|&span| format!("\"{} s\"", seconds(span))).collect();
    let (pages, think) = (joined(&pages.collect::<Vec<_>>(), ", "), joined(&think, ", "));
    let (host, start) = (number % 4 + 1, seconds(*start));
    format!(
        r#"[application.user{number}]
kind = "web"
client = "client{host}"
server = "server{host}"
start = "{start} s"
request = "210 B"
open_gap = "1.5 ms"
workload = "heidemann"
transfer = {transfer}
connections = "{connections}"
prompt_acks = true
replay = {{ pages = [{pages}], think = [{think}] }}
"#
    )
}

/// Microseconds as seconds, with all digits.
fn seconds(micros: u32) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn joined<T: ToString>(all: &[T], between: &str) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
