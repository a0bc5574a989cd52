//! A watcher that is woken.

use super::*;

fn notice() -> Terms {
    Terms::notice(key("agent:writer:main"), Some("telegram".to_owned()))
}

#[test]
fn a_notice_is_one_run_in_the_watcher_whose_input_is_the_steps_text_and_is_not_stored() {
    // D57, D62, D74
    let order = open_run(&after(notice(), &[]));
    let golden = "Sessions that you watch have changed: the notices above say which, and how to \
                  read what happened. Nobody is sent the reply to this turn.";
    assert_eq!(
        (order.input.as_str(), order.prompt.as_str()),
        (golden, golden)
    );
    assert_eq!(order.session, key("agent:writer:main"));
    assert_eq!(
        (order.step_id, order.step, order.turn),
        (StepId::Primary, Step::Notice, 0)
    );
    assert_eq!((order.lane, order.store_input), (Lane::Main, false));
    assert_eq!(order.provenance, None);
    assert_eq!(notice().kind.flow_kind(), FlowKind::Human);
}

#[test]
fn whatever_a_woken_watcher_says_goes_nowhere() {
    for outcome in [says("seen"), says(" "), says("NO_REPLY"), fails()] {
        let said = (outcome == says("seen")).then(|| "seen".to_owned());
        // Not even where there were a route and somebody to talk to.
        let terms = Terms {
            requester: Some(key("agent:editor:main")),
            turns_max: 5,
            route: Some(route()),
            announce: true,
            ..notice()
        };
        for terms in [notice(), terms] {
            let exchange = after(terms, &[ended(StepId::Primary, outcome.clone())]);
            let end = Progress {
                state: FlowState::Done,
                turns: 0,
                stop_reason: None,
                last_speaker: None,
                delivery: DeliveryStatus::None,
                latest_reply: said.clone(),
            };
            assert_eq!(exchange.progress(), end);
            assert_eq!(exchange.open_actions(), []);
        }
    }
}

#[test]
fn the_terms_of_a_notice_survive_the_journal() {
    let written = serde_json::to_value(notice()).unwrap();
    assert_eq!(written.get("kind"), Some(&"notice".into()));
    assert_eq!(serde_json::from_value::<Terms>(written).unwrap(), notice());
}
