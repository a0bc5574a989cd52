//! Filters by role and time.

use confab_model::message::{NewMessage, Role};
use confab_proto::transcript::v1::GetHistoryRequest;
use confab_rpc::wire::{enums::Numbered as _, time};

use crate::limits::FILTERED_ROWS_MAX;
use crate::testing::{DESK, House, START, marker, of, result, said, seqs};

fn of_roles(roles: &[Role]) -> GetHistoryRequest {
    GetHistoryRequest {
        roles: roles.iter().map(|role| role.number()).collect(),
        include_tools: true,
        ..of(DESK)
    }
}

fn said_in(after: Option<i64>, before: Option<i64>) -> GetHistoryRequest {
    let moment = |millis| time::to_proto(START.plus_millis(millis));
    GetHistoryRequest {
        after: after.map(moment),
        before: before.map(moment),
        ..of_roles(&[])
    }
}

/// 12 messages: user, assistant and tool in turn, the n-th said n milliseconds after the start, save
/// the last, which was said first.
async fn house() -> House {
    let house = House::with(&[DESK]).await;
    let messages: Vec<NewMessage> = (1..=12)
        .map(|seq| {
            let key = format!("k{seq}");
            let message = match seq % 3 {
                1 => said(&key, Role::User, "u"),
                2 => said(&key, Role::Assistant, "a"),
                _ => result(&key, "t"),
            };
            NewMessage {
                at: Some(START.plus_millis(if seq == 12 { 0 } else { seq })),
                ..message
            }
        })
        .collect();
    house.append(DESK, &messages).await.unwrap();
    house
}

#[tokio::test]
async fn what_passes_is_shown_and_nothing_else() {
    let house = house().await;
    for (request, expected) in [
        (of_roles(&[Role::User]), vec![1, 4, 7, 10]),
        (of_roles(&[Role::ToolResult]), vec![3, 6, 9, 12]),
        (
            of_roles(&[Role::User, Role::Assistant]),
            vec![1, 2, 4, 5, 7, 8, 10, 11],
        ),
        (said_in(Some(9), None), vec![9, 10, 11]),
        (said_in(None, Some(3)), vec![1, 2, 12]),
        (said_in(Some(4), Some(6)), vec![4, 5]),
        (
            GetHistoryRequest {
                include_tools: false,
                ..of_roles(&[Role::ToolResult])
            },
            vec![],
        ),
        (
            GetHistoryRequest {
                roles: vec![Role::Assistant.number()],
                ..said_in(Some(4), Some(9))
            },
            vec![5, 8],
        ),
        (
            GetHistoryRequest {
                snapshot: Some(9),
                ..of_roles(&[Role::User])
            },
            vec![1, 4, 7],
        ),
    ] {
        let page = house.history(request.clone()).await.unwrap();
        assert_eq!(seqs(&page), expected, "{request:?}");
        assert_eq!(
            (page.paging, page.next_snapshot),
            (None, None),
            "{request:?}"
        );
    }
}

/// Every page of a walk, oldest first.
async fn walk(house: &House, request: GetHistoryRequest) -> Vec<Vec<u64>> {
    let (mut pages, mut snapshot) = (Vec::new(), None);
    loop {
        let request = GetHistoryRequest {
            snapshot,
            ..request.clone()
        };
        let page = house.history(request).await.unwrap();
        pages.insert(0, seqs(&page));
        let Some(next) = page.next_snapshot else {
            return pages;
        };
        let newer = said(&format!("newer than {next}"), Role::User, "hi");
        house.append(DESK, &[newer]).await.unwrap();
        snapshot = Some(i64::try_from(next).unwrap());
    }
}

#[tokio::test]
async fn a_walk_goes_on_where_the_answer_says_while_the_session_grows() {
    let house = house().await;
    let request = GetHistoryRequest {
        limit: Some(3),
        ..of_roles(&[Role::User])
    };
    // The last page of a full walk may be empty, and is not where nothing can follow.
    assert_eq!(walk(&house, request).await, [vec![1], vec![4, 7, 10]]);
    let request = GetHistoryRequest {
        limit: Some(2),
        ..said_in(Some(2), Some(6))
    };
    assert_eq!(
        walk(&house, request).await,
        [vec![], vec![2, 3], vec![4, 5]]
    );
}

#[tokio::test]
async fn what_had_no_room_is_on_the_next_page() {
    let house = House::with(&[DESK]).await;
    for seq in 1..=20 {
        let speaker = if seq % 2 == 0 {
            Role::User
        } else {
            Role::Assistant
        };
        let long = said(&format!("k{seq}"), speaker, &"€".repeat(4_000));
        house.append(DESK, &[long]).await.unwrap();
    }
    let pages = walk(&house, of_roles(&[Role::Assistant])).await;
    assert_eq!(pages, [vec![1, 3, 5, 7], vec![9, 11, 13, 15, 17, 19]]);
}

#[tokio::test]
async fn a_call_looks_at_so_many_messages_and_the_next_one_goes_on() {
    let house = House::with(&[DESK]).await;
    house
        .append(DESK, &[said("first", Role::User, "hi")])
        .await
        .unwrap();
    let count = FILTERED_ROWS_MAX + 30;
    let others: Vec<NewMessage> = (0..count)
        .map(|place| said(&format!("k{place}"), Role::Assistant, "a"))
        .collect();
    for some in others.chunks(1_000) {
        house.append(DESK, some).await.unwrap();
    }
    let page = house.history(of_roles(&[Role::User])).await.unwrap();
    assert_eq!((seqs(&page), page.next_snapshot), (vec![], Some(31)));
    let pages = walk(&house, of_roles(&[Role::User])).await;
    assert_eq!(pages, [vec![1], vec![]]);
}

#[tokio::test]
async fn a_filter_stays_in_the_active_view() {
    let house = house().await;
    house.append(DESK, &[marker("c", Some(5))]).await.unwrap();
    let request = GetHistoryRequest {
        active_view: true,
        limit: Some(1),
        ..of_roles(&[Role::User])
    };
    assert_eq!(
        walk(&house, request.clone()).await,
        [vec![], vec![7], vec![10]]
    );
    // A walk that is under way follows the next compaction: nothing of the past is active then.
    house.append(DESK, &[marker("d", None)]).await.unwrap();
    let page = GetHistoryRequest {
        snapshot: Some(9),
        ..request
    };
    let page = house.history(page).await.unwrap();
    assert_eq!((seqs(&page), page.next_snapshot), (vec![], None));
}

#[tokio::test]
async fn what_contradicts_itself_is_refused_by_field_with_what_to_do() {
    let house = House::with(&[DESK]).await;
    let anchored = |request| GetHistoryRequest {
        anchor_seq: Some(3),
        ..request
    };
    for (request, expected) in [
        (
            GetHistoryRequest {
                offset: Some(0),
                ..of_roles(&[Role::User])
            },
            vec![("offset", "nextSnapshot")],
        ),
        (
            anchored(GetHistoryRequest {
                offset: Some(0),
                snapshot: Some(1),
                ..said_in(Some(1), Some(2))
            }),
            vec![
                ("offset", "anchorSeq"),
                ("snapshot", "anchorSeq"),
                ("after", "anchorSeq"),
                ("before", "anchorSeq"),
            ],
        ),
        (
            anchored(of_roles(&[Role::User])),
            vec![("roles", "anchorSeq")],
        ),
        (
            said_in(Some(2), Some(2)),
            vec![("before", "later than after")],
        ),
        (
            GetHistoryRequest {
                anchor_seq: Some(0),
                ..of(DESK)
            },
            vec![("anchorSeq", "from 1")],
        ),
        (
            GetHistoryRequest {
                roles: vec![1, 0, 9],
                ..of(DESK)
            },
            vec![("roles[1]", "missing"), ("roles[2]", "unknown value 9")],
        ),
        (
            GetHistoryRequest {
                roles: vec![1; 4],
                ..of(DESK)
            },
            vec![("roles", "at most 3")],
        ),
    ] {
        let refused = house.history(request.clone()).await.unwrap_err();
        let told = &refused.violations;
        assert_eq!(told.len(), expected.len(), "{request:?}: {told:?}");
        for (violation, (field, words)) in told.iter().zip(expected) {
            assert_eq!(violation.field, field, "{request:?}");
            assert!(violation.description.contains(words), "{violation:?}");
        }
    }
}
