//! One case a rule.

use super::strip;

#[test]
fn blocks_go_with_their_tags() {
    let cases = [
        ("A<tool_calls>[{\"a\":1}]</tool_calls>B", "AB", "run:Z7"),
        (
            "A<Function_Calls>\n<invoke name=\"x\">1</invoke></function_calls>B",
            "AB",
            "run:Z8",
        ),
        (
            "A<tool_call>\n<function=read>x</function></tool_call>B",
            "AB",
            "run:Z8",
        ),
        (
            "A<invoke name=\"x\"><parameter name=\"p\">1</parameter></invoke>B",
            "AB",
            "run:Z7",
        ),
        ("A<tool_call {\"a\":1}</tool_call>B", "AB", "run:Z10"),
        (
            "A<tool_call id=\"1\" {\"a\":\"<b>\"}</tool_call>B",
            "AB",
            "run:Z10",
        ),
        ("A<tool_result>{\"a\":1}</tool_call>B", "AB", "run:Z12"),
        ("A<tool_call>{\"a\":\"`\"}</tool_call>B`", "AB`", "run:Z1"),
        (
            "\n<function name=\"a\">{}</function><function name=\"b\">{}</function>B",
            "\nB",
            "run:Z11",
        ),
        (
            "A\n<function_response>x</function_response>B",
            "A\nB",
            "run:Z13",
        ),
        ("A\n<function_response>\nx", "A\n", "run:Z13"),
        (
            "A<function_response>{\"a\":1}</function_response>B",
            "AB",
            "run:Z8",
        ),
    ];
    for (text, expected, id) in cases {
        assert_eq!(strip(text).as_deref(), Some(expected), "{id} {text:?}");
    }
}

#[test]
fn a_prefix_changes_nothing() {
    let prefixed = |text: &str| text.replace('@', "antml:");
    let text = prefixed("A<@invoke name=\"x\"><@parameter name=\"p\">1</@parameter></@invoke>B");
    assert_eq!(strip(&text).as_deref(), Some("AB"), "run:Z7");
    let text = prefixed("A <@parameter name=\"p\">1</@parameter>");
    assert_eq!(strip(&text).as_deref(), Some("A 1"), "run:Z7");
}

#[test]
fn what_is_cut_off_goes_to_the_end() {
    for cut_off in [
        "<tool_call>{\"a\":\"x</tool_call>y",
        "<tool_call {\"a\":",
        "<tool_call id=\"1",
        "<tool_call id=\"1\"",
        "<tool_call",
        "<function_calls><invoke name=\"x\"><parameter name=\"p\">y",
        "<invoke name=\"x\">\n<parameter",
        "<tool_result>[",
        "</tool_call",
    ] {
        let text = format!("A {cut_off}");
        assert_eq!(strip(&text).as_deref(), Some("A "), "run:Z10 B159 {text:?}");
    }
}

#[test]
fn tags_alone_go_alone() {
    let cases = [
        (
            "A<tool_call/>B</function>C<tool_result id=\"1\" />D",
            "ABCD",
            "run:Z9",
        ),
        (
            "<tool_call> tags: </tool_call></tool_call>",
            "<tool_call> tags: </tool_call>",
            "run:Z9",
        ),
        ("a <parameter>x</parameter> b", "a x b", "run:Z7"),
    ];
    for (text, expected, id) in cases {
        assert_eq!(strip(text).as_deref(), Some(expected), "{id} {text:?}");
    }
}

#[test]
fn prose_and_code_stay() {
    let cases = [
        "Models use <tool_call> tags, see <tool_calls> [1].",
        "Write `<tool_call>{\"a\":1}</tool_call>`.",
        "the <function name=\"a\">{}</function> form",
        "\n<function>{}</function>",
        "A\n<function name=\"a\"><parameter name=\"p\">x</parameter>",
        "\n<function name=\"a\"",
        "The <function_response> tag",
        "<function_response> begins a response",
        "<invoke>{}</invoke>",
        "<tool_calling>{}</tool_calling>",
        "<tool_call to do so",
        "<invoice>7</invoice>",
    ];
    for text in cases {
        assert_eq!(strip(text), None, "run:Z8 run:Z11 {text:?}");
    }
}

#[test]
fn a_function_that_stays_hides_no_later_call() {
    let text = "\n<function name=\"a\">{}\n<tool_call>{\"b\":1}</tool_call>C";
    let left = "\n<function name=\"a\">{}\nC";
    assert_eq!(strip(text).as_deref(), Some(left), "run:Z10");
}
