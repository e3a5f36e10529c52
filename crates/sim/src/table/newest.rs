//! A list to whose head entries are added, which knows how many stand before each.

use std::collections::VecDeque;

/// Entries by age. They are bits, in the order in which they came: a thousand are counted by sixteen
/// instructions, so the list of a busy server costs a simulated look-up next to nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Newest {
    /// The oldest first.
    words: VecDeque<u64>,
    /// Words that were empty and are gone.
    gone: u64,
    /// The number of the next entry.
    next: u64,
    len: u64,
}

impl Newest {
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Adds an entry before all others; returns its number, which is never used again.
    pub(super) fn insert(&mut self) -> u64 {
        let number = self.next;
        let (word, bit) = self.place(number);
        if word == self.words.len() {
            self.words.push_back(0);
        }
        self.words[word] |= bit;
        self.next += 1;
        self.len += 1;
        number
    }

    /// Removes an entry that is there.
    pub(super) fn remove(&mut self, number: u64) {
        let (word, bit) = self.place(number);
        self.words[word] &= !bit;
        self.len -= 1;
        // The last word may still be written to.
        while self.words.len() > 1 && self.words.front() == Some(&0) {
            self.words.pop_front();
            self.gone += 1;
        }
    }

    /// How many entries are newer than one that is there.
    pub(super) fn newer(&self, number: u64) -> u64 {
        let (word, bit) = self.place(number);
        let count = |word: u64| u64::from(word.count_ones());
        let own = self.words[word] & !(bit | (bit - 1));
        count(own) + self.words.range(word + 1..).map(|&word| count(word)).sum::<u64>()
    }

    fn place(&self, number: u64) -> (usize, u64) {
        let word = usize::try_from(number / BITS - self.gone).expect("words fit into memory");
        (word, 1 << (number % BITS))
    }
}

const BITS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_a_plain_list() {
        let (mut list, mut model) = (Newest::default(), VecDeque::new());
        for step in 0..5_000_usize {
            model.push_front(list.insert());
            if step % 3 > 0 {
                let at = step * 7_919 % model.len();
                list.remove(model.remove(at).unwrap());
            }
            let at = step * 104_729 % model.len().max(1);
            if let Some(&number) = model.get(at) {
                assert_eq!((list.newer(number), list.len()), (at as u64, model.len() as u64));
            }
        }
    }
}
