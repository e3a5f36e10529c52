//! No circles: of two modules side by side, files or folders, at most one uses the other, also through
//! others. What both need belongs into one of them, or into a third.
//!
//! A module uses another if it names something defined in there, wherever that is re-exported. A parent
//! and its children are apart: that they use each other is what modules are for. Code for tests does not
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Meta, UseTree};

use crate::repository::{File, assert_none, files};

#[test]
fn modules_do_not_use_each_other_in_circles() {
    let files = files();
    let roots = files.iter().filter(|file| is_crate_root(&file.path));
    let complaints: Vec<_> =
        roots.flat_map(|root| circles(root, &files)).map(|circle| circle.to_string()).collect();
    assert_none(&complaints, "circles of modules:");
}

fn is_crate_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

/// A path of modules from the root of its crate; empty for the root.
type Place = Vec<String>;

/// Which of some modules uses which other, with the two files of an example.
type Uses = BTreeMap<String, BTreeMap<String, (String, String)>>;

/// The modules of one crate.
#[derive(Debug, Default)]
struct Crate {
    modules: BTreeMap<Place, Module>,
}

/// A module: a file, or a block in one.
#[derive(Debug, Default)]
struct Module {
    file: String,
    /// What is defined here, modules apart.
    items: BTreeSet<String>,
    /// What `use` brings in: the name here, and the path as it is written.
    imports: Vec<(String, Vec<String>)>,
    /// The paths of `use …::*`.
    globs: Vec<Vec<String>>,
    /// Every path of two and more names in the code.
    paths: Vec<Vec<String>>,
}

impl Crate {
    fn read(root: &File, files: &[File]) -> Self {
        let mut found = Self::default();
        let (folder, _) = root.path.rsplit_once('/').expect("a root lies in `src`");
        found.add_file(root, folder, Vec::new(), files);
        found
    }

    /// Reads `file`, whose submodules lie in `folder`.
    fn add_file(&mut self, file: &File, folder: &str, place: Place, files: &[File]) {
        let syntax = syn::parse_file(file.text().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{}: {error}", file.path));
        self.add_items(&syntax.items, &file.path, folder, place, files);
    }

    fn add_items(&mut self, items: &[Item], file: &str, folder: &str, at: Place, files: &[File]) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let inside = [at.as_slice(), std::slice::from_ref(&name)].concat();
                    let below = format!("{folder}/{name}");
                    match &child.content {
                        Some((_, items)) => self.add_items(items, file, &below, inside, files),
                        None => self.add_child(child, folder, &below, inside, files),
                    }
                }
                Item::Use(import) => module.add_import(import),
                other => {
                    module.items.extend(defined(other));
                    module.visit_item(other);
                }
            }
        }
        self.modules.insert(at, module);
    }

    fn add_child(
        &mut self,
        child: &ItemMod,
        folder: &str,
        below: &str,
        place: Place,
        files: &[File],
    ) {
        let candidates = match path_attribute(&child.attrs) {
            Some(path) => vec![format!("{folder}/{path}")],
            None => vec![format!("{below}.rs"), format!("{below}/mod.rs")],
        };
        // A file for another system, or one that a build script writes, may not be there.
        if let Some(file) = files.iter().find(|file| candidates.contains(&file.path)) {
            self.add_file(file, below, place, files);
        }
    }

    /// For each module that has children, how these use each other.
    fn uses(&self) -> BTreeMap<Place, Uses> {
        let mut uses = BTreeMap::<Place, Uses>::new();
        for (place, module) in &self.modules {
            let imports = module.imports.iter().map(|(_, path)| path);
            for path in imports.chain(&module.globs).chain(&module.paths) {
                let Some(target) = self.defining(place, path, DEPTH) else { continue };
                let common = place.iter().zip(&target).take_while(|(a, b)| a == b).count();
                // Else one is the other, or an ancestor of the other.
                let (Some(user), Some(used)) = (place.get(common), target.get(common)) else {
                    continue;
                };
                let other = &self.modules[&target];
                let example = (module.file.clone(), other.file.clone());
                let siblings = uses.entry(place[..common].to_vec()).or_default();
                siblings.entry(user.clone()).or_default().entry(used.clone()).or_insert(example);
            }
        }
        uses
    }

    /// The module that defines what `path` means at `place`; `None` if that is not of this crate.
    fn defining(&self, place: &[String], path: &[String], depth: usize) -> Option<Place> {
        let depth = depth.checked_sub(1)?;
        let (first, mut rest) = path.split_first()?;
        let mut here = place.to_vec();
        match first.as_str() {
            "crate" => here.clear(),
            "self" => {}
            "super" => {
                here.pop()?;
                while let Some(("super", after)) = split(rest) {
                    here.pop()?;
                    rest = after;
                }
            }
            name => return self.named(&here, name, rest, depth),
        }
        match rest.split_first() {
            None => Some(here),
            Some((name, rest)) => self.named(&here, name, rest, depth).or(Some(here)),
        }
    }

    /// What `name` means in the module at `here`, followed by `rest`.
    fn named(&self, here: &[String], name: &str, rest: &[String], depth: usize) -> Option<Place> {
        let module = self.modules.get(here)?;
        let child = [here, &[name.to_owned()]].concat();
        if self.modules.contains_key(&child) {
            let Some((name, rest)) = rest.split_first() else { return Some(child) };
            return self.named(&child, name, rest, depth).or(Some(child));
        }
        if module.items.contains(name) {
            return Some(here.to_vec());
        }
        if let Some((_, path)) = module.imports.iter().find(|(known, _)| known == name) {
            return self.defining(here, &[path.as_slice(), rest].concat(), depth);
        }
        module.globs.iter().find_map(|glob| {
            let inside = self.defining(here, glob, depth)?;
            if inside == here {
                None
            } else {
                self.named(&inside, name, rest, depth.checked_sub(1)?)
            }
        })
    }
}

fn split(path: &[String]) -> Option<(&str, &[String])> {
    path.split_first().map(|(first, rest)| (first.as_str(), rest))
}

impl Module {
    fn add_import(&mut self, import: &ItemUse) {
        if import.leading_colon.is_none() {
            self.add_tree(&import.tree, Vec::new());
        }
    }

    fn add_tree(&mut self, tree: &UseTree, mut path: Vec<String>) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.add_tree(&part.tree, path);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(tree, path.clone()));
            }
            UseTree::Glob(_) => self.globs.push(path),
            UseTree::Name(name) if name.ident == "self" => {
                self.imports.extend(path.last().cloned().map(|name| (name, path)));
            }
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.imports.push((name.ident.to_string(), path));
            }
            UseTree::Rename(part) => {
                if part.ident != "self" {
                    path.push(part.ident.to_string());
                }
                self.imports.push((part.rename.to_string(), path));
            }
        }
    }

    /// The paths in what a macro is called with, which is not parsed.
    fn add_tokens(&mut self, tokens: &str) {
        for word in
            tokens.split(|letter: char| !(letter.is_alphanumeric() || "_: ".contains(letter)))
        {
            for path in word.replace(" :: ", "::").split_whitespace() {
                let path: Vec<_> =
                    path.trim_end_matches(':').split("::").map(str::to_owned).collect();
                if path.len() > 1 && path.iter().all(|name| !name.is_empty()) {
                    self.paths.push(path);
                }
            }
        }
    }
}

impl Visit<'_> for Module {
    fn visit_path(&mut self, path: &syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, import: &ItemUse) {
        // Inside a function; taken as if it stood outside.
        self.add_import(import);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.add_tokens(&call.tokens.to_string());
        visit::visit_macro(self, call);
    }

    fn visit_item(&mut self, item: &Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// `#[path = "…"]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Modules side by side each of which uses every other, through whatever is between them.
#[derive(Debug, Eq, PartialEq)]
struct Circle {
    /// The file in which they are declared.
    parent: String,
    names: BTreeSet<String>,
    /// A shortest way round: which file uses which.
    example: Vec<(String, String)>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, declared in {}", self.names, self.parent)?;
        self.example.iter().try_for_each(|(user, used)| write!(f, "\n    {user} uses {used}"))
    }
}

fn circles(root: &File, files: &[File]) -> Vec<Circle> {
    let modules = Crate::read(root, files);
    let mut found = Vec::new();
    for (place, uses) in modules.uses() {
        for names in strongly_connected(&uses) {
            let parent = modules.modules[&place].file.clone();
            let example = names.first().map(|name| way_round(name, &uses)).unwrap_or_default();
            found.push(Circle { parent, names, example });
        }
    }
    found
}

fn strongly_connected(uses: &Uses) -> BTreeSet<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|name| (name, reachable(name, uses))).collect();
    let mutual = |a: &String, b: &String| reach[a].contains(b) && reach[b].contains(a);
    let group = |name| uses.keys().filter(|other| mutual(name, other)).cloned().collect();
    uses.keys().map(group).filter(|group: &BTreeSet<_>| !group.is_empty()).collect()
}

/// What `name` uses, directly and through others; itself only if that leads back.
fn reachable<'a>(name: &String, uses: &'a Uses) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = uses.get(name).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(other) = next.pop() {
        if found.insert(other) {
            next.extend(uses.get(other).into_iter().flat_map(BTreeMap::keys));
        }
    }
    found
}

fn way_round(name: &String, uses: &Uses) -> Vec<(String, String)> {
    let mut ways = vec![(name, Vec::new())];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for (last, way) in ways {
            for (other, example) in uses.get(last).into_iter().flatten() {
                let way = [way.as_slice(), std::slice::from_ref(example)].concat();
                if other == name {
                    return way;
                }
                if seen.insert(other) {
                    longer.push((other, way));
                }
            }
        }
        ways = longer;
    }
    Vec::new()
}

/// A re-export of a re-export is followed this far.
const DEPTH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<Vec<(String, String)>> {
        let file = |(name, text): &(&str, &str)| File {
            path: format!("crates/x/src/{name}"),
            bytes: text.as_bytes().to_vec(),
        };
        let files: Vec<_> = sources.iter().map(file).collect();
        let short = |path: String| path.replace("crates/x/src/", "");
        let example = |circle: Circle| {
            circle.example.into_iter().map(|(user, used)| (short(user), short(used))).collect()
        };
        circles(&files[0], &files).into_iter().map(example).collect()
    }

    fn pair(user: &str, used: &str) -> (String, String) {
        (user.to_owned(), used.to_owned())
    }

    #[test]
    fn two_files_that_use_each_other_are_found() {
        let sources = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
            ("b.rs", "pub struct B;\nfn f(_: super::a::A) {}\n"),
        ];
        assert_eq!(found(&sources), [[pair("a.rs", "b.rs"), pair("b.rs", "a.rs")]]);
    }

    #[test]
    fn a_circle_through_a_re_export_and_a_child_is_found() {
        let sources = [
            ("lib.rs", "pub mod a;\npub mod b;\n"),
            ("a/mod.rs", "mod inner;\npub use inner::Inner;\npub fn f() {}\n"),
            ("a/inner.rs", "use crate::b;\npub struct Inner;\nfn g() { b::h() }\n"),
            ("b.rs", "pub fn h() { let _ = vec![crate::a::Inner]; }\n"),
        ];
        assert_eq!(found(&sources), [[pair("a/inner.rs", "b.rs"), pair("b.rs", "a/inner.rs")]]);
    }

    #[test]
    fn two_folders_that_use_each_other_are_found_though_no_two_files_do() {
        let sources = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "pub mod one;\npub mod two;\n"),
            ("a/one.rs", "pub fn f() { crate::b::one::g() }\n"),
            ("a/two.rs", "pub fn f() {}\n"),
            ("b.rs", "pub mod one;\npub mod two;\n"),
            ("b/one.rs", "pub fn g() {}\n"),
            ("b/two.rs", "use crate::a::two;\npub fn g() { two::f() }\n"),
        ];
        assert_eq!(found(&sources), [[pair("a/one.rs", "b/one.rs"), pair("b/two.rs", "a/two.rs")]]);
    }

    #[test]
    fn a_circle_of_three_is_found_also_through_a_glob() {
        let sources = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::*;\n"),
            ("a.rs", "pub fn fa() { crate::b::fb() }\n"),
            ("b.rs", "use crate::c;\npub fn fb() { c::fc() }\n"),
            ("c.rs", "pub fn fc() { crate::fa() }\n"),
        ];
        let round = [pair("a.rs", "b.rs"), pair("b.rs", "c.rs"), pair("c.rs", "a.rs")];
        assert_eq!(found(&sources), [round]);
    }

    #[test]
    fn a_child_may_use_its_parent_and_tests_may_use_everything() {
        let sources = [
            ("lib.rs", "mod a;\npub struct Root(a::A);\nmod b;\n"),
            ("a.rs", "use crate::Root;\npub struct A;\nfn f(_: Root) {}\nmod deep;\n"),
            ("a/deep.rs", "use super::super::Root;\nuse super::A;\nfn g(_: A, _: Root) {}\n"),
            (
                "b.rs",
                "use crate::a::A;\npub fn f(_: A) {}\n#[cfg(test)]\nmod tests { use super::*; }\n",
            ),
        ];
        assert_eq!(found(&sources), Vec::<Vec<_>>::new());
    }

    #[test]
    fn code_for_tests_closes_no_circle() {
        let sources = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "pub fn fa() {}\n#[cfg(test)]\nmod tests { use crate::b::fb; }\n"),
            ("b.rs", "pub fn fb() { crate::a::fa() }\n"),
        ];
        assert_eq!(found(&sources), Vec::<Vec<_>>::new());
    }
}
