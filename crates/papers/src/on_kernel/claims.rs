//! Sentences that hold on the kernel, do not, or cannot be tried there.

use super::{KernelClaim, KernelTable, OnKernelVerdict, exhibit::has};

/// A claim that the kernel has no setting for.
pub(super) fn untried(id: &'static str, text: &'static str, why: &str) -> KernelClaim {
    let (on_kernel, because) = (OnKernelVerdict::CannotBeTried, why.to_owned());
    KernelClaim { id: id.into(), text: text.into(), on_kernel, because }
}

/// A claim about two values on the kernel: whether the first is more than `factor` times the second.
pub(super) fn more(
    (id, text): (&'static str, &'static str),
    first: Option<f64>,
    second: Option<f64>,
    factor: f64,
) -> KernelClaim {
    let (on_kernel, because) = match (first, second) {
        (Some(first), Some(second)) => {
            let holds = first > factor * second;
            let verdict = if holds { OnKernelVerdict::Holds } else { OnKernelVerdict::DoesNotHold };
            (verdict, format!("{first:.1} against {second:.1} (must be more than {factor} times)"))
        }
        _ => (OnKernelVerdict::NotRun, "its runs are missing".to_owned()),
    };
    KernelClaim { id: id.into(), text: text.into(), on_kernel, because }
}

/// A claim that a page stalls: whether the first time is longer than the second by [`LEAST_STALL_MS`].
pub(super) fn stalls(
    (id, text): (&'static str, &'static str),
    first: Option<f64>,
    second: Option<f64>,
) -> KernelClaim {
    let (on_kernel, because) = match (first, second) {
        (Some(first), Some(second)) => {
            let holds = first - second >= LEAST_STALL_MS;
            let verdict = if holds { OnKernelVerdict::Holds } else { OnKernelVerdict::DoesNotHold };
            let by = first - second;
            (
                verdict,
                format!(
                    "{first:.1} ms against {second:.1} ms: {by:+.1} ms (must be {LEAST_STALL_MS} ms more)"
                ),
            )
        }
        _ => (OnKernelVerdict::NotRun, "its runs are missing".to_owned()),
    };
    KernelClaim { id: id.into(), text: text.into(), on_kernel, because }
}

/// A stall is a delayed ACK, and Linux's shortest takes 40 ms (`TCP_DELACK_MIN`). What is shorter is the
/// programs' own time, such as that between two writes (our choice: three quarters of it).
const LEAST_STALL_MS: f64 = 30.0;

/// A value on the kernel, by table, measure and case.
pub(super) fn value(
    tables: &[KernelTable],
    id: &str,
    measure: &str,
    case: &[(&str, &str)],
) -> Option<f64> {
    let table = tables.iter().find(|table| table.id == id)?;
    let fits = |name: &(&str, &str), row: &super::KernelRow| has(&row.case, name.0, name.1);
    let row = table
        .rows
        .iter()
        .find(|row| row.measure == measure && case.iter().all(|name| fits(name, row)))?;
    row.kernel
}
