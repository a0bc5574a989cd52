//! What people, agents and tools say to one another, about 900 bytes at a time: prose, code, calls
//! with arguments and what they gave. A message follows from its number, and what a person says ends
//! with a word that no other message has.

use confab_model::clock::Timestamp;
use confab_model::message::{Block, NewMessage, Role, Usage};

const PROSE: &str = "The nightly import stopped at the second file, so I looked at the log first. \
    It says that the archive was still being written when we opened it — the sender moves it into \
    place only afterwards. That also explains why it works by hand: by then the file is complete. \
    I would wait for the rename instead of polling the size, and keep the check for the length as a \
    net. Two things follow from that. First, the directory has to be on the same volume, otherwise \
    the move is a copy and we are where we began. Second, the retry must not count a file twice; the \
    ledger already has the name, the size and the day, which is enough to tell them apart. \
    Could you also look at the invoice of the Café Müller? The total is 1.284,50 €, and the tax does \
    not add up to it. I think that the discount was taken off after the tax and not before. \
    Ja, das stimmt: der Rabatt steht in der falschen Zeile. Please leave the old entry as it is and \
    book the difference, with a note that says why. 👍 Thanks, that was quick! Let me know when the \
    report is out, then I will tell the others. ";

const CODE: &str = "```rust\nfn settle(ledger: &mut Ledger, invoice: &Invoice) -> Result<(), Fault> {\n    \
    let Some(entry) = ledger.find(&invoice.number) else {\n        return Err(Fault::Unknown);\n    };\n    \
    // The discount comes off before the tax.\n    let net = invoice.net.checked_sub(invoice.discount)?;\n    \
    let tax = net * invoice.rate / 100;\n    if entry.total != net + tax {\n        \
    ledger.book(entry.id, net + tax - entry.total, \"discount before tax\")?;\n    }\n    \
    for line in &invoice.lines {\n        tracing::debug!(number = %line.number, \"settled\");\n    }\n    \
    Ok(())\n}\n```\n";

const OUTPUT: &str = "total 48\n-rw-r--r-- 1 desk desk  1284 Mar  3 07:14 invoice-0413.json\n\
    -rw-r--r-- 1 desk desk 20011 Mar  3 07:14 ledger.csv\n2026-03-03T07:14:22Z INFO import{file=\
    ledger.csv}: 1204 rows read, 3 skipped\n2026-03-03T07:14:23Z WARN import{row=877}: the tax of \
    12.40 does not follow from 61.00\n{\"number\":\"0413\",\"net\":1079.41,\"rate\":19,\"lines\":[{\"text\":\
    \"beans\",\"count\":40},{\"text\":\"filters\",\"count\":12}]}\nerror: test `settles_once` failed at \
    src/ledger.rs:212:9\n  left: 128450\n right: 128451\n";

/// When the first message was said.
const START_MILLIS: i64 = 1_700_000_000_000;

/// The message with this number: a person asks, the agent calls two tools and answers.
pub(crate) fn message(number: u32) -> NewMessage {
    let key = format!("m-{number}");
    let said = match number % 6 {
        0 => NewMessage::text(key, Role::User, asked(number)),
        1 | 3 => call(key, number),
        2 | 4 => result(key, number),
        _ => answer(key, number),
    };
    NewMessage {
        at: Some(Timestamp::from_millis(
            START_MILLIS + i64::from(number) * 1_000,
        )),
        ..said
    }
}

/// A word that stands in many messages.
pub(crate) const FREQUENT: &str = "discount";

/// The word that only this message has, where a person says it.
pub(crate) fn rare(number: u32) -> String {
    format!("ticket{number}")
}

fn asked(number: u32) -> String {
    format!("{} {}", part(PROSE, number, 500), rare(number))
}

fn call(key: String, number: u32) -> NewMessage {
    let command = serde_json::Value::from(part(OUTPUT, number, 260));
    let block = Block::ToolCall {
        id: format!("call_{number:08}"),
        name: "exec".to_owned(),
        arguments: serde_json::Map::from_iter([("command".to_owned(), command)]),
    };
    NewMessage {
        blocks: vec![Block::Text(part(PROSE, number, 200)), block],
        stop_reason: Some("toolUse".to_owned()),
        ..of_model(key, "")
    }
}

fn result(key: String, number: u32) -> NewMessage {
    NewMessage {
        tool_call_id: Some(format!("call_{:08}", number.saturating_sub(1))),
        tool_name: Some("exec".to_owned()),
        ..NewMessage::text(key, Role::ToolResult, part(OUTPUT, number, 1_300))
    }
}

fn answer(key: String, number: u32) -> NewMessage {
    let text = format!(
        "{}\n\n{CODE}\n{}",
        part(PROSE, number, 500),
        part(PROSE, number + 1, 250)
    );
    let thinking = Block::Thinking(part(PROSE, number + 2, 150));
    let mut answer = of_model(key, &text);
    answer.blocks.insert(0, thinking);
    answer
}

fn of_model(key: String, text: &str) -> NewMessage {
    NewMessage {
        model: Some("some-model-4".to_owned()),
        usage: Some(Usage {
            input: 12_000,
            output: 300,
        }),
        stop_reason: Some("stop".to_owned()),
        ..NewMessage::text(key, Role::Assistant, text)
    }
}

/// About `bytes` of the text, from a place that follows from the number, as often as it takes.
fn part(text: &str, number: u32, bytes: usize) -> String {
    let mixed = usize::try_from(number.wrapping_mul(2_654_435_761) >> 8).unwrap();
    let begin = text.floor_char_boundary(mixed % text.len());
    // Half of the length is the same for all.
    let wanted = bytes / 2 + mixed % bytes;
    let mut said = String::with_capacity(wanted + text.len());
    said.push_str(text.get(begin..).unwrap_or_default());
    while said.len() < wanted {
        said.push_str(text);
    }
    said.truncate(said.floor_char_boundary(wanted));
    said
}
