//! A list that grows without a copy of what is in it.

/// A list in pieces of the same size. A capture may have a hundred thousand connections: a list in one
/// piece would be copied with each doubling, and half of it would be unused after that.
#[derive(Debug)]
pub(super) struct Chunked<T> {
    // All full but the last, until some are taken out.
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Chunked<T> {
    /// Of connections, some 64 KiB. Our choice.
    const CHUNK: usize = 128;

    /// Where it is then, as long as none are taken out.
    pub(super) fn push(&mut self, item: T) -> usize {
        if self.chunks.last().is_none_or(|it| it.len() == Self::CHUNK) {
            self.chunks.push(Vec::with_capacity(Self::CHUNK));
        }
        let before = Self::CHUNK * self.chunks.len().saturating_sub(1);
        self.chunks.last_mut().map_or(before, |last| {
            last.push(item);
            before + last.len() - 1
        })
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// The one at a place, as long as none are taken out.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.chunks.get_mut(place / Self::CHUNK)?.get_mut(place % Self::CHUNK)
    }

    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.chunks.iter_mut().for_each(|chunk| chunk.retain(&mut keeps));
        self.chunks.retain(|chunk| !chunk.is_empty());
    }
}

impl<T> IntoIterator for Chunked<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    /// Gives the memory of each piece back when it has been gone through.
    fn into_iter(self) -> Self::IntoIter {
        self.chunks.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let (mut chunked, mut list) = (Chunked::default(), Vec::new());
        for number in 0..1_000 {
            assert_eq!(chunked.push(number), list.len());
            list.push(number);
        }
        assert_eq!(chunked.get_mut(999), list.get_mut(999));
        assert_eq!(chunked.get_mut(1_000), None);
        assert_eq!(chunked.get_mut(200), Some(&mut 200));
        for divisor in [3, 5] {
            chunked.retain(|it| it % divisor > 0 && *it > 200);
            list.retain(|it| it % divisor > 0 && *it > 200);
            chunked.push(divisor);
            list.push(divisor);
        }
        assert_eq!(chunked.len(), list.len());
        assert!(chunked.iter().eq(&list));
        assert!(chunked.into_iter().eq(list));
    }
}
