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

pub(super) const CONFIG_CHECK: &str = "Example:
  confab config check confab.json5

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

pub(super) const TOOLS: &str = "Example:
  confab tools --as agent:writer:main";

pub(super) const CHAT: &str = r#"Examples:
  confab chat agent:writer:main "please review"
  confab chat agent:ops:slack:channel:alerts "deploy?" --sender ada \
      --channel slack --to channel:alerts

Exit status: 0 the run ended well or waits for its children; 4 it ended badly; 5 the time was
over (the run goes on; `confab runs wait` waits again)."#;

pub(super) const SESSIONS_LIST: &str = "Examples:
  confab sessions list --agent writer --active-minutes 60
  confab sessions list --kind main --kind group --json";

pub(super) const SESSIONS_GET: &str = "Example:
  confab sessions get agent:writer:main";

pub(super) const SESSIONS_CREATE: &str = r"Examples:
  confab sessions create agent:writer:main
  confab sessions create agent:editor:slack:channel:reviews --chat-type channel \
      --channel slack --to channel:reviews --account acme --thread 17";

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
