//! What this process keeps in memory.

use std::fmt;

/// Memory of this process, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// All of it: `VmRSS`.
    pub all: i64,
    /// What is its own, without pages of files: `RssAnon`.
    pub own: i64,
    /// The most it ever was since [`forget_peak`]: `VmHWM`.
    pub peak: i64,
}

/// Lets the peak begin anew with what is kept at this moment. Where the kernel refuses, the peak
/// stays that of the whole process, and what grew is told too high rather than too low.
pub fn forget_peak() {
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

impl Resident {
    /// What it is at this moment.
    pub fn read() -> Self {
        Self::of(&std::fs::read_to_string("/proc/self/status").unwrap())
    }

    /// How far the peak lies above what was kept before, in KiB.
    pub const fn grown_since(self, before: Self) -> i64 {
        self.peak - before.all
    }

    fn of(status: &str) -> Self {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number.unwrap().parse().unwrap()
        };
        Self {
            all: field("VmRSS:"),
            own: field("RssAnon:"),
            peak: field("VmHWM:"),
        }
    }
}

impl fmt::Display for Resident {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} MiB, {} MiB of it its own",
            mib(self.all),
            mib(self.own)
        )
    }
}

/// KiB as whole MiB.
pub const fn mib(kib: i64) -> i64 {
    kib / 1_024
}

#[cfg(test)]
mod tests {
    use super::Resident;

    #[test]
    fn the_status_of_a_process_is_read() {
        let status = "Name:\tbench\nVmHWM:\t   30720 kB\nVmRSS:\t   20480 kB\nRssAnon:\t    1024 kB\n\
                      RssFile:\t 7 kB\n";
        let resident = Resident::of(status);
        assert_eq!(
            resident,
            Resident {
                all: 20_480,
                own: 1_024,
                peak: 30_720,
            }
        );
        assert_eq!(resident.to_string(), "20 MiB, 1 MiB of it its own");
        assert_eq!(resident.grown_since(resident), 10_240);
    }
}
