//! What a benchmark is asked for on its command line.

/// The arguments of a benchmark.
#[derive(Clone, Debug)]
pub struct Asked {
    arguments: Vec<String>,
}

impl Asked {
    /// Reads the arguments of this process; absent where a test runner only wants the names of tests,
    /// of which a benchmark has none.
    pub fn read() -> Option<Self> {
        let arguments = std::env::args().skip(1).collect();
        let asked = Self { arguments };
        (!asked.has("--list")).then_some(asked)
    }

    /// Whether to measure; otherwise everything is small and over in seconds, so that `cargo test`
    /// sees that the benchmark works.
    pub fn is_measuring(&self) -> bool {
        self.has("--bench") && !self.has("--smoke")
    }

    /// Whether a case is wanted: with `--only TEXT`, those whose names hold the text.
    pub fn wants(&self, case: &str) -> bool {
        self.value_of("--only")
            .is_none_or(|part| case.contains(part))
    }

    /// What stands behind a flag.
    pub fn value_of(&self, flag: &str) -> Option<&str> {
        let mut behind = self.arguments.iter().skip_while(|one| *one != flag).skip(1);
        behind.next().map(String::as_str)
    }

    /// The number behind a flag.
    pub fn number_of(&self, flag: &str) -> Option<u32> {
        let text = self.value_of(flag)?;
        let number = text.parse();
        assert!(number.is_ok(), "{flag} takes a whole number, not {text:?}");
        number.ok()
    }

    fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|one| one == flag)
    }
}

#[cfg(test)]
mod tests {
    use super::Asked;

    fn asked(line: &str) -> Asked {
        Asked {
            arguments: line.split_whitespace().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn only_what_cargo_bench_starts_measures() {
        assert!(asked("--bench").is_measuring());
        assert!(!asked("").is_measuring());
        assert!(!asked("--bench --smoke").is_measuring());
    }

    #[test]
    fn a_part_of_a_name_picks_the_cases() {
        let deep = asked("--bench --only deep");
        assert!(deep.wants("the deepest page") && !deep.wants("the first page"));
        assert!(asked("--bench").wants("the first page"));
        assert_eq!(deep.value_of("--fill"), None);
    }

    #[test]
    fn a_size_stands_behind_its_flag() {
        let sized = asked("--bench --messages 5000");
        assert_eq!(sized.number_of("--messages"), Some(5_000));
        assert_eq!(sized.number_of("--sessions"), None);
    }
}
