#!/usr/bin/env bats
# progress.bats - the line that tells how far the work is: when it is there, and that it goes again

# shellcheck disable=SC2016 # What is in quotes is for the shells on terminals.

load helpers

setup() {
    have python3 || skip "no python3 to make a terminal with"
    enter_test_directory
    "$GEN" text 3000000 >plain
}

# on_pty COLUMNS COMMAND...: runs the command with standard error on a terminal of so many columns, and
# prints what arrived there.
on_pty() {
    python3 -c '
import fcntl, os, pty, struct, subprocess, sys, termios
main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
p = subprocess.Popen(sys.argv[2:], stderr=side)
os.close(side)
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

# on_screen: what is left to be seen of standard input on a terminal.
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

# slowly RATE: standard input, in so many pieces a second.
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
    tr '\r' '\n' <seen | grep -q 'stdin:  [0-9.]* [KM]iB  [0-9.]* [KM]iB/s  ratio [0-9.]*%  cpu'
    [ -z "$(on_screen <seen)" ]
    gzip -dc plain.gz | cmp - plain
    # Decompression too.
    slowly 8 <plain.gz | on_pty 80 sh -c '"$GZLZSS_COMMAND" -d --progress >out' >seen
    tr '\r' '\n' <seen | grep -q 'stdin:  .* ratio [0-9.]*%'
    [ -z "$(on_screen <seen)" ]
    cmp out plain
}

@test "of a file, how much is done and how much time is left" {
    "$GEN" text 60000000 >big
    on_pty 100 "$GZLZSS" -9 -p1 --progress big >seen
    tr '\r' '\n' <seen | grep -q '^big: [0-9]*%  [0-9.]* MiB  [0-9.]* MiB/s  ratio [0-9.]*%  0:[0-9][0-9] left  cpu'
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
    slowly 20 <plain | on_pty 80 sh -c '"$GZLZSS_COMMAND" -b 64 -v >plain.gz' >seen
    if tr '\r' '\n' <seen | grep -q 'iB/s'; then
        fail "too early"
    fi
    mkfifo pipe
    slowly 4 <plain >pipe 3>&- &
    on_pty 80 sh -c '"$GZLZSS_COMMAND" -b 64 -cv pipe >plain.gz' >seen
    wait
    tr '\r' '\n' <seen | grep -q '^pipe: .*[KM]iB/s'
    on_screen <seen | head -n 1 | grep -qE '^pipe:	 *[0-9.]+% -- replaced with stdout$'
    gzip -dc plain.gz | cmp - plain
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
