//! An import's report as people see it: two tables, what is wrong, and the totals.

use super::report::{FileReport, FileState, Outcome, Report};
use crate::render::paint::{Paint, Tone};
use crate::render::table::{COLUMNS, Column, Field, render};
use crate::render::text;

#[cfg(test)]
mod tests;

/// Most faults of lines that are written out; the rest is in the JSON form.
const LINE_FAULTS_MAX: usize = 100;

/// The report.
pub(super) fn tell(report: &Report, paint: Paint) -> String {
    let parts = [
        agents(report),
        sessions(report, paint),
        files(report, paint),
        details(report),
        faults(report, paint),
        line_faults(report, paint),
        passed_over(report),
        totals(report),
        advice(report, paint),
    ];
    let told = parts.into_iter().filter(|part| !part.is_empty());
    told.collect::<Vec<_>>().join("\n\n")
}

fn agents(report: &Report) -> String {
    let lines = report.agents.iter().map(|agent| {
        let (rows, transcripts) = (agent.rows, agent.transcripts);
        format!(
            "agent {}: {rows} sessions, {transcripts} transcripts",
            agent.id
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn sessions(report: &Report, paint: Paint) -> String {
    if report.sessions.is_empty() {
        return String::new();
    }
    let columns = [
        Column::key("SESSION", 68),
        Column::text("OUTCOME", 10),
        Column::text("TRANSCRIPTS", 11),
    ];
    let rows = report.sessions.iter().map(|one| {
        vec![
            Field::toned(Tone::Actor, one.key.as_str()),
            Field::toned(tone(one.outcome), one.outcome.for_people()),
            Field::plain(one.transcripts.to_string()),
        ]
    });
    render(&columns, rows.collect(), paint)
}

const fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Created | Outcome::Replaced => Tone::Good,
        Outcome::Unchanged => Tone::Quiet,
        Outcome::LeftAlone => Tone::Busy,
        Outcome::Refused => Tone::Bad,
    }
}

fn files(report: &Report, paint: Paint) -> String {
    if report.files.is_empty() {
        return String::new();
    }
    let columns = [
        Column::key("FILE", 41),
        Column::text("LINES", 8),
        Column::text("IMPORTED", 8),
        Column::text("REPEATED", 8),
        Column::text("ASIDE", 8),
        Column::text("SKIPPED", 8),
    ];
    let rows = report.files.iter().map(row);
    render(&columns, rows.collect(), paint)
}

/// What nobody counted is no number.
fn row(file: &FileReport) -> Vec<Field> {
    let counts = &file.counts;
    let is_counted = match file.state {
        FileState::Imported => true,
        FileState::LeftAlone | FileState::Failed => false,
    };
    let number = |number: i64| {
        Field::plain(if is_counted {
            number.to_string()
        } else {
            "-".to_owned()
        })
    };
    let skipped = if counts.skipped > 0 {
        Field::toned(Tone::Bad, counts.skipped.to_string())
    } else {
        number(0)
    };
    vec![
        Field::plain(file.file.as_str()),
        number(counts.lines),
        number(counts.imported),
        number(counts.repeated),
        number(counts.kept_aside),
        skipped,
    ]
}

/// What differs, what was left out, and what no index had.
fn details(report: &Report) -> String {
    let mut lines = Vec::new();
    for one in &report.sessions {
        let differences = one
            .differences
            .iter()
            .map(|told| format!("{}: differs: {told}", one.key));
        let why = if one.outcome == Outcome::Refused {
            "refused"
        } else {
            "left out"
        };
        let left_out = one
            .left_out
            .iter()
            .map(|told| format!("{}: {why}: {told}", one.key));
        lines.extend(differences.chain(left_out));
        if one.unclaimed {
            lines.push(format!(
                "{}: no session claims {}; archived",
                one.key, one.file
            ));
        }
    }
    listed(&lines)
}

fn faults(report: &Report, paint: Paint) -> String {
    let of_directory = report.faults.iter().map(|fault| match fault.line {
        Some(line) => format!("{}:{line}: {}", fault.file, fault.reason),
        None => format!("{}: {}", fault.file, fault.reason),
    });
    let of_files = report.files.iter().filter_map(|file| {
        let told = file.error.as_ref().or(file.counts.unread.as_ref())?;
        Some(format!("{}: {told}", file.file))
    });
    let lines: Vec<String> = of_directory.chain(of_files).collect();
    if lines.is_empty() {
        return String::new();
    }
    paint.tone(Tone::Bad, "could not be read or stored:") + "\n" + &listed(&lines)
}

fn line_faults(report: &Report, paint: Paint) -> String {
    let skipped = report.totals().skipped;
    if skipped == 0 {
        return String::new();
    }
    let told = report.files.iter().flat_map(|file| {
        let faults = file.counts.faults.iter();
        faults.map(|fault| format!("{}:{}: {}", file.file, fault.line, fault.reason))
    });
    let lines: Vec<String> = told.take(LINE_FAULTS_MAX).collect();
    let heading = format!("warning: {skipped} lines were skipped:");
    let shown = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    let rest = if skipped > shown {
        format!("\n  and {} more", skipped.saturating_sub(shown))
    } else {
        String::new()
    };
    paint.tone(Tone::Busy, &heading) + "\n" + &listed(&lines) + &rest
}

fn passed_over(report: &Report) -> String {
    let files = report.passed_over.iter();
    let mut lines: Vec<String> = files
        .map(|one| format!("{}: passed over: {}", one.file, one.reason))
        .collect();
    if !report.fields.is_empty() {
        let names = report
            .fields
            .iter()
            .map(|(name, times)| format!("{name} ({times})"));
        let names = names.collect::<Vec<_>>().join(", ");
        lines.push(format!(
            "fields of sessions that have no place here: {names}"
        ));
    }
    listed(&lines)
}

fn totals(report: &Report) -> String {
    let totals = report.totals();
    let outcomes = Outcome::ALL.map(|outcome| {
        let number = report.sessions_that_are(outcome);
        format!("{number} {}", outcome.for_people())
    });
    let bytes: u64 = report.files.iter().map(|file| file.bytes).sum();
    let sessions = format!(
        "{} sessions: {}",
        report.sessions.len(),
        outcomes.join(", ")
    );
    let files = format!(
        "{} transcripts, {} lines, {bytes} bytes: {} messages imported, {} repeated, {} entries \
         kept aside, {} lines skipped",
        report.files.len(),
        totals.lines,
        totals.imported,
        totals.repeated,
        totals.kept_aside,
        totals.skipped,
    );
    let mut told = text::wrap(&sessions, COLUMNS, "") + "\n" + &text::wrap(&files, COLUMNS, "");
    if report.dry_run {
        told.push_str("\ndry run: this is what an import would do; nothing was changed");
    }
    if !report.complete {
        told.push_str("\nincomplete: it broke off here; what stands in no table was not reached");
    }
    told
}

fn advice(report: &Report, paint: Paint) -> String {
    if report.sessions_that_are(Outcome::LeftAlone) == 0 {
        return String::new();
    }
    let told = "hint: --replace puts what the directory holds in the place of what was left alone; \
        that stays readable by its sessionId";
    paint.tone(Tone::Busy, &text::wrap(told, COLUMNS, ""))
}

/// A list, each on as many lines as it needs.
fn listed(lines: &[String]) -> String {
    let wrapped = lines.iter().map(|line| text::wrap(line, COLUMNS, "  "));
    wrapped.collect::<Vec<_>>().join("\n")
}
