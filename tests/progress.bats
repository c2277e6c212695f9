#!/usr/bin/env bats
# progress.bats - the progress line: when it appears, what it shows, and that it is removed

# shellcheck disable=SC2016 # The shells on terminals expand it.

load helpers

setup() {
    have python3 || skip "python3 is not installed"
    enter_test_directory
    "$GEN" text 3000000 >plain
}

# on_pty COLUMNS COMMAND...: runs the command with standard error on a terminal of this width, and
# prints the terminal's output.
on_pty() {
    python3 -c '
import fcntl, os, pty, struct, subprocess, sys, termios, time
main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
held = os.environ.get("HOLD_AT")
if held:
    os.environ["LD_PRELOAD"] = os.environ["HOLD_BY"]
p = subprocess.Popen(sys.argv[2:], stderr=side)
os.close(side)
if held:
    while not os.path.exists(held):
        if p.poll() is not None:
            sys.exit("it was not held")
        time.sleep(0.01)
    time.sleep(0.3)
    open(os.environ["HOLD_UNTIL"], "w").close()
out = b""
while True:
    try:
        data = os.read(main, 4096)
    except OSError:
        break
    if not data:
        break
    out += data
sys.stdout.buffer.write(out)
sys.exit(p.wait())' "$@"
}

# on_pty_slowly WRITES COLUMNS COMMAND...: like on_pty, but when the command has made WRITES writes
# to files, holds the next one for 0.3 s.  So the command draws a line even on a fast machine.
on_pty_slowly() {
    needs_hold
    rm -f "$held" "$go"
    HOLD='' HOLD_WRITES=$1 HOLD_AT=$held HOLD_UNTIL=$go HOLD_BY=$hold on_pty "${@:2}"
}

# on_screen: prints what a terminal would show at the end if all of standard input were written to
# the terminal.
on_screen() {
    python3 -c '
import sys
for line in sys.stdin.buffer.read().decode("utf-8", "replace").split("\n"):
    screen = []
    column = 0
    for c in line:
        if c == "\r":
            column = 0
        else:
            screen[column:column + 1] = [c]
            column += 1
    print("".join(screen).rstrip())'
}

# on_stopped HOW COMMAND...: runs the command with standard error on something that takes no bytes:
# a stopped terminal (stopped), a terminal that is not read (full), or a pipe that is not read
# (pipe).
on_stopped() {
    timeout 120 python3 -c '
import os, pty, subprocess, sys, termios
def fill(fd):
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, b"x")
    except BlockingIOError:
        pass
    os.set_blocking(fd, True)
main, side = os.pipe() if sys.argv[1] == "pipe" else pty.openpty()
if sys.argv[1] == "stopped":
    termios.tcflow(side, termios.TCOOFF)
else:
    fill(side)
sys.exit(subprocess.call(sys.argv[2:], stderr=side))' "$@"
}

@test "the work goes on, and ends, while the terminal is stopped" {
    "$GEN" text 8000000 >big
    for how in stopped full pipe; do
        # The next command takes half a second, which is long enough for the line to be drawn.
        slowly 40 <big | on_stopped $how sh -c '"$GZLZSS_COMMAND" -b 64 -p2 --progress >big.gz'
        gzip -dc big.gz | cmp - big
        slowly 40 <big.gz | on_stopped $how sh -c '"$GZLZSS_COMMAND" -d -p2 --progress >out'
        cmp out big
    done
    # Try several files side by side.  Then hide /proc, so that the command cannot open standard
    # error again.
    many 80 60000
    on_stopped stopped "$GZLZSS" -k -12 -p2 --progress many/*
    [ "$(find many -name '*.gz' | wc -l)" -eq 80 ]
    rm many/*.gz
    without_proc=(unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"')
    # Sanitizers are left out because they print messages on standard error if there is no /proc.
    if ! is_sanitized && "${without_proc[@]}" true 2>/dev/null; then
        on_stopped stopped "${without_proc[@]}" "$GZLZSS" -k -12 -p2 --progress many/*
        [ "$(find many -name '*.gz' | wc -l)" -eq 80 ]
    fi
}

@test "a signal ends it while the terminal is stopped and it has something to say" {
    needs_hold
    rm -f "$go"
    "$GEN" text 100000 >big
    cp big copy
    echo other >other
    # Replace the input while the command is held.  Just after the command has set the output's
    # mode, it prints a message about the replaced input, and waits for the stopped terminal.  Send
    # the signal then.
    HOLD=/big.gz HOLD_AT=$held HOLD_UNTIL=$go timeout 120 python3 -c '
import os, pty, signal, subprocess, sys, termios, time
main, side = pty.openpty()
termios.tcflow(side, termios.TCOOFF)
p = subprocess.Popen([sys.argv[1], "-9", "-p1", "big"], stderr=side,
                     env=dict(os.environ, LD_PRELOAD=sys.argv[2]))
while not os.path.exists(os.environ["HOLD_AT"]):
    time.sleep(0.01)
os.rename("other", "big")
open(os.environ["HOLD_UNTIL"], "w").close()
while os.stat("big.gz").st_mode & 0o77 == 0:
    time.sleep(0.01)
time.sleep(0.3)
p.send_signal(signal.SIGTERM)
sys.exit(0 if p.wait() == -signal.SIGTERM else 1)' "$GZLZSS" "$hold"
    [ "$(cat big)" = other ]
    gzip -dc big.gz | cmp - copy
}

# slowly RATE: copies standard input to standard output, 300000 bytes at a time, RATE times a
# second.
slowly() {
    python3 -c '
import sys, time
while True:
    data = sys.stdin.buffer.read(300000)
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    time.sleep(1 / float(sys.argv[1]))' "$1"
}

@test "--progress shows bytes, rate and ratio, and leaves nothing" {
    slowly 8 <plain | on_pty 80 sh -c '"$GZLZSS_COMMAND" -b 64 -p2 --progress >plain.gz' >seen
    tr '\r' '\n' <seen | reads_all grep -q 'stdin:  [0-9.]* [KM]iB  [0-9.]* [KM]iB/s  ratio [0-9.]*%  cpu'
    [ -z "$(on_screen <seen)" ]
    gzip -dc plain.gz | cmp - plain
    # Decompression draws the same line.
    slowly 8 <plain.gz | on_pty 80 sh -c '"$GZLZSS_COMMAND" -d --progress >out' >seen
    tr '\r' '\n' <seen | reads_all grep -q 'stdin:  .* ratio [0-9.]*%'
    [ -z "$(on_screen <seen)" ]
    cmp out plain
}

@test "of a file, how much is done and how much time is left" {
    "$GEN" text 8000000 >big
    on_pty_slowly 60 100 "$GZLZSS" -9 -b 64 -p1 --progress big >seen
    tr '\r' '\n' <seen |
        reads_all grep -q '^big: [0-9]*%  [0-9.]* MiB  [0-9.]* MiB/s  ratio [0-9.]*%  0:[0-9][0-9] left  cpu'
    [ -z "$(on_screen <seen)" ]
    gzip -t big.gz
}

@test "no line is wider than the terminal" {
    for columns in 0 1 10 40 200; do
        slowly 9 <plain | on_pty $columns sh -c '"$GZLZSS_COMMAND" -b 64 --progress >plain.gz' >seen
        [ "$columns" -gt 1 ] || columns=80
        tr '\r' '\n' <seen | awk -v most="$columns" 'length > most - 1 { exit 1 }'
        grep -q stdin seen
    done
}

@test "-v shows it on a terminal after two seconds, and ends as without it" {
    local start=$SECONDS
    slowly 20 <plain | on_pty 80 sh -c '"$GZLZSS_COMMAND" -b 64 -v >plain.gz' >seen
    # This takes half a second, and longer on a busy machine.
    if [ $((SECONDS - start)) -lt 2 ] && tr '\r' '\n' <seen | reads_all grep -q 'iB/s'; then
        fail "too early"
    fi
    mkfifo pipe
    slowly 4 <plain >pipe 3>&- &
    on_pty 80 sh -c '"$GZLZSS_COMMAND" -b 64 -cv pipe >plain.gz' >seen
    wait
    tr '\r' '\n' <seen | reads_all grep -q '^pipe: .*[KM]iB/s'
    on_screen <seen | reads_all head -n 1 | reads_all grep -qE '^pipe:	 *[0-9.]+% -- replaced with stdout$'
    gzip -dc plain.gz | cmp - plain
    slowly 4 <plain | on_pty 80 sh -c '"$GZLZSS_COMMAND" -b 64 -v --no-progress >plain.gz' >seen
    grep -q '[0-9]%' seen
    ! grep -q 'iB/s' seen || fail "not suppressed"
}

@test "where standard error is no terminal, there is none unless it is asked for" {
    slowly 4 <plain | "$GZLZSS" -b 64 -v 2>seen >plain.gz
    [ "$(wc -l <seen)" -eq 1 ]
    if grep -q MiB seen; then
        fail "$(cat seen)"
    fi
    slowly 8 <plain | "$GZLZSS" -b 64 --progress 2>seen >plain.gz
    grep -q MiB seen
    [ -z "$(on_screen <seen)" ]
}

# drawn: prints all progress lines in the file "seen", which has the terminal's output.
drawn() {
    tr '\r' '\n' <seen | grep -a 'iB/s' | sed 's/ *$//'
}

# many COUNT BYTES: makes the directory "many" with COUNT files of BYTES bytes each.
many() {
    local i
    mkdir many
    for ((i = 1; i <= $1; i++)); do
        "$GEN" text "$2" "$i" >"many/$i"
    done
}

@test "of several files, one line for the run: files, bytes, rate and time left" {
    without_sanitizers
    many 200 80000
    on_pty 100 "$GZLZSS" -k -12 -p2 --progress many/* </dev/null >seen
    drawn >lines
    grep -qE \
        "^[1-9][0-9]* of 200 files  [0-9]+%  [0-9.]+ [KM]iB  [0-9.]+ [KM]iB/s  ratio [0-9.]+%  \
0:[0-9][0-9] left\$" \
        lines
    # The number of finished files must rise from line to line, even if several files are compressed
    # side by side.
    [ "$(wc -l <lines)" -ge 2 ]
    sort -s -n -c lines
    [ -z "$(on_screen <seen)" ]
    rm many/*.gz
    # For a directory, the command knows the number of files, but not the sum of their sizes, so the
    # line has no time left.
    on_pty_slowly 50 100 "$GZLZSS" -r -p2 --progress many </dev/null >seen
    drawn >lines
    grep -qE '^[1-9][0-9]* of 200 files  [0-9.]+ [KM]iB  [0-9.]+ [KM]iB/s  ratio [0-9.]+%$' lines
    ! grep -q left lines || fail "$(cat lines)"
    [ "$(find many -name '*.gz' | wc -l)" -eq 200 ]
    # Decompression erases its line, too.
    on_pty 100 "$GZLZSS" -dr -p2 --progress many </dev/null >seen
    [ -z "$(on_screen <seen)" ]
}

@test "directories in directories count by what is in them" {
    many 60 100000
    mkdir many/sub many/sub/sub
    mv many/1? many/sub
    mv many/2? many/sub/sub
    on_pty 100 "$GZLZSS" -rk -12 -p2 --progress many </dev/null >seen
    # The last line must have the number of all files.
    drawn | tail -n 1 | reads_all grep -qE '^[0-9]+ of 60 files'
}

@test "a large file among several has its name in the line" {
    "$GEN" text 20000000 >big
    cp plain other
    on_pty 100 "$GZLZSS" -9 -p1 --progress other big plain </dev/null >seen
    drawn |
        reads_all grep -qE \
        "^1 of 3 files  [0-9]+%  [0-9.]+ MiB  [0-9.]+ MiB/s  ratio [0-9.]+%  0:0[0-9] left  \
cpu  big\$"
    [ -z "$(on_screen <seen)" ]
}

@test "messages are what they are without it" {
    without_sanitizers
    many 60 100000
    touch many/30.gz
    for options in '-vk -p2' '-vk -p1' '-k -p2'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" $options many/* missing 2>expected </dev/null || true
        find many -name '*.gz' ! -name 30.gz -delete
        # shellcheck disable=SC2086
        on_pty_slowly 20 100 "$GZLZSS" $options --progress many/* missing </dev/null >seen || true
        find many -name '*.gz' ! -name 30.gz -delete
        drawn | reads_all grep -q ' of 62 files '
        on_screen <expected >expected-screen
        on_screen <seen | diff expected-screen -
    done
}

@test "where a list goes to the same terminal, there is none" {
    "$GZLZSS" -k plain
    mkfifo pipe.gz
    for option in -l -lv; do
        cat plain.gz >pipe.gz 3>&- &
        # For a pipe, the list has the current time, and a minute may end between the two lists, so
        # leave out the minutes.
        "$GZLZSS" $option pipe.gz | sed 's/:[0-9][0-9] /:MM /' >expected
        slowly 4 <plain.gz >pipe.gz 3>&- &
        on_pty 100 sh -c '"$GZLZSS_COMMAND" "$1" --progress pipe.gz >&2' sh $option >seen
        tr -d '\r' <seen | sed 's/:[0-9][0-9] /:MM /' | diff expected -
        # If the list does not go to the terminal, there is a progress line.
        slowly 4 <plain.gz >pipe.gz 3>&- &
        on_pty 100 sh -c '"$GZLZSS_COMMAND" "$1" --progress pipe.gz >list' sh $option >seen
        wait
        drawn | reads_all grep -q '^pipe.gz: .*iB/s'
        [ -z "$(on_screen <seen)" ]
        sed 's/:[0-9][0-9] /:MM /' list | diff expected -
    done
}

# fits COLUMNS: all progress lines must be valid UTF-8, narrower than COLUMNS, and show the rate and
# the time left.
fits() {
    drawn | python3 -c '
import sys, unicodedata
lines = sys.stdin.buffer.read().decode("utf-8").splitlines()
assert lines
for line in lines:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    assert len(line) + wide < int(sys.argv[1]), line
    assert line.isprintable() and "iB/s" in line and " left" in line, line' "$1"
}

@test "long names leave the rest of the line alone" {
    local long umlauts wide name
    "$GEN" text 1000000 >big
    long=$(printf 'a%.0s' {1..60})
    # Try names in UTF-8 with letters of two bytes; with letters of three bytes, which take two
    # columns; and with combining marks.
    umlauts=$(printf '\303\274ber%.0s' {1..30})
    wide=$(printf '\346\227\245\346\234\254%.0s' {1..40})
    for name in "$long/$long/$long-end" "$umlauts-end" "$wide-end" \
        "$(printf 'e\314\201x\360\237\230\200%.0s' {1..20})-end"; do
        mkdir -p "$(dirname "$name")"
        ln big "$name"
        for columns in 60 100; do
            on_pty_slowly 5 $columns "$GZLZSS" -fk -12 -b 64 -p1 --progress "$name" >seen
            fits $columns
            drawn | reads_all grep -qa '^\.\.\..*-end: [0-9]*%'
            [ -z "$(on_screen <seen)" ]
        done
    done
    # Names are also shortened in the line for several files.
    on_pty_slowly 5 100 "$GZLZSS" -fk -12 -b 64 -p1 --progress "$umlauts-end" big >seen
    fits 100
    drawn | reads_all grep -qa 'left  cpu  \.\.\..*-end$'
}

@test "a name that would move the cursor does not" {
    local name=$'new\nline \e[31mred\x80\302\233' # \302\233: a control character in UTF-8
    "$GEN" text 2000000 >"$name"
    on_pty_slowly 5 100 "$GZLZSS" -fk -12 -b 64 -p1 --progress "$name" >seen
    fits 100
    drawn | reads_all grep -q '^new?line ?\[31mred??: [0-9]*%'
}

@test "--no-progress and --progress: the last counts" {
    on_pty_slowly 0 80 "$GZLZSS" -kf -p1 --no-progress --progress plain >text
    grep -q MiB/s text
    on_pty_slowly 0 80 "$GZLZSS" -kf -p1 --progress --no-progress plain >text
    [ ! -s text ] || fail "$(cat text)"
}
