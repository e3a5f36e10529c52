//! Flow-control windows of one direction of DATA (RFC 9113, section 5.2).

/// What may still be sent, of a stream or of the connection.
///
/// It may be below zero: SETTINGS can take away what was granted (section 6.9.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    left: i64,
    /// That it is used up has been told.
    blocked: bool,
}

impl Window {
    pub(super) const fn new(left: i64) -> Self {
        Self { left, blocked: false }
    }

    /// Takes DATA; whether the window is used up now and was not before.
    pub(super) const fn spend(&mut self, octets: u32) -> bool {
        self.left = self.left.saturating_sub(octets as i64);
        let used_up = self.left <= 0 && !self.blocked;
        self.blocked |= used_up;
        used_up
    }

    /// Takes WINDOW_UPDATE, or a change by SETTINGS; whether the window is open now and was not
    /// before.
    pub(super) const fn grant(&mut self, octets: i64) -> bool {
        self.left = self.left.saturating_add(octets);
        let opens = self.left > 0 && self.blocked;
        self.blocked &= !opens;
        opens
    }
}

/// The size of each window at first (RFC 9113, section 6.9.2).
pub(super) const INITIAL_WINDOW: i64 = 65_535;

/// SETTINGS_INITIAL_WINDOW_SIZE in the payload of SETTINGS, if it is there.
pub(super) fn initial_window_size(settings: &[u8]) -> Option<i64> {
    let mut found = None;
    for parameter in settings.chunks_exact(6) {
        if let [0, 4, value @ ..] = parameter {
            found = value.first_chunk().map(|value| i64::from(u32::from_be_bytes(*value)));
        }
    }
    // More than 2^31-1 is an error (section 6.5.2).
    found.filter(|size| *size < 1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_that_a_window_is_used_up_and_once_that_it_opens() {
        let mut window = Window::new(100);
        assert!(!window.spend(99));
        assert!(window.spend(1));
        assert!(!window.spend(1));
        assert!(!window.grant(1));
        assert!(window.grant(1));
        assert!(!window.grant(1));
        assert!(window.spend(2));
    }

    #[test]
    fn the_last_of_several_sizes_counts() {
        let settings = [0, 3, 0, 0, 0, 1, 0, 4, 0, 0, 0, 7, 0, 4, 0, 0, 0, 9, 0];
        assert_eq!(initial_window_size(&settings), Some(9));
        assert_eq!(initial_window_size(&[0, 4, 255, 255, 255, 255]), None);
        assert_eq!(initial_window_size(&[0, 4, 1]), None);
    }
}
