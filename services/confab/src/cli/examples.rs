//! What stands below the options in every command's help: examples, and how the command ends.

pub(super) const PROGRAM: &str = r#"Start here:
  confab demo --keep DIR       two scripted agents, told step by step; keeps their configuration
  confab up --config DIR/confab.json5       the server; then, in another terminal:
  confab chat agent:writer:main "please review: a draft"

Exit status: 0 done; 1 failed (connection, internal); 2 wrong usage; 3 forbidden;
4 the tool or the run reported an error; 5 the time was over."#;

pub(super) const UP: &str = "Examples:
  confab up
  confab up --config confab.json5 --data ./confab-data --listen 127.0.0.1:7420

Prints `confab ready on http://ADDR http=ADDR` once all three services answer; logs go to
standard error. SIGTERM or Ctrl-C finishes what is in flight for up to 10 seconds, then exits 0.";

pub(super) const DEMO: &str = "Examples:
  confab demo
  confab demo --keep ./confab-demo      keeps the configuration and the data to play with

Exit status: 0 only if everything that was told really happened.";

pub(super) const CONFIG_CHECK: &str = "Examples:
  confab config check confab.json5
  confab config check confab.json5 --effective      every setting in force, defaults marked

Exit status: 0 it can be used (perhaps with warnings); 1 it cannot be read; 4 it has problems.";

pub(super) const TOKEN_MINT: &str = r#"Examples:
  export CONFAB_TOKEN="$(confab token mint --role operator --ttl 1h --config confab.json5)"
  confab token mint --role agent --session agent:writer:main

confab.auth.keys of the file name the environment variable that holds the secret (secretEnv)."#;

pub(super) const TOOL: &str = r#"Examples:
  confab tool sessions_list
  confab tool sessions_send --as agent:writer:main \
      '{"sessionKey":"agent:editor:main","message":"hello"}'
  echo '{"sessionKey":"main"}' | confab tool sessions_history -

Exit status: 0 done; 2 the argument is no JSON; 3 forbidden; 4 the tool reported an error;
5 status "timeout"."#;

pub(super) const TOOLS: &str = "Examples:
  confab tools --as agent:writer:main
  confab tools --as agent:writer:main --all      also those it does not have, and why";

pub(super) const CHAT: &str = r#"Examples:
  confab chat agent:writer:main "please review"
  confab chat agent:ops:slack:channel:alerts "deploy?" --sender ada \
      --channel slack --to channel:alerts

Exit status: 0 the run ended well or waits for its children; 4 it ended badly; 5 the time was
over (the run goes on; `confab runs wait` waits again)."#;

pub(super) const SESSIONS_LIST: &str = "Examples:
  confab sessions list --agent writer --active-minutes 60
  confab sessions list --kind main --kind group --titles --previews
  confab sessions list --archived --json

Rows that cannot be read whole are marked with `!`; what is wrong stands below the table.
With --json the output is the result of the tool sessions_list, as it is.";

pub(super) const SESSIONS_GET: &str = "Example:
  confab sessions get agent:writer:main";

pub(super) const SESSIONS_CREATE: &str = r"Examples:
  confab sessions create agent:writer:main
  confab sessions create agent:editor:slack:channel:reviews --chat-type channel \
      --channel slack --to channel:reviews --account acme --thread 17";

pub(super) const SESSIONS_PATCH: &str = r#"Examples:
  confab sessions patch agent:writer:main '{"label":"drafts","sendPolicy":null}'
  echo '{"archived":true,"category":"done"}' | confab sessions patch agent:writer:cron:daily -

Exit status: 0 done; 2 the text is no JSON object; 3 forbidden; 4 fields were refused, all of
them are told, and nothing is changed."#;

pub(super) const SESSIONS_RESET: &str = "Examples:
  confab sessions reset agent:writer:main
  confab sessions reset agent:writer:main --force --expect 0198c1a2-7b3c-7000-8000-000000000003

The key, its settings and its route stay. What was said before stays readable under the old
sessionId.";

pub(super) const SESSIONS_ARCHIVE: &str = "Example:
  confab sessions archive agent:writer:slack:channel:old

It can be read as before; `confab sessions restore` opens it again. Main sessions are not archived.";

pub(super) const SESSIONS_RESTORE: &str = "Example:
  confab sessions restore agent:writer:slack:channel:old";

pub(super) const SESSIONS_DELETE: &str = "Examples:
  confab sessions delete agent:writer:slack:channel:old --archived-only
  confab sessions delete agent:writer:cron:daily --force

Its row, its state changes and who watches it are gone. Its messages are kept in the transcript
database, out of everybody's reach. Main sessions are not deleted.";

pub(super) const SESSIONS_STATUS: &str = "Examples:
  confab sessions status agent:writer:main
  confab sessions status agent:writer:main --since 41
  confab sessions status agent:writer:main --model default";

pub(super) const SESSIONS_WATCH: &str = "Examples:
  confab sessions watch
  confab sessions watch --json --after CURSOR      goes on after a change that was shown

A line has the time, the session, what happened (`changed`, `deleted`, or `gap`: changes are lost,
read everything anew) and the cursor of the change. Ends with 0 on Ctrl-C and when the server stops.";

pub(super) const SESSIONS_EXPORT: &str = "Examples:
  confab sessions export agent:writer:main > writer.jsonl
  confab sessions export agent:writer:main --raw --output writer.jsonl
  confab sessions export 0198c1a2-7b3c-7000-8000-000000000003 | head

Without --raw it is what a history would show: cleaned, secrets masked. With --raw it is what was
stored, line by line, as `confab import` reads it. A file is complete or is not there.";

pub(super) const IMPORT_OPENCLAW: &str = "Examples:
  confab import openclaw ~/.openclaw --dry-run
  confab import openclaw ~/.openclaw
  confab import openclaw ./backup/agents/main/sessions --json

Reads sessions.json, transcripts, archives of resets and deletions, and the databases of newer
releases. Ids and times are kept; importing twice changes nothing more, and an import that was cut
short goes on when it is started again. A session that exists with other content is left alone
unless --replace is given; then what it held becomes an earlier generation of it. A transcript that
no session claims goes in as an archived session `agent:ID:imported:SESSION_ID`.

Exit status: 0 everything that can be read is in, lines that cannot be read are told; 1 no
connection, or something broke; 2 wrong usage, or the directory cannot be read or holds no sessions;
3 forbidden; 4 something was refused, left alone or could not be read; 5 the time was over. After 1
and 5 the same command goes on.";

pub(super) const SESSIONS_SWEEP: &str = "Examples:
  confab sessions sweep --dry-run
  confab sessions sweep

Sweeping twice changes nothing more. What is pinned, at work or a main session is left alone.
Exit status: 0 done, sessions at work are left to the next sweep; 4 some could not be swept.";

pub(super) const AGENTS_LIST: &str = "Example:
  confab agents list";

pub(super) const POLICY_EXPLAIN: &str = r"Examples:
  confab policy explain --session agent:editor:main --as agent:writer:main
  confab policy explain --session agent:editor:slack:channel:reviews --channel slack \
      --as agent:writer:main --tool sessions_history

Exit status: 0 whatever the verdict, for it only explains; in --json the verdict is `allowed`.";

pub(super) const RUNS_GET: &str = "Example:
  confab runs get 0198c1a2-7b3c-7000-8000-000000000001";

pub(super) const RUNS_LIST: &str = "Example:
  confab runs list --session agent:writer:main --state running";

pub(super) const RUNS_WAIT: &str = "Example:
  confab runs wait 0198c1a2-7b3c-7000-8000-000000000001 --seconds 60

Exit status: 0 it ended well or waits for its children; 4 it ended badly; 5 the time was over.";

pub(super) const FLOWS_GET: &str = "Example:
  confab flows get 0198c1a2-7b3c-7000-8000-000000000002";

pub(super) const FLOWS_LIST: &str = "Example:
  confab flows list --session agent:editor:main";

pub(super) const FLOWS_WAIT: &str = "Example:
  confab flows wait 0198c1a2-7b3c-7000-8000-000000000002 --seconds 60

Exit status: 0 it is done; 5 the time was over (the flow goes on).";

pub(super) const DELIVERIES_LIST: &str = "Example:
  confab deliveries list --state failed --channel slack";

pub(super) const COMPLETIONS: &str = "Example:
  confab completions bash > ~/.local/share/bash-completion/completions/confab";
