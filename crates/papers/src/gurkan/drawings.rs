//! Figures 2.3 to 2.5 and 4.2 to 4.13.
//!
//! | file | one idea |
//! | --- | --- |
//! | `transfers` | what servers send on each connection |
//! | `sequences` | Figures 4.2, 4.3, 4.5 and 4.7: sequence numbers over time |
//! | `segments` | Figures 4.4 and 4.6: which files are in a segment |
//! | `windows` | Figures 2.3 to 2.5: the congestion window over time |
//! | `rates` | Figures 4.8 to 4.13: the rate over the number of FTP clients |

mod rates;
mod segments;
mod sequences;
mod transfers;
mod windows;

use crate::{ReproduceError, figure::Figure, paper::PaperResults};

/// All of them, in the order of the thesis.
pub(crate) fn figures(results: &PaperResults) -> Result<Vec<Figure>, ReproduceError> {
    let [serial, parallel, pipelined, filled] = sequences::figures()?;
    let [apart, shared] = segments::figures()?;
    let mut figures = windows::figures()?.to_vec();
    figures.extend([serial, parallel, apart, pipelined, shared, filled]);
    figures.extend(rates::figures(&results.tables));
    Ok(figures)
}
