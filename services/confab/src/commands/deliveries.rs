//! `confab deliveries …`

use confab_proto::runner::v1::ListDeliveriesRequest;
use confab_proto::types::v1::DeliveryState;

use super::page;
use crate::cli::records::{DeliveriesCommand, DeliveryStateArg};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;
use crate::render::{json, records};

/// Does what was typed.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(
    services: &Services,
    command: DeliveriesCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let DeliveriesCommand::List {
        states,
        channel,
        page: asked,
    } = command;
    let (limit, page_token) = page(asked);
    let states = states
        .into_iter()
        .map(|state| i32::from(wire(state)))
        .collect();
    let request = ListDeliveriesRequest {
        states,
        channel,
        limit,
        page_token,
    };
    let answered = answer(services.deliveries().list_deliveries(request).await)?;
    let next = answered.next_page_token.as_deref();
    let rows = &answered.deliveries;
    screen.show(
        || {
            json::page(
                "deliveries",
                rows.iter().map(json::delivery).collect(),
                next,
            )
        },
        |paint, now| records::deliveries(rows, paint, now) + &records::more(next, paint),
    )?;
    Ok(Exit::Done)
}

const fn wire(state: DeliveryStateArg) -> DeliveryState {
    match state {
        DeliveryStateArg::Pending => DeliveryState::Pending,
        DeliveryStateArg::Sending => DeliveryState::Sending,
        DeliveryStateArg::Delivered => DeliveryState::Delivered,
        DeliveryStateArg::Blocked => DeliveryState::Blocked,
        DeliveryStateArg::Failed => DeliveryState::Failed,
        DeliveryStateArg::Expired => DeliveryState::Expired,
    }
}
