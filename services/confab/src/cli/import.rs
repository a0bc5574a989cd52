//! `confab import …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::examples;

/// Whose sessions to take over.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Take over the sessions and transcripts of an `OpenClaw` state directory
    Openclaw(ImportOpenclaw),
}

/// What to import, and how.
#[derive(Args, Debug)]
#[command(after_help = examples::IMPORT_OPENCLAW)]
pub struct ImportOpenclaw {
    /// A state directory, one agent's directory, or a directory of sessions; it is only read.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Tell what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where a session exists with other content, put the imported one in its place.
    #[arg(long)]
    pub replace: bool,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn an_import_takes_one_directory_and_its_options_in_any_order() {
        let whole = parse("confab import openclaw --replace ./state --dry-run --json").unwrap();
        let Command::Import(ImportCommand::Openclaw(args)) = whole.command else {
            panic!("an import was typed");
        };
        assert_eq!(
            (args.dir.as_path(), args.dry_run, args.replace),
            (Path::new("./state"), true, true)
        );
        let plain = parse("confab import openclaw state").unwrap();
        let Command::Import(ImportCommand::Openclaw(args)) = plain.command else {
            panic!("an import was typed");
        };
        assert!(!args.dry_run && !args.replace);
    }

    #[test]
    fn an_import_without_a_directory_or_of_an_unknown_system_is_refused() {
        for line in [
            "import",
            "import openclaw",
            "import openclaw a b",
            "import other a",
        ] {
            assert!(parse(&format!("confab {line}")).is_err(), "{line}");
        }
    }
}
