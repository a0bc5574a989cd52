//! `confab policy …`

use confab_proto::policy::v1::{ExplainRequest, ExplainResponse, GateVerdict};
use serde_json::Value;

use super::target;
use crate::cli::agents::{Explain, PolicyCommand};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone};
use crate::render::screen::Screen;
use crate::render::table::COLUMNS;
use crate::render::text;

/// Columns of a gate's name.
const GATE_COLUMNS: usize = 14;

/// Does what was typed.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(
    services: &Services,
    command: PolicyCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let PolicyCommand::Explain(args) = command;
    let answered = answer(services.policy().explain(request_of(args)).await)?;
    screen.show(|| record(&answered), |paint, _| tell(&answered, paint))?;
    Ok(Exit::Done)
}

fn request_of(args: Explain) -> ExplainRequest {
    ExplainRequest {
        target: Some(target(&args.session)),
        as_session_key: args.caller,
        tool: args.tool,
        channel: args.channel,
    }
}

fn record(explained: &ExplainResponse) -> Value {
    let verdicts = explained.verdicts.iter().map(|one| {
        let remedy = Some(one.remedy.as_str()).filter(|remedy| !remedy.is_empty());
        Value::from(
            Fields::new()
                .put("gate", one.gate.as_str())
                .put("allowed", one.allowed)
                .put("reason", one.reason.as_str())
                .put_some("ruleIndex", one.rule_index)
                .put_some("remedy", remedy),
        )
    });
    Fields::new()
        .put("allowed", explained.allowed)
        .put("sessionKey", explained.session_key.as_str())
        .put("exists", explained.exists)
        .put("verdicts", verdicts.collect::<Vec<_>>())
        .into()
}

/// The gates in order, what each says and what would change it; the verdict last.
fn tell(explained: &ExplainResponse, paint: Paint) -> String {
    let gates = explained.verdicts.iter().map(|one| gate(one, paint));
    let verdict = verdict(explained, paint);
    gates
        .chain(std::iter::once(verdict))
        .collect::<Vec<_>>()
        .join("\n")
}

fn gate(one: &GateVerdict, paint: Paint) -> String {
    let (sign, tone) = if one.allowed {
        ("✓", Tone::Good)
    } else {
        ("✗", Tone::Bad)
    };
    let name = text::pad(
        &text::cut(&text::line(&one.gate), GATE_COLUMNS),
        GATE_COLUMNS,
    );
    let rule = one.rule_index.map(|index| format!(" (rule {index})"));
    let reason = format!("{}{}", one.reason, rule.unwrap_or_default());
    let indent = " ".repeat(GATE_COLUMNS + 5);
    let reason = text::wrap(&reason, COLUMNS, &indent);
    let reason = reason.trim_start();
    let mut told = format!("{}  {name}  {reason}", paint.tone(tone, sign));
    if !one.remedy.is_empty() {
        let remedy = text::wrap(&format!("to change: {}", one.remedy), COLUMNS, &indent);
        told.push('\n');
        told.push_str(&paint.tone(Tone::Quiet, &remedy));
    }
    told
}

fn verdict(explained: &ExplainResponse, paint: Paint) -> String {
    let key = &explained.session_key;
    let absent = if explained.exists {
        ""
    } else {
        ", which does not exist yet"
    };
    let refusing = explained.verdicts.iter().filter(|one| !one.allowed);
    let refusing: Vec<&str> = refusing.map(|one| one.gate.as_str()).collect();
    let (tone, told) = if explained.allowed {
        (
            Tone::Good,
            format!("allowed: the call would reach {key}{absent}"),
        )
    } else {
        let gates = refusing.join(", ");
        (
            Tone::Bad,
            format!("refused by {gates}: the call would not reach {key}{absent}"),
        )
    };
    paint.tone(tone, &text::wrap(&told, COLUMNS, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(gate: &str) -> GateVerdict {
        GateVerdict {
            gate: gate.to_owned(),
            allowed: true,
            reason: format!("The gate {gate} is open."),
            ..GateVerdict::default()
        }
    }

    fn explained(allowed: bool) -> ExplainResponse {
        let stops = GateVerdict {
            gate: "send_policy".to_owned(),
            allowed,
            reason: "Rule denies slack.".to_owned(),
            rule_index: Some(2),
            remedy: "Set sendPolicy to allow.".to_owned(),
        };
        ExplainResponse {
            allowed,
            verdicts: vec![passes("role"), passes("agent_to_agent"), stops],
            session_key: "agent:editor:main".to_owned(),
            exists: allowed,
        }
    }

    #[test]
    fn every_gate_is_told_in_order_with_the_rule_that_decided_and_the_verdict_last_d16() {
        assert_eq!(
            tell(&explained(false), Paint::new(false)),
            "✓  role            The gate role is open.\n\
             ✓  agent_to_agent  The gate agent_to_agent is open.\n\
             ✗  send_policy     Rule denies slack. (rule 2)\n                   \
             to change: Set sendPolicy to allow.\n\
             refused by send_policy: the call would not reach agent:editor:main, which does not \
             exist yet"
        );
        let told = tell(&explained(true), Paint::new(false));
        assert!(
            told.ends_with("\nallowed: the call would reach agent:editor:main"),
            "{told}"
        );
    }

    #[test]
    fn for_programs_what_does_not_apply_is_absent() {
        let shown = record(&explained(false));
        assert_eq!(
            shown,
            json!({
                "allowed": false,
                "sessionKey": "agent:editor:main",
                "exists": false,
                "verdicts": [
                    { "gate": "role", "allowed": true, "reason": "The gate role is open." },
                    {
                        "gate": "agent_to_agent",
                        "allowed": true,
                        "reason": "The gate agent_to_agent is open.",
                    },
                    {
                        "gate": "send_policy",
                        "allowed": false,
                        "reason": "Rule denies slack.",
                        "ruleIndex": 2,
                        "remedy": "Set sendPolicy to allow.",
                    },
                ],
            })
        );
    }

    #[test]
    fn an_explanation_fits_and_cannot_be_steered() {
        let hostile = "word \u{1b}[2J 界界".repeat(60);
        let one = GateVerdict {
            gate: hostile.clone(),
            allowed: false,
            reason: hostile.clone(),
            rule_index: None,
            remedy: hostile.clone(),
        };
        let told = tell(
            &ExplainResponse {
                allowed: false,
                verdicts: vec![one],
                session_key: hostile,
                exists: false,
            },
            Paint::new(false),
        );
        assert!(!told.contains('\u{1b}'), "{told:?}");
        for line in told.lines() {
            assert!(
                text::width(line) <= COLUMNS,
                "{}: {line}",
                text::width(line)
            );
        }
    }
}
