//! `confab demo`: starts the server with two scripted agents, lets them talk, and tells what
//! happened from the records. It ends well only if the records bear out what was told.

mod narrate;
mod proof;
mod script;
mod story;

use std::path::{Path, PathBuf};
use std::time::Duration;

use confab_rpc::launch::{Ground, ServerArgs};
use confab_rpc::serve::HttpListen;
use confab_telemetry::{Telemetry, TelemetryOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::narrate::Stage;
use self::proof::Claim;
use self::story::Story;
use crate::cli::Connection;
use crate::cli::server::Demo;
use crate::connect::Services;
use crate::exit::{Exit, Failure};
use crate::render::json;
use crate::render::screen::Screen;
use crate::{assembly, up};

/// The configuration in the directory of the demonstration.
const CONFIG_FILE: &str = "confab.json5";
/// The databases in the directory of the demonstration.
const DATA_DIRECTORY: &str = "data";
/// What the server of the demonstration logs: only what somebody must act on.
const LOG_FILTER: &str = "error";

/// Plays and tells.
///
/// # Errors
/// When the server cannot start, a service refuses, or a claim does not hold.
pub async fn run(args: Demo, screen: &mut Screen) -> Result<Exit, Failure> {
    let place = Place::make(args.keep)?;
    let telemetry = quiet()?;
    let start = Instant::now();
    let ground = up::prepare(ServerArgs {
        config: Some(place.directory().join(CONFIG_FILE)),
        data: Some(place.directory().join(DATA_DIRECTORY)),
        listen: Some(([127, 0, 0, 1], 0).into()),
        http_listen: Some(HttpListen::Off),
    })?;
    let played = Box::pin(play(&ground, start)).await;
    ground.finish().await;
    telemetry.shutdown().await;
    let played = played?;
    tell(&played, &place, screen)
}

/// Logs would stand between the lines of the story.
fn quiet() -> Result<Telemetry, Failure> {
    let filter = confab_config::source::variable("RUST_LOG");
    let options = TelemetryOptions {
        service_name: "confab-demo".to_owned(),
        otlp_endpoint: None,
        log_filter: filter.unwrap_or_else(|| LOG_FILTER.to_owned()),
    };
    confab_telemetry::init(options)
        .map_err(|error| Failure::broken("logs cannot be set up", &error))
}

/// What was played.
struct Played {
    endpoint: String,
    ready: Duration,
    story: Story,
}

/// Serves and plays at the same time, until the play is over.
async fn play(ground: &Ground, start: Instant) -> Result<Played, Failure> {
    let (ready, is_ready) = oneshot::channel();
    let serving = assembly::serve(ground, |line| {
        // The play is over before the server is ready only when the person gave up.
        drop(ready.send(endpoint_of(line)));
    });
    let playing = async {
        let played = match is_ready.await {
            Ok(endpoint) => act(endpoint, start.elapsed()).await.map(Some),
            // The server says itself why it is not ready.
            Err(_) => Ok(None),
        };
        ground.stop.cancel();
        played
    };
    let (served, played) = tokio::join!(Box::pin(serving), Box::pin(playing));
    served?;
    played?.ok_or_else(|| Failure::new(Exit::Failed, "the server ended before it was ready"))
}

async fn act(endpoint: String, ready: Duration) -> Result<Played, Failure> {
    let connection = Connection {
        endpoint: endpoint.clone(),
        registry: None,
        transcript: None,
        runner: None,
        token: None,
        json: false,
    };
    let story = story::play(&Services::of(&connection)?).await?;
    Ok(Played {
        endpoint,
        ready,
        story,
    })
}

/// The address in the ready line.
fn endpoint_of(line: &str) -> String {
    line.split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap_or_default()
        .to_owned()
}

fn tell(played: &Played, place: &Place, screen: &mut Screen) -> Result<Exit, Failure> {
    let claims = proof::claims(&played.story);
    let stage = Stage {
        endpoint: &played.endpoint,
        ready: played.ready,
        kept: place.kept(),
    };
    screen.show(
        || record(&played.story, &claims),
        |paint, _| narrate::whole(&stage, &played.story, &claims, paint),
    )?;
    if claims.iter().all(|claim| claim.holds) {
        Ok(Exit::Done)
    } else {
        Err(Failure::new(
            Exit::Failed,
            "the demonstration went otherwise than told: see the lines with NO",
        ))
    }
}

fn record(story: &Story, claims: &[Claim]) -> Value {
    let claims = claims
        .iter()
        .map(|one| json!({ "claim": one.what, "holds": one.holds }));
    json!({
        "sessions": story.sessions,
        "flows": [story.person.record(), story.exchange.record()],
        "deliveries": story.deliveries.iter().map(json::delivery).collect::<Vec<_>>(),
        "claims": claims.collect::<Vec<_>>(),
    })
}

/// Where the configuration and the data lie.
enum Place {
    /// A directory that goes away with the demonstration.
    Temporary(TempDir),
    /// One that a person keeps.
    Kept(PathBuf),
}

impl Place {
    /// Makes the directory and writes the configuration into it.
    fn make(keep: Option<PathBuf>) -> Result<Self, Failure> {
        let place = match keep {
            None => tempfile::tempdir().map(Self::Temporary),
            Some(directory) if directory.join(DATA_DIRECTORY).exists() => {
                return Err(Failure::usage(format!(
                    "--keep: {} holds the data of an earlier demonstration",
                    directory.display()
                ))
                .hint("give another directory, or remove that one"));
            },
            Some(directory) => std::fs::create_dir_all(&directory).map(|()| Self::Kept(directory)),
        };
        let place = place.and_then(|place| {
            std::fs::write(place.directory().join(CONFIG_FILE), script::CONFIG)?;
            Ok(place)
        });
        place.map_err(|error| {
            Failure::broken("the directory of the demonstration cannot be made", &error)
        })
    }

    fn directory(&self) -> &Path {
        match self {
            Self::Temporary(directory) => directory.path(),
            Self::Kept(directory) => directory,
        }
    }

    fn kept(&self) -> Option<&Path> {
        match self {
            Self::Temporary(_) => None,
            Self::Kept(directory) => Some(directory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_read_from_the_ready_line() {
        let line = "confab ready on http://127.0.0.1:4711 http=off";
        assert_eq!(endpoint_of(line), "http://127.0.0.1:4711");
    }

    #[test]
    fn a_directory_with_data_is_not_played_in_twice() {
        let directory = tempfile::tempdir().unwrap();
        let keep = directory.path().join("demo");
        assert!(Place::make(Some(keep.clone())).is_ok());
        assert!(keep.join(CONFIG_FILE).exists());
        std::fs::create_dir(keep.join(DATA_DIRECTORY)).unwrap();
        assert_eq!(
            Place::make(Some(keep)).err().map(|failure| failure.exit),
            Some(Exit::Usage)
        );
    }
}
