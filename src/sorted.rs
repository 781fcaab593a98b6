//! Maps and sets that are vectors in order, for what is few or comes in order.
//!
//! A key that comes last costs no more than a push; any other moves those after it. Every kind of map is compiled for its
//! own keys and values, also in each build script that uses this crate, and a B-tree is ten times the code of these. What can
//! hold all paths of a tree, in any order, is a B-tree all the same.

use std::borrow::Borrow;
use std::ops::Deref;

/// Puts items into the order of a number that each has; those with the same number stay as they are.
///
/// Whatever the items are, what is sorted are pairs of numbers: one sort is compiled for all.
pub fn sort_by_number<T>(items: &mut Vec<T>, number: impl FnMut(&T) -> usize) {
    let mut order: Vec<(usize, usize)> = items.iter().map(number).zip(0..).collect();
    order.sort_unstable();
    let mut unsorted: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|(_, place)| unsorted[place].take()));
}

/// A map by key. As a slice, it is its entries in the order of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The entries in order, with values to be changed.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The values in the order of the keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where a key is, or would be.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        match self.entries.last() {
            Some((last, _)) if last.borrow() >= key => {
                self.entries.binary_search_by(|(known, _)| known.borrow().cmp(key))
            }
            _ => Err(self.entries.len()),
        }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| &self.entries[at].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// Whether a key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives a key a value; gives the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// The value of a key; this one, if it had none.
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        let at = self.place(&key).unwrap_or_else(|at| {
            self.entries.insert(at, (key, value));
            at
        });
        &mut self.entries[at].1
    }

    /// The entries whose keys are not before this one.
    pub fn not_before<Q: Ord + ?Sized>(&self, key: &Q) -> &[(K, V)]
    where
        K: Borrow<Q>,
    {
        &self.entries[self.place(key).unwrap_or_else(|at| at)..]
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Deref for SortedMap<K, V> {
    type Target = [(K, V)];

    fn deref(&self) -> &[(K, V)] {
        &self.entries
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<'m, K, V> IntoIterator for &'m SortedMap<K, V> {
    type Item = &'m (K, V);
    type IntoIter = std::slice::Iter<'m, (K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// A set. As a slice, it is its members in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedSet<T> {
    members: Vec<T>,
}

impl<T> SortedSet<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { members: Vec::new() }
    }

    /// Keeps those for which this holds.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.members.retain(keep);
    }
}

impl<T: Ord> SortedSet<T> {
    /// Where a member is, or would be.
    fn place<Q: Ord + ?Sized>(&self, member: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        match self.members.last() {
            Some(last) if last.borrow() >= member => {
                self.members.binary_search_by(|known| known.borrow().cmp(member))
            }
            _ => Err(self.members.len()),
        }
    }

    /// Whether it is a member.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(member).is_ok()
    }

    /// Adds a member; gives whether it was none.
    pub fn insert(&mut self, member: T) -> bool {
        match self.place(&member) {
            Ok(_) => false,
            Err(at) => {
                self.members.insert(at, member);
                true
            }
        }
    }

    /// The members that are not before this.
    pub fn not_before<Q: Ord + ?Sized>(&self, member: &Q) -> &[T]
    where
        T: Borrow<Q>,
    {
        &self.members[self.place(member).unwrap_or_else(|at| at)..]
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for SortedSet<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.members
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        let mut set = Self::new();
        set.extend(members);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(members: [T; N]) -> Self {
        members.into_iter().collect()
    }
}

impl<'s, T> IntoIterator for &'s SortedSet<T> {
    type Item = &'s T;
    type IntoIter = std::slice::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.iter()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_map_is_what_a_tree_is(entries in prop::collection::vec((0..20_u8, 0..9_u8), 0..40), key in 0..20_u8) {
            let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
            for (key, value) in entries {
                prop_assert_eq!(map.insert(key, value), tree.insert(key, value));
            }
            prop_assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
            prop_assert_eq!(map.get(&key), tree.get(&key));
            prop_assert_eq!(map.contains_key(&key), tree.contains_key(&key));
            prop_assert!(map.not_before(&key).iter().map(|(key, _)| key).eq(tree.range(key..).map(|(key, _)| key)));
            prop_assert_eq!(map.get_or_insert(key, 100), tree.entry(key).or_insert(100));
            prop_assert_eq!(map.get_mut(&key), tree.get_mut(&key));
            prop_assert!(map.into_iter().eq(tree));
        }

        #[test]
        fn items_are_put_in_order_as_a_stable_sort_does(mut items in prop::collection::vec((0..9_usize, 0..99_u8), 0..40)) {
            let mut expected = items.clone();
            expected.sort_by_key(|(number, _)| *number);
            sort_by_number(&mut items, |(number, _)| *number);
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn a_set_is_what_a_tree_is(members in prop::collection::vec(0..20_u8, 0..40), member in 0..20_u8) {
            let set: SortedSet<u8> = members.iter().copied().collect();
            let tree: BTreeSet<u8> = members.into_iter().collect();
            prop_assert_eq!(set.contains(&member), tree.contains(&member));
            prop_assert!(set.not_before(&member).iter().eq(tree.range(member..)));
            prop_assert_eq!(set.clone().insert(member), tree.clone().insert(member));
            prop_assert!(set.iter().eq(&tree));
        }
    }
}
