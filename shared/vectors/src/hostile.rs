//! Texts that would cost a sanitiser the square of their length if a search in it looked twice at the
//! same stretch.

/// A name, and what makes a text of at least as many bytes.
pub type Shape = (&'static str, fn(usize) -> String);

/// Every shape, from one mark that is repeated to all of them in turn.
pub const SHAPES: [Shape; 34] = [
    ("<think", |bytes| repeated("<think", bytes)),
    ("<think>", |bytes| repeated("<think>", bytes)),
    ("</think>", |bytes| repeated("</think>", bytes)),
    ("x</think>", |bytes| repeated("x</think>", bytes)),
    ("<think a=\"", |bytes| repeated("<think a=\"", bytes)),
    ("<think>…</think>", |bytes| {
        twofold("<think>", "</think>", bytes)
    }),
    ("<th<think></think>ink>", |bytes| {
        inside("<th", "<think></think>", "ink>", bytes)
    }),
    ("<final ", |bytes| repeated("<final ", bytes)),
    ("<final a='", |bytes| repeated("<final a='", bytes)),
    ("<relevant-memories>", |bytes| {
        repeated("<relevant-memories>", bytes)
    }),
    ("<|", |bytes| repeated("<|", bytes)),
    ("<|…|>", |bytes| inside("<|a", "<|x|>", "|>", bytes)),
    ("<tool_call>{", |bytes| repeated("<tool_call>{", bytes)),
    ("<tool_call {\"", |bytes| repeated("<tool_call {\"", bytes)),
    ("<function name=", |bytes| {
        repeated("\n<function name=", bytes)
    }),
    ("<function name=…>{\"", |bytes| {
        repeated("\n<function name=a\">{\"", bytes) + "</function>"
    }),
    ("<function=a>", |bytes| {
        repeated("<function=a><parameter=b>\n", bytes)
    }),
    ("<function_response>", |bytes| {
        repeated("\n<function_response>x", bytes)
    }),
    ("<invoke", |bytes| repeated("<invoke", bytes)),
    ("<invoke>, minimax", |bytes| {
        "<minimax:tool_call>".to_owned() + &repeated("<invoke name=\"a\">", bytes)
    }),
    ("]<]minimax[>[<tool_call>", |bytes| {
        repeated("]<]minimax[>[<tool_call>", bytes)
    }),
    ("<|channel|>…{", |bytes| {
        repeated("\n<|channel|>commentary to=a code<|message|>{", bytes)
    }),
    ("[Tool Call:", |bytes| repeated("[Tool Call:", bytes)),
    ("[Tool Call: x] Arguments: {", |bytes| {
        repeated("[Tool Call: x]\nArguments: {\n", bytes)
    }),
    ("[Tool Result for ID", |bytes| {
        repeated("[Tool Result for ID", bytes)
    }),
    ("[TOOL_CALL]", |bytes| {
        repeated("[TOOL_CALL]", bytes) + "[/TOOL_CALL]"
    }),
    ("[a]\\n{", |bytes| repeated("[a]\n{\n", bytes)),
    ("[tool:a]{\"", |bytes| repeated("[tool:a]{\"\n", bytes)),
    ("🔍 Search", |bytes| {
        repeated("🔍 Search:\n \t🔍 Search", bytes)
    }),
    ("backticks", growing_backticks),
    ("~~~", |bytes| repeated("~~~\n<think>", bytes)),
    ("quotes", |bytes| {
        repeated("<tool_call>\"\\\"'\"{\"'<final a='\"", bytes)
    }),
    ("blanks", |bytes| repeated("<  \t  /  \n think  ", bytes)),
    ("all in turn", |bytes| {
        repeated(
            "<think<think a=\"<|x</think><tool_call>{\"`[Tool Call:\n[TOOL_CALL]<invoke name=\"x\">~~~\
             <relevant-memories\n```\n<function name=\"a\">{<final ``</tool_call>🔍 Search: \u{301}",
            bytes,
        )
    }),
];

fn repeated(part: &str, bytes: usize) -> String {
    part.repeat(bytes.div_ceil(part.len()))
}

/// As many openings as closings, all openings first.
fn twofold(open: &str, close: &str, bytes: usize) -> String {
    repeated(open, bytes / 2) + &repeated(close, bytes / 2)
}

/// Marks that become further marks when those in their middle are taken out.
fn inside(start: &str, middle: &str, end: &str, bytes: usize) -> String {
    let depth = bytes / (start.len() + end.len());
    start.repeat(depth) + middle + &end.repeat(depth)
}

/// Runs of backticks, each longer than the one before, so that none closes another.
fn growing_backticks(bytes: usize) -> String {
    let mut text = String::from("<think> ");
    let mut length = 1;
    while text.len() < bytes {
        text.extend(std::iter::repeat_n('`', length));
        text.push_str("<a");
        length += 1;
    }
    text
}
