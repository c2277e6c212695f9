#!/bin/sh
# bats_forms.sh - finds statements in Bats tests that cannot fail, or that lose an exit status
#
#   build-aux/bats_forms.sh [FILE...]    checks the files; by default tests/*.bats and tests/*.bash
#
# Bats runs tests with set -e and, by tests/helpers.bash, with pipefail.  Even so, the shell passes
# over some failures.  The script prints file, line and a message for each such form, and fails:
#
# - A && B that is not the last statement of its function: if A fails, the shell goes on.  Write two
#   statements, or add || fail.  B may be break, continue, return, exit, skip or an assignment.
# - ! A that is not the last statement: the shell goes on.  Write ! A || fail "...".
# - A || true where A is an assertion.
# - ! A | B: if A fails, the statement succeeds.  Let A write a file.
# - A | head, A | grep -q: these may end before they have read everything, and then A may end by
#   SIGPIPE, at random.  Write A | reads_all head, or endless A | head (tests/helpers.bash).
# - <(A) and >(A): nobody looks at A's status.  Write A | cmp - FILE, or let A write a file.
# - local x=$(A), also with export, readonly and declare: the status is local's.
# - run A, if neither the status nor the output is looked at.
# - f || B, and f in a condition, if f has an assertion before its last statement: in f, too, the
#   shell then passes over failures.  Write [ ... ] || return 1 in f, or call f as a statement.
# - set +e and set +o pipefail, and a Bats file that does not load helpers.
#
# A comment "# allowed: REASON" at the end of a statement's first line, or alone on the line before,
# allows all of these there.  The script does not look into here-documents, nor into strings that
# are scripts.
set -u

if [ $# -eq 0 ]; then
    cd "$(dirname "$0")/.." || exit 2
    set -- tests/*.bats tests/*.bash
fi

# shellcheck disable=SC2016 # the program is awk's
LC_ALL=C exec awk '
# The lexer.  Tokens are numbered from 1 to tokens: kind[] is "word", "redirect", or the operator
# itself; value[] the text, line_of[] the line, at[] the place in text.

function add_token(k, v, where) {
    kind[++tokens] = k
    value[tokens] = v
    line_of[tokens] = line
    at[tokens] = where
}

function count_lines(s) {
    return gsub(/\n/, "", s)
}

# Returns the place after the closing quote; p is the place after the opening one.
function after_single(p, escapes,    c) {
    while ((c = substr(text, p, 1)) != "" && c != "\047")
        p += escapes && c == "\\" ? 2 : 1
    return p + 1
}

function after_double(p,    c) {
    while ((c = substr(text, p, 1)) != "" && c != "\"") {
        if (c == "\\")
            p += 2
        else if (c == "$")
            p = after_dollar(p)
        else if (c == "`")
            p = after_backquote(p + 1)
        else
            p++
    }
    return p + 1
}

function after_backquote(p,    c) {
    while ((c = substr(text, p, 1)) != "" && c != "`")
        p += c == "\\" ? 2 : 1
    return p + 1
}

# p is the place of a dollar sign.
function after_dollar(p,    c, end) {
    c = substr(text, p + 1, 1)
    if (c == "(" && substr(text, p + 2, 1) != "(") {
        end = after_closing(p + 2, "(", ")")
        commands[++inner] = substr(text, p + 2, end - p - 3)
        commands_line[inner] = line
        return end
    }
    if (c == "(")
        return after_closing(p + 2, "(", ")")
    if (c == "{")
        return after_closing(p + 2, "{", "}")
    return p + 1
}

# Returns the place after the closing parenthesis or brace; p is the place after the opening one.
function after_closing(p, open, close_,    c, depth) {
    depth = 1
    while ((c = substr(text, p, 1)) != "") {
        if (c == "\\")
            p += 2
        else if (c == "\047" && open == "(")
            p = after_single(p + 1, substr(text, p - 1, 1) == "$")
        else if (c == "\"")
            p = after_double(p + 1)
        else if (c == "$" && substr(text, p + 1, 1) ~ /[({]/)
            p = after_dollar(p)
        else if (c == "#" && open == "(" && substr(text, p - 1, 1) ~ /[ \n]/)
            p += index(substr(text, p), "\n") - 1
        else {
            if (c == open)
                depth++
            else if (c == close_ && --depth == 0)
                return p + 1
            p++
        }
    }
    return p
}

# Returns the place after the word at p.
function after_word(p,    c, next_) {
    while ((c = substr(text, p, 1)) != "") {
        next_ = substr(text, p + 1, 1)
        if (c == "\\")
            p += 2
        else if (c == "\047")
            p = after_single(p + 1, substr(text, p - 1, 1) == "$")
        else if (c == "\"")
            p = after_double(p + 1)
        else if (c == "$")
            p = after_dollar(p)
        else if (c == "`")
            p = after_backquote(p + 1)
        else if (c == "(" && substr(text, p - 1, 1) == "=")
            p = after_closing(p + 1, "(", ")")
        else if (c ~ /[<>]/ && next_ == "(") {
            substitution[line] = 1
            p = after_closing(p + 2, "(", ")")
        } else if (c ~ /[ \t\n;&|()<>]/)
            break
        else
            p++
    }
    return p
}

# Returns the place after the here-documents that begin in the line that ends before p.
function after_documents(p,    i, end, s) {
    for (i = 1; i <= documents; i++) {
        do {
            end = index(substr(text, p), "\n")
            if (end == 0)
                return length(text) + 1
            s = substr(text, p, end - 1)
            p += end
            line++
            if (document_tabs[i])
                sub(/^\t+/, "", s)
        } while (s != document[i])
    }
    documents = 0
    return p
}

function lex(    p, c, two, end, s, blank) {
    p = 1
    tokens = documents = 0
    while ((c = substr(text, p, 1)) != "") {
        two = substr(text, p, 2)
        if (c == "\n") {
            add_token(";", "", p)
            line++
            p = after_documents(p + 1)
        } else if (two == "\\\n") {
            line++
            p += 2
        } else if (c ~ /[ \t]/)
            p++
        else if (c == "#") {
            s = substr(text, p)
            end = index(s, "\n")
            s = substr(s, 1, end - 1)
            if (s ~ /^# allowed: [^ ]/) {
                blank = substr(text, 1, p - 1)
                sub(/.*\n/, "", blank)
                allowed[blank ~ /^ *$/ ? line + 1 : line] = 1
            }
            p += end - 1
        } else if (two == "((") {
            end = after_closing(p + 1, "(", ")")
            add_token("word", substr(text, p, end - p), p)
            line += count_lines(substr(text, p, end - p))
            p = end
        } else if (two == "&&" || two == "||" || two == ";;") {
            add_token(two, "", p)
            p += 2
        } else if (two == "&>" || c ~ /[<>]/ && substr(text, p + 1, 1) != "(")
            p = lex_redirection(p)
        else if (c ~ /[;&|()]/) {
            add_token(c == "&" ? ";" : c, c, p)
            p++
        } else {
            end = after_word(p)
            s = substr(text, p, end - p)
            add_token("word", s, p)
            line += count_lines(s)
            p = end
        }
    }
    add_token(";", "", p)
    add_token("end", "", p)
}

# Lexes a redirection with its word, and returns the place after it.
function lex_redirection(p,    operator, end, s, is_document) {
    match(substr(text, p), /^(&>>?|<<<|<<-?|<>|>>|>\||[<>]&|[<>])/)
    operator = substr(text, p, RLENGTH)
    p += RLENGTH
    while (substr(text, p, 1) ~ /[ \t]/)
        p++
    # A number before it belongs to it.
    if (kind[tokens] == "word" && value[tokens] ~ /^[0-9]+$/ &&
        at[tokens] + length(value[tokens]) == p - length(operator))
        tokens--
    end = after_word(p)
    s = substr(text, p, end - p)
    add_token("redirect", operator s, p)
    if (operator ~ /^<<-?$/) {
        gsub(/[\\\047"]/, "", s)
        document[++documents] = s
        document_tabs[documents] = operator == "<<-"
    } else
        line += count_lines(s)
    return end
}

# The parser.  It makes nodes: type[], children[] (numbers separated by blanks), words[] (the words
# of a simple command, separated by newlines), where[] (the number of the first token).

function new_node(t) {
    type[++nodes] = t
    children[nodes] = words[nodes] = last_operator[nodes] = ""
    negated[nodes] = 0
    where[nodes] = now
    return nodes
}

function add_child(n, child) {
    children[n] = children[n] (children[n] == "" ? "" : " ") child
}

function is_word(s) {
    return kind[now] == "word" && value[now] == s
}

function skip_separators() {
    while (kind[now] == ";")
        now++
}

function at_end_of_list() {
    return kind[now] == "end" || kind[now] == ")" || kind[now] == ";;" ||
        kind[now] == "word" && value[now] ~ /^(then|do|done|fi|else|elif|esac|[}])$/
}

function syntax_error() {
    if (!lost)
        complain(line_of[now], "bats_forms.sh does not understand this")
    lost = 1
    now = tokens
}

function expect(s) {
    skip_separators()
    if (is_word(s) || kind[now] == s)
        now++
    else
        syntax_error()
}

function parse_list(    n) {
    n = new_node("list")
    skip_separators()
    while (!at_end_of_list()) {
        add_child(n, parse_and_or())
        skip_separators()
    }
    finish[n] = now
    return n
}

function parse_and_or(    n) {
    n = new_node("and_or")
    add_child(n, parse_pipe())
    while (kind[now] == "&&" || kind[now] == "||") {
        last_operator[n] = kind[now++]
        skip_separators()
        add_child(n, parse_pipe())
    }
    return n
}

function parse_pipe(    n) {
    n = new_node("pipe")
    while (is_word("!")) {
        negated[n] = !negated[n]
        now++
    }
    add_child(n, parse_command())
    while (kind[now] == "|") {
        now++
        skip_separators()
        add_child(n, parse_command())
    }
    return n
}

function parse_command(    n) {
    if (kind[now] == "(") {
        n = new_node("subshell")
        now++
        add_child(n, parse_list())
        expect(")")
    } else if (is_word("{"))
        n = parse_braces("braces")
    else if (is_word("if"))
        n = parse_if()
    else if (is_word("while") || is_word("until") || is_word("for") || is_word("select"))
        n = parse_loop()
    else if (is_word("case"))
        n = parse_case()
    else if (is_word("@test"))
        n = parse_test()
    else if (kind[now] == "word" && kind[now + 1] == "(") {
        n = new_node("function")
        words[n] = value[now]
        now += 3 # NAME ( )
        skip_separators()
        add_child(n, parse_command())
    } else
        return parse_simple()
    while (kind[now] == "redirect")
        now++
    return n
}

function parse_braces(t,    n) {
    n = new_node(t)
    now++
    add_child(n, parse_list())
    expect("}")
    return n
}

function parse_test(    n) {
    n = new_node("function")
    now += 2
    add_child(n, parse_braces("braces"))
    return n
}

function parse_if(    n) {
    n = new_node("if")
    do {
        now++
        add_child(n, parse_list())
        expect("then")
        add_child(n, parse_list())
    } while (is_word("elif"))
    if (is_word("else")) {
        now++
        add_child(n, parse_list())
    }
    expect("fi")
    return n
}

# The first child is the condition, an empty list for "for".
function parse_loop(    n) {
    n = new_node("loop")
    if (value[now] ~ /^(for|select)$/) {
        while (kind[now] != ";")
            now++
        add_child(n, new_node("list"))
    } else {
        now++
        add_child(n, parse_list())
    }
    expect("do")
    add_child(n, parse_list())
    expect("done")
    return n
}

function parse_case(    n) {
    n = new_node("case")
    now += 2
    expect("in")
    skip_separators()
    while (!is_word("esac") && kind[now] != "end") {
        while (kind[now] != ")" && kind[now] != "end")
            now++
        now++
        add_child(n, parse_list())
        if (kind[now] == ";;")
            now++
        skip_separators()
    }
    expect("esac")
    return n
}

function parse_simple(    n, first) {
    n = new_node("simple")
    first = now
    if (is_word("[["))
        for (; !is_word("]]") && kind[now] != "end"; now++)
            words[n] = words[n] value[now] "\n"
    for (; kind[now] == "word" || kind[now] == "redirect"; now++)
        if (kind[now] == "word")
            words[n] = words[n] value[now] "\n"
    if (now == first)
        syntax_error()
    return n
}

# The checks.  A node has a role: what becomes of its status.
#
#   statement   set -e ends the test if the node fails, if the form is right
#   result      the status is that of a function, a test or a subshell
#   condition   somebody else looks at the status
#   nothing     nobody does, and set -e has no effect

function complain(where_, what) {
    if (allowed[where_])
        return
    printf "%s:%d: %s\n", name, where_, what
    bad = 1
}

function line_at(n) {
    return line_of[where[n]]
}

# Returns the command of a simple node, without assignments before it.
function command_of(n,    w, count, i) {
    if (type[n] != "simple")
        return ""
    count = split(words[n], w, "\n")
    for (i = 1; i < count && w[i] ~ /^[A-Za-z_][A-Za-z_0-9]*\+?=/; i++)
        ;
    return w[i]
}

# Returns the only simple command of a pipe, or 0.
function only_command(n) {
    if (type[n] != "pipe" || children[n] ~ / / || type[children[n]] != "simple")
        return 0
    return children[n]
}

function is_action(n,    c) {
    c = only_command(n)
    return c && command_of(c) ~ /^(break|continue|return|exit|skip|)$/
}

function is_assertion(n,    c, w) {
    c = children[n]
    sub(/.* /, "", c)
    return command_of(c) ~ \
        /^(\[|\[\[|test|cmp|diff|grep|reads_all|fail|absent|ends_with|stderr_is|same_as_gzip)$/
}

function walk(n, role,    c, count, i) {
    count = split(children[n], c, " ")
    if (type[n] == "list")
        for (i = 1; i <= count; i++)
            walk(c[i], i == count ? role : role == "condition" || role == "nothing" ? "nothing" : \
                "statement")
    else if (type[n] == "and_or")
        walk_and_or(n, role)
    else if (type[n] == "pipe")
        walk_pipe(n, role)
    else if (type[n] == "simple")
        check_simple(n)
    else if (type[n] == "function") {
        check_run(c[1])
        inside = words[n]
        walk(c[1], "result")
        inside = ""
    } else if (type[n] == "subshell")
        walk(c[1], role == "statement" ? "result" : role)
    else if (type[n] == "if")
        for (i = 1; i <= count; i++)
            walk(c[i], i % 2 == 1 && i < count ? "condition" : role)
    else if (type[n] == "loop") {
        walk(c[1], "condition")
        walk(c[2], role == "condition" || role == "nothing" ? "nothing" : "statement")
    } else
        for (i = 1; i <= count; i++)
            walk(c[i], role)
}

# Whether a pipe has the command under test.
function runs_command(n,    c, count, i) {
    count = split(children[n], c, " ")
    for (i = 1; i <= count; i++)
        if (command_of(c[i]) ~ /^"\$\{?[A-Z]+[}"]/)
            return 1
    return 0
}

# Whether the statement is an assertion, runs the command under test, or ends in || fail.
function asserts(n,    c, count) {
    count = split(children[n], c, " ")
    if (!is_assertion(c[count]) && !runs_command(c[count]))
        return 0
    return last_operator[n] != "||" || command_of(only_command(c[count])) == "fail"
}

# Notes functions with assertions before their last statement, and calls that make these useless.
function note_function(n, role,    c, command) {
    if (type[n] == "and_or") {
        if (role == "statement" && inside != "" && asserts(n) && !((name, inside) in loose))
            loose[name, inside] = line_at(n)
        return
    }
    command = only_command(n)
    if (role == "condition" && command) {
        calls++
        call_name[calls] = command_of(command)
        call_line[calls] = line_at(n)
        call_file[calls] = name
        call_allowed[calls] = line_at(n) in allowed
    }
}

function check_calls(    i, key, where_, part) {
    for (i = 1; i <= calls; i++) {
        where_ = ""
        for (key in loose) {
            split(key, part, SUBSEP)
            if (part[2] == call_name[i] && (part[1] == call_file[i] || part[1] ~ /\.bash$/))
                where_ = part[1] ":" loose[key]
        }
        if (where_ == "" || call_allowed[i])
            continue
        printf "%s:%d: in this call, %s cannot fail at %s\n", call_file[i], call_line[i],
            call_name[i], where_
        bad = 1
    }
}

function walk_and_or(n, role,    c, count, i) {
    count = split(children[n], c, " ")
    note_function(n, role)
    if (role == "statement" && last_operator[n] == "&&" && !is_action(c[count]))
        complain(line_at(n), "A && B that is not the last statement cannot fail at A")
    if (role != "nothing" && last_operator[n] == "||" && only_command(c[count]) &&
        command_of(only_command(c[count])) ~ /^(true|:)$/)
        for (i = 1; i < count; i++)
            if (is_assertion(c[i]))
                complain(line_at(n), "an assertion || true cannot fail")
    for (i = 1; i <= count; i++) {
        if (negated[c[i]] && children[c[i]] ~ / / && (count == 1 || last_operator[n] == "||") &&
            role ~ /^(statement|result)$/)
            complain(line_at(n), "! A | B succeeds if A fails")
        walk(c[i], i < count ? "condition" : role)
    }
}

function walk_pipe(n, role,    c, count, i) {
    count = split(children[n], c, " ")
    note_function(n, negated[n] ? "condition" : role)
    if (negated[n] && role == "statement")
        complain(line_at(n), "! A that is not the last statement cannot fail")
    for (i = 2; i <= count; i++)
        if (ends_early(c[i]) && !(i == 2 && command_of(c[1]) == "endless"))
            complain(line_at(n), "A | " (command_of(c[i]) == "" ? "head" : command_of(c[i])) \
                " may end A by SIGPIPE; see reads_all")
    if (negated[n])
        role = "condition"
    for (i = 1; i <= count; i++)
        walk(c[i], count > 1 && role == "statement" ? "result" : role)
}

# Tells whether there is a head in the node that reads the standard input of the node.
function reads_part(n,    c, count, i) {
    if (type[n] == "simple")
        return words[n] ~ /^head\n(-[a-z]+\n|-?[0-9]+\n|"?\$[^\n]*\n)*$/
    if (type[n] == "pipe" && children[n] ~ / /)
        return reads_part(substr(children[n], 1, index(children[n], " ") - 1))
    count = split(children[n], c, " ")
    for (i = 1; i <= count; i++)
        if (reads_part(c[i]))
            return 1
    return 0
}

# Tells whether the command may end before it has read its whole input.
function ends_early(n,    command, c, count, i) {
    if (type[n] != "simple") {
        count = split(children[n], c, " ")
        for (i = 1; i <= count; i++)
            if (reads_part(c[i]))
                return 1
        return 0
    }
    command = command_of(n)
    if (command == "head")
        return 1
    if (command ~ /^[ef]?grep$/)
        return words[n] ~ /\n-[A-Za-z]*[qmlL]|\n--quiet/
    return command == "sed" && words[n] ~ /[0-9$\/;]q[\047"]?\n/
}

function check_simple(n,    command) {
    command = command_of(n)
    if (command ~ /^(local|export|readonly|declare|typeset)$/ &&
        words[n] ~ /\n[A-Za-z_][A-Za-z_0-9]*="?\$\([^(]/)
        complain(line_at(n), command " loses the status of $(...)")
    if (command == "set" && words[n] ~ /\n\+e|\n\+o\npipefail/)
        complain(line_at(n), "set +e and +o pipefail make failures pass")
}

# Checks each run in a function: before the next one, or the end, its result must be looked at.
function check_run(n,    i, end, s, next_) {
    end = finish[children[n]]
    for (i = where[n]; i < end; i++) {
        if (kind[i] != "word" || value[i] != "run" || value[i + 1] ~ /^-[0-9]|^!$/ ||
            kind[i - 1] == "word" && value[i - 1] !~ /^(then|do|else|[{])$/)
            continue
        for (next_ = i + 1; next_ < end && value[next_] != "run"; next_++)
            ;
        s = substr(text, at[i], at[next_] - at[i])
        if (s !~ /\$\{?#?(status|output|lines|stderr)/)
            complain(line_of[i], "nobody looks at what run gives")
    }
}

# Checks the text, which begins in the given line.
function check_text(first,    i, n) {
    line = first
    nodes = lost = 0
    now = 1
    lex()
    n = parse_list()
    if (kind[now] != "end")
        syntax_error()
    walk(n, "result")
}

function check_file(    i, done) {
    if (name == "")
        return
    inner = 0
    split("", allowed)
    split("", substitution)
    if (name ~ /\.bats$/ && text !~ /(^|\n)load helpers\n/)
        complain(1, "it does not load helpers, which set pipefail")
    check_text(1)
    # The lexer finds $(...), also in $(...) itself.
    for (done = 1; done <= inner; done++) {
        text = commands[done] "\n"
        check_text(commands_line[done])
    }
    for (i in substitution)
        complain(i, "the status of <(A) or >(A) is lost")
}

FNR == 1 {
    check_file()
    name = FILENAME
    text = ""
}
{ text = text $0 "\n" }
END {
    check_file()
    check_calls()
    exit bad
}' "$@"
