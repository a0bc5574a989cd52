//! Whose a transcript is.
//!
//! An index entry owns the file it names, what bears its sessionId, and the generations before it
//! that it, an older entry of its key, or a database names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use confab_model::id::AgentId;
use confab_model::key::SessionKey;

use super::{Fault, Gathered, Name, PassedOver, Row, Stage, Transcript, confine, gather};
use crate::openclaw::name;

/// A sessionId in the directory or database of an agent.
type Generation = (AgentId, String);

/// Where a generation stands: which row's it is, and which of the row's; the present one is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    row: usize,
    rank: usize,
}

/// Who owns which generation, and which transcript.
#[derive(Debug)]
pub(super) struct Owners {
    generations: BTreeMap<Generation, Claim>,
    /// For each transcript its owner, and the sessionId it belongs to.
    transcripts: Vec<Option<(Claim, String)>>,
    /// For each row the stem of the transcript of its present generation.
    stems: Vec<Option<String>>,
}

impl Owners {
    /// Those that the rows and the databases name; the present generations before all others.
    pub(super) fn of(gathered: &Gathered, doubles: &BTreeMap<SessionKey, Vec<String>>) -> Self {
        let mut owners = Self {
            generations: BTreeMap::new(),
            transcripts: vec![None; gathered.transcripts.len()],
            stems: vec![None; gathered.rows.len()],
        };
        for (row, found) in gathered.rows.iter().enumerate() {
            let rank = usize::MAX;
            owners.claim(
                &found.agent,
                &found.mapped.session.session_id,
                Claim { row, rank },
            );
        }
        let mut windows: BTreeMap<&SessionKey, Vec<&String>> = BTreeMap::new();
        for one in &gathered.generations {
            windows.entry(&one.key).or_default().push(&one.session_id);
        }
        for (row, found) in gathered.rows.iter().enumerate() {
            let key = &found.mapped.key;
            let doubles = doubles.get(key).into_iter().flatten();
            let windows = windows.get(key).into_iter().flatten().copied();
            let named = found.mapped.named.iter();
            for (rank, id) in named.chain(doubles).chain(windows).enumerate() {
                owners.claim(&found.agent, id, Claim { row, rank });
            }
        }
        owners
    }

    /// The first to claim a generation has it.
    fn claim(&mut self, agent: &AgentId, session_id: &str, claim: Claim) {
        let generation = (agent.clone(), session_id.to_owned());
        self.generations.entry(generation).or_insert(claim);
    }

    fn claim_of(&self, agent: &AgentId, session_id: &str) -> Option<Claim> {
        let generation = (agent.clone(), session_id.to_owned());
        self.generations.get(&generation).copied()
    }

    /// Gives each row the file it names. One that leads out of the directory is told and not read.
    pub(super) fn claim_named_files(&mut self, root: &Path, gathered: &mut Gathered) {
        let listed = gathered.transcripts.iter().enumerate();
        let mut listed: BTreeMap<PathBuf, usize> = listed
            .filter_map(|(index, one)| Some((one.path.clone()?, index)))
            .collect();
        for (row, found) in gathered.rows.iter().enumerate() {
            let (Some(given), Some(sessions)) = (&found.mapped.session_file, &found.sessions)
            else {
                continue;
            };
            let real = match confine::session_file(root, sessions, given) {
                Ok(Some(real)) => real,
                Ok(None) => continue,
                Err(reason) => {
                    let reason = format!("sessionFile of {}: {reason}", found.mapped.key);
                    gathered.faults.push(Fault::of(&found.file, reason));
                    continue;
                },
            };
            let index = *listed.entry(real.clone()).or_insert_with(|| {
                gathered.transcripts.push(unlisted(root, found, real));
                self.transcripts.push(None);
                gathered.transcripts.len().saturating_sub(1)
            });
            let session_id = &found.mapped.session.session_id;
            self.give_present(index, row, session_id, &gathered.transcripts);
        }
    }

    /// Makes a transcript that of the row's present generation, if nobody has it yet.
    fn give_present(
        &mut self,
        index: usize,
        row: usize,
        session_id: &str,
        transcripts: &[Transcript],
    ) {
        let Some(slot) = self
            .transcripts
            .get_mut(index)
            .filter(|slot| slot.is_none())
        else {
            return;
        };
        let rank = usize::MAX;
        *slot = Some((Claim { row, rank }, session_id.to_owned()));
        let stem = transcripts.get(index).map(|one| one.stem.clone());
        if let Some(own) = self.stems.get_mut(row) {
            *own = stem;
        }
    }

    /// Gives every other transcript to who owns its sessionId. A transcript of a thread belongs to
    /// the session of that thread, and not to another that shares the sessionId.
    pub(super) fn claim_by_name(&mut self, gathered: &mut Gathered) {
        for (index, found) in gathered.transcripts.iter().enumerate() {
            if self.transcripts.get(index).is_some_and(Option::is_some) {
                continue;
            }
            let owner = self.owner(found, &gathered.rows);
            if let Some(slot) = self.transcripts.get_mut(index) {
                *slot = owner;
            }
        }
    }

    fn owner(&self, found: &Transcript, rows: &[Row]) -> Option<(Claim, String)> {
        if let Some(claim) = self.claim_of(&found.agent, &found.stem) {
            return Some((claim, found.stem.clone()));
        }
        let (session_id, thread) = name::topic(&found.stem)?;
        let claim = self.claim_of(&found.agent, session_id)?;
        let row = rows.get(claim.row)?;
        let own = self.stems.get(claim.row).and_then(Option::as_deref);
        let is_own = own.map_or_else(
            || is_of_thread(row, thread),
            |own| name::topic(own).is_some_and(|(_, own)| own == thread),
        );
        is_own.then(|| (claim, session_id.to_owned()))
    }

    /// The transcripts of each row, in the order in which they go in, and those of nobody. A copy
    /// made before a compaction is passed over where what it was copied from is there.
    pub(super) fn settle(self, gathered: &mut Gathered) -> (Vec<Vec<Transcript>>, Vec<Transcript>) {
        let found: Vec<Transcript> = gathered.transcripts.drain(..).collect();
        let originals: BTreeSet<Generation> = found
            .iter()
            .filter(|one| one.stage != Stage::Checkpoint)
            .map(|one| (one.agent.clone(), one.stem.clone()))
            .collect();
        let mut claimed: Vec<Vec<(Claim, Transcript)>> = Vec::new();
        claimed.resize_with(gathered.rows.len(), Vec::new);
        let mut unclaimed = Vec::new();
        for (mut one, owner) in found.into_iter().zip(self.transcripts) {
            let original = (one.agent.clone(), one.stem.clone());
            if one.stage == Stage::Checkpoint && originals.contains(&original) {
                gathered.passed_over.push(PassedOver {
                    file: one.source.name,
                    reason: "a copy made before a compaction; the transcript itself is there",
                });
                continue;
            }
            match owner.and_then(|(claim, id)| Some((claimed.get_mut(claim.row)?, claim, id))) {
                Some((own, claim, session_id)) => {
                    one.source.session_id = session_id;
                    own.push((claim, one));
                },
                None => unclaimed.push(one),
            }
        }
        (claimed.into_iter().map(oldest_first).collect(), unclaimed)
    }
}

/// A transcript that lies where none is looked for, and that its row names.
fn unlisted(root: &Path, row: &Row, real: PathBuf) -> Transcript {
    let name = Name {
        stem: row.mapped.session.session_id.clone(),
        stage: Stage::Live,
        compressed: real.extension().is_some_and(|ending| ending == "zst"),
    };
    gather::transcript(root, &row.agent, name, &real.clone(), real)
}

/// Whether a row is the session of this thread.
fn is_of_thread(row: &Row, thread: &str) -> bool {
    let key = row.mapped.key.as_str();
    let ends = |word: &str| key.ends_with(&format!(":{word}:{thread}"));
    ends("topic") || ends("thread") || row.mapped.thread.as_deref() == Some(thread)
}

/// By generation, and within one by their life.
fn oldest_first(mut own: Vec<(Claim, Transcript)>) -> Vec<Transcript> {
    own.sort_by_key(|(claim, one)| (claim.rank, life(one)));
    own.into_iter().map(|(_, one)| one).collect()
}

/// Puts transcripts of one generation into the order of their life.
pub(super) fn in_order(transcripts: &mut [Transcript]) {
    transcripts.sort_by_key(life);
}

/// What was put aside comes before what is in use, and a file before a database that took it over.
fn life(one: &Transcript) -> (Stage, bool, Option<(i64, i32)>, String) {
    let put_aside = one.put_aside.map(|at| (at.seconds, at.nanos));
    (
        one.stage,
        one.path.is_none(),
        put_aside,
        one.source.name.clone(),
    )
}
