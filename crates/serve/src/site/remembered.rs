//! The files of the pages that were parsed, until a page changes.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use super::Stored;

/// What was found, by page; when it is full, the page that was parsed first is forgotten.
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    by_path: BTreeMap<String, (Stored, Arc<[String]>)>,
    oldest_first: VecDeque<String>,
}

impl Remembered {
    /// The files of `page`, unless it has changed.
    pub(super) fn get(&self, page: &Stored) -> Option<Arc<[String]>> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (as_parsed, files) = pages.by_path.get(&page.path)?;
        (as_parsed == page).then(|| Arc::clone(files))
    }

    pub(super) fn insert(&self, page: &Stored, files: Arc<[String]>) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Pages { by_path, oldest_first } = &mut *pages;
        if by_path.insert(page.path.clone(), (page.clone(), files)).is_none() {
            oldest_first.push_back(page.path.clone());
        }
        if oldest_first.len() > PAGES_LIMIT
            && let Some(oldest) = oldest_first.pop_front()
        {
            by_path.remove(&oldest);
        }
    }
}

/// Most pages that are remembered (our choice: a page of 1,024 long paths may take megabytes).
const PAGES_LIMIT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pages_as_the_limit_are_remembered() {
        let remembered = Remembered::default();
        let page = |number: usize| Stored {
            path: format!("/{number}"),
            length: 1,
            modified: None,
            media_type: "text/html".to_owned(),
            identity: (0, 0),
        };
        for number in 0..=PAGES_LIMIT {
            remembered.insert(&page(number), Arc::default());
        }
        assert!(remembered.get(&page(0)).is_none());
        assert!(remembered.get(&page(1)).is_some());
        assert!(remembered.get(&Stored { length: 2, ..page(1) }).is_none(), "it has changed");
    }
}
