//! Which transcript belongs to which session, and in which order they go in.
//!
//! Nothing that can be read is lost: a transcript that no session claims becomes an archived session
//! of its own.
//!
//! Source: run:T1, run:T27, D26.

mod order;
mod owners;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use confab_model::id::{AgentId, SessionId};
use confab_model::key::SessionKey;
use confab_proto::types::v1::Session;
use sha2::{Digest as _, Sha256};

use self::owners::Owners;
use super::gather::{self, Gathered, Row, Transcript};
use super::layout;
pub(crate) use super::layout::LayoutError;
use super::name::{Name, Stage};
use super::source::Source;
use super::{Fault, PassedOver, confine, entry};

/// Between the agent and the sessionId in the key of a transcript that no session claims.
const IMPORTED: &str = "imported";
/// Bytes of the digest that tells apart sessionIds that would be written alike in a key.
const DIGEST_BYTES: usize = 6;

/// What a directory holds, as it goes in.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The agents, in order.
    pub agents: Vec<Agent>,
    /// The sessions, spawners before whom they spawned.
    pub sessions: Vec<Planned>,
    /// What could not be read.
    pub faults: Vec<Fault>,
    /// Files that are no transcripts of their own.
    pub passed_over: Vec<PassedOver>,
    /// How often each field was met that is not understood.
    pub fields: BTreeMap<String, u64>,
}

/// An agent, and how much of it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    /// Its identifier.
    pub id: AgentId,
    /// Rows of its index that can be read.
    pub rows: usize,
    /// Transcripts of it.
    pub transcripts: usize,
}

/// A session as it goes in.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// The session.
    pub session: Session,
    /// Where it was found.
    pub file: String,
    /// Its earlier generations that something was said in, oldest first.
    pub earlier: Vec<String>,
    /// Its transcripts, in the order in which they go in.
    pub sources: Vec<Source>,
    /// Whether no index has it.
    pub unclaimed: bool,
    /// What of it could not be taken over.
    pub left_out: Vec<String>,
}

/// Reads a directory.
///
/// # Errors
/// When it cannot be read, or holds nothing that is known.
pub(crate) async fn of(dir: &Path) -> Result<Plan, LayoutError> {
    let layout = layout::find(dir)?;
    let mut gathered = gather::all(&layout).await;
    let agents = agents(&layout.places, &gathered);
    let doubles = one_row_a_key(&mut gathered);
    let mut owners = Owners::of(&gathered, &doubles);
    owners.claim_named_files(&layout.root, &mut gathered);
    owners.claim_by_name(&mut gathered);
    let (claimed, unclaimed) = owners.settle(&mut gathered);
    let mut sessions: Vec<Planned> = gathered.rows.drain(..).zip(claimed).map(planned).collect();
    sessions.extend(orphans(unclaimed, &mut gathered.faults));
    let sessions = one_session_a_key(sessions, &mut gathered.faults);
    Ok(Plan {
        agents,
        sessions: order::spawners_first(sessions),
        faults: gathered.faults,
        passed_over: gathered.passed_over,
        fields: gathered.fields,
    })
}

fn agents(places: &[layout::Place], gathered: &Gathered) -> Vec<Agent> {
    let ids: BTreeSet<&AgentId> = places.iter().map(|place| &place.agent).collect();
    let agents = ids.into_iter().map(|id| Agent {
        id: id.clone(),
        rows: gathered.rows.iter().filter(|row| row.agent == *id).count(),
        transcripts: gathered
            .transcripts
            .iter()
            .filter(|one| one.agent == *id)
            .count(),
    });
    agents.collect()
}

/// Keeps the newest of the rows that have one key, as an index with a short and a full form of it
/// has; the sessionIds of the others become earlier generations of it. They are told by key.
fn one_row_a_key(gathered: &mut Gathered) -> BTreeMap<SessionKey, Vec<String>> {
    let mut kept: Vec<Row> = Vec::new();
    let mut doubles: BTreeMap<SessionKey, Vec<String>> = BTreeMap::new();
    let mut at: BTreeMap<SessionKey, usize> = BTreeMap::new();
    for row in gathered.rows.drain(..) {
        let key = row.mapped.key.clone();
        let Some(first) = at.get(&key).and_then(|index| kept.get_mut(*index)) else {
            at.insert(key, kept.len());
            kept.push(row);
            continue;
        };
        let written = |row: &Row| {
            row.mapped
                .session
                .updated_at
                .map(|at| (at.seconds, at.nanos))
        };
        let older = if written(&row) > written(first) {
            std::mem::replace(first, row)
        } else {
            row
        };
        if older.mapped.session.session_id == first.mapped.session.session_id {
            complete(first, older);
            continue;
        }
        first.mapped.left_out.push(format!(
            "another row of the same key in {}, written earlier; its sessionId {} is an earlier \
             generation",
            older.file, older.mapped.session.session_id,
        ));
        let ids = doubles.entry(key).or_default();
        ids.extend(older.mapped.named);
        ids.push(older.mapped.session.session_id);
    }
    gathered.rows = kept;
    doubles
}

/// Gives a row what only an older row of the same generation knows: generations, which go before its
/// own, and the file.
fn complete(newer: &mut Row, older: Row) {
    let own = std::mem::take(&mut newer.mapped.named);
    let mut named = older.mapped.named;
    named.retain(|id| !own.contains(id));
    named.extend(own);
    newer.mapped.named = named;
    let is_found = newer.mapped.session_file.is_some() && newer.sessions.is_some();
    if !is_found && older.mapped.session_file.is_some() && older.sessions.is_some() {
        newer.mapped.session_file = older.mapped.session_file;
        newer.sessions = older.sessions;
    }
}

/// The sessions without those whose key an earlier one has; these are told, because only one session
/// can be stored under a key.
fn one_session_a_key(sessions: Vec<Planned>, faults: &mut Vec<Fault>) -> Vec<Planned> {
    let mut keys = BTreeSet::new();
    let mut kept = Vec::new();
    for one in sessions {
        if keys.insert(one.session.key.clone()) {
            kept.push(one);
            continue;
        }
        let (key, id) = (&one.session.key, &one.session.session_id);
        let reason = format!("the key {key} is met twice; the session {id} was not imported");
        faults.push(Fault::of(one.file, reason));
    }
    kept
}

/// A row with its transcripts, whose sessionIds are known, oldest first.
fn planned((row, transcripts): (Row, Vec<Transcript>)) -> Planned {
    let session = row.mapped.session;
    let mut earlier: Vec<String> = Vec::new();
    for found in &transcripts {
        let id = &found.source.session_id;
        if *id != session.session_id && !earlier.contains(id) {
            earlier.push(id.clone());
        }
    }
    Planned {
        session,
        file: row.file,
        earlier,
        sources: transcripts.into_iter().map(|found| found.source).collect(),
        unclaimed: false,
        left_out: row.mapped.left_out,
    }
}

/// Sessions of their own for transcripts that nobody claims, one for each agent and name.
fn orphans(transcripts: Vec<Transcript>, faults: &mut Vec<Fault>) -> Vec<Planned> {
    let mut groups: BTreeMap<(AgentId, String), Vec<Transcript>> = BTreeMap::new();
    for found in transcripts {
        let group = (found.agent.clone(), found.stem.clone());
        groups.entry(group).or_default().push(found);
    }
    let mut orphans = Vec::new();
    for ((agent, stem), mut group) in groups {
        owners::in_order(&mut group);
        match orphan(&agent, &stem, &group) {
            Ok(session) => orphans.push(Planned {
                session,
                file: group
                    .first()
                    .map(|found| found.source.name.clone())
                    .unwrap_or_default(),
                earlier: Vec::new(),
                sources: group.into_iter().map(|found| found.source).collect(),
                unclaimed: true,
                left_out: Vec::new(),
            }),
            Err(reason) => {
                faults.extend(group.iter().map(|one| Fault::of(&one.source.name, &reason)));
            },
        }
    }
    orphans
}

/// The archived session that holds what nobody claims.
fn orphan(agent: &AgentId, stem: &str, group: &[Transcript]) -> Result<Session, String> {
    let session_id = SessionId::parse(stem).map_err(|error| error.to_string())?;
    let key = format!("agent:{agent}:{IMPORTED}:{}", key_part(stem));
    let key = SessionKey::parse(&key).map_err(|error| error.to_string())?;
    let times: Vec<_> = group
        .iter()
        .map(|found| (found, found.source.times()))
        .collect();
    let began = times
        .iter()
        .find_map(|(found, times)| first_storable([found.began, times.first]));
    let written = times
        .iter()
        .rev()
        .find_map(|(found, times)| first_storable([found.put_aside, times.last, found.written]));
    Ok(Session {
        key: key.to_string(),
        session_id: session_id.to_string(),
        created_at: began.or(written),
        session_started_at: began.or(written),
        updated_at: written,
        archived_at: written,
        ..Session::default()
    })
}

/// The first of some moments that can be stored.
fn first_storable(
    moments: impl IntoIterator<Item = Option<prost_types::Timestamp>>,
) -> Option<prost_types::Timestamp> {
    let mut given = moments.into_iter().flatten();
    given.find_map(entry::storable)
}

/// A sessionId as part of a key. Where that cannot hold it as it is, a part of its digest follows, so
/// that no two sessionIds are written alike.
fn key_part(stem: &str) -> String {
    let letters = stem.chars().map(|letter| letter.to_ascii_lowercase());
    let plain: String = letters
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect();
    if plain == stem {
        return plain;
    }
    let mut part = plain + "-";
    for byte in Sha256::digest(stem.as_bytes()).iter().take(DIGEST_BYTES) {
        write!(part, "{byte:02x}").expect("writing to a String cannot fail");
    }
    part
}

/// Whether a letter of lower case, or another sign, means nothing in a key.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '-' | '_' | '.')
}
