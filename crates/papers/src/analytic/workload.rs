//! Pages that the papers and their model fetch, as data.

use super::path::Exchange;

/// A page: the sizes of its files, by name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Workload {
    /// As the papers call it.
    pub name: &'static str,
    /// Bytes of the files, the page itself first.
    pub files: &'static [u64],
}

impl Workload {
    /// Heidemann 1996 and 1997, section 2.1: Yahoo's front page of 1 May 1996.
    pub const SMALL_CLUSTER: Self = Self { name: "small-cluster", files: &[6651, 3883, 1866] };

    /// The benchmark, and those of the model as far as they are known. Only the first is printed.
    pub const ALL: [Self; 6] = [
        Self::SMALL_CLUSTER,
        Self { name: "medium-cluster", files: &[3220, 57_613, 2344, 14_190] },
        Self { name: "large-cluster", files: &LARGE_CLUSTER },
        Self { name: "small-page", files: &[5 * 1024] },
        Self { name: "medium-page", files: &[25 * 1024] },
        Self { name: "large-page", files: &[100 * 1024] },
    ];

    /// Its exchanges, where each request and each reply's head have the same size, and both ends
    /// take the same time for each.
    #[must_use]
    pub fn exchanges(self, like: Exchange) -> Vec<Exchange> {
        self.files.iter().map(|file| Exchange { reply: like.reply + file, ..like }).collect()
    }
}

/// 100 KB and ten images of 25.
const LARGE_CLUSTER: [u64; 11] = {
    let mut files = [25 * 1024; 11];
    files[0] = 100 * 1024;
    files
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_heads_and_files() {
        let like = Exchange { request: 52, reply: 226, client: 0.0, server: 0.0 };
        let replies: Vec<_> =
            Workload::SMALL_CLUSTER.exchanges(like).iter().map(|it| it.reply).collect();
        // Figure 4's second reply is 10785 - 6676 = 4109 bytes.
        assert_eq!(replies, [6877, 4109, 2092]);
    }
}
