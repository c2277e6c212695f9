# plots.awk - prints a gnuplot script that draws the results that results.awk has read
#
# bench/plot.sh runs this program. The variable dir is the directory for the plots, and png is the
# name of gnuplot's terminal for PNG. Each plot is drawn as PNG and as SVG. The colours are those of
# Okabe and Ito, which colour-blind people can tell apart. The points also differ in shape, and the
# lines in dashes, so that a print in grey is readable.

# style(SERIES) returns gnuplot's options for a line: colour, dashes and points.
function style(s) {
    if (s == "gzlzss cpu") return "lc rgb '#0072B2' dt 1 lw 2 pt 7 ps 1.3"
    if (s == "gzlzss gpu") return "lc rgb '#D55E00' dt 1 lw 2 pt 5 ps 1.3"
    if (s == "gzlzss auto") return "lc rgb '#009E73' dt 1 lw 2 pt 9 ps 1.5"
    if (s == "pigz") return "lc rgb '#000000' dt 2 lw 1.5 pt 6 ps 1.3"
    if (s == "igzip, 1 thread") return "lc rgb '#CC79A7' dt 3 lw 1.5 pt 12 ps 1.3"
    if (s ~ /^igzip/) return "lc rgb '#CC79A7' dt 4 lw 1.5 pt 13 ps 1.3"
    if (s == "libdeflate-gzip") return "lc rgb '#56B4E9' dt 2 lw 1.5 pt 4 ps 1.3"
    if (s == "gzip") return "lc rgb '#777777' dt 3 lw 1.5 pt 8 ps 1.3"
    if (s == "zopfli") return "lc rgb '#E69F00' dt 3 lw 1.5 pt 3 ps 1.3"
    return "lc rgb '#882255' dt 3 lw 1.5 pt 2 ps 1.3"
}

# Returns gnuplot's options for a label with the level near a point, in the point's colour. Since
# all engines of gzlzss have the same ratio, the labels of each engine go to another side of the
# point.
function beside(s,    colour) {
    colour = style(s)
    sub(/ dt .*/, "", colour)
    sub(/^lc/, "tc", colour)
    return colour (s == "gzlzss cpu" ? " offset 0,-0.9" : s == "gzlzss gpu" ? " offset -1.4,0" : " offset 0,0.9")
}

function label(s, p) {
    if (s == "nvcomp") return "nvCOMP (GPU memory, no .gz)"
    if (p == "pareto" && (s == "gzip" || s == "libdeflate-gzip" || s == "zopfli")) return s ", 1 thread"
    return s
}

# Quotes text for gnuplot, which would interpret _ and ^.
function quoted(text) {
    gsub(/\\/, "", text)
    gsub(/"/, "", text)
    gsub(/[_^@&~{}]/, "\\\\\\\\&", text)
    return "\"" text "\""
}

# begin(NAME, WIDTH, HEIGHT) starts a plot, and end(BODY) prints it, once for each terminal.
function begin(name, width, height) {
    plot = name
    gsub(/[^A-Za-z0-9._-]/, "_", plot)
    w = width
    h = height
}

function end(body) {
    printf "set terminal %s size %d,%d font ',12'\nset output '%s/%s.png'\n%s", png, w, h, dir, plot, body
    printf "set terminal svg size %d,%d font 'sans-serif,12' background rgb 'white'\n", w, h
    printf "set output '%s/%s.svg'\n%s", dir, plot, body
    print "unset output"
}

# points(NAME, LIST, N, WHAT) prints a block of data with one line for each of the N rows in LIST.
# WHAT tells the axes: "bytes", "threads" or "devices" against speed, or else speed against ratio.
function points(name, list, n, what,    k, i, x, y) {
    printf "$%s << EOD\n", name
    for (k = 1; k <= n; k++) {
        i = list[k]
        x = what == "bytes" ? bytes[i] : what == "threads" ? threads[i] : what == "devices" ? devices[i] : speed(i)
        y = what == "speed" ? ratio(i) : speed(i)
        printf "%.9g %.6g %s\n", x, y, level[i]
    }
    print "EOD"
}

# Prints the Pareto front as steps. No tool that competes has a point to the right of the front or
# above it.
function front(f,    i, k, n, list, key) {
    for (i = 1; i <= rows; i++)
        if (file[i] == f && is_on_front(i)) {
            list[++n] = i
            key[i] = speed(i)
        }
    sort(list, n, key)
    print "$front << EOD"
    for (k = 1; k <= n; k++) {
        if (k == 1) printf "%.6g %.6g\n", least_speed / 1.3, ratio(list[1])
        printf "%.6g %.6g\n", speed(list[k]), ratio(list[k])
        printf "%.6g %.6g\n", speed(list[k]), k < n ? ratio(list[k + 1]) : least_ratio
    }
    print "EOD"
}

function pareto_plot(f,    i, k, n, m, list, key, seen, all, s, body, most_speed, samples, some, many, gpus) {
    least_ratio = least_speed = 0
    for (i = 1; i <= rows; i++) {
        if (part[i] != "pareto" || file[i] != f || !is_right(i)) continue
        if (!least_ratio || ratio(i) < least_ratio) least_ratio = ratio(i)
        if (!least_speed || speed(i) < least_speed) least_speed = speed(i)
        if (speed(i) > most_speed) most_speed = speed(i)
        s = series(i)
        if (!(s in seen)) all[++m] = s
        seen[s]
        if (is_sample(i)) samples[s]
        if (tool[i] == "gzlzss") {
            if (threads[i] > many) many = threads[i]
            if (devices[i] > gpus) gpus = devices[i]
        }
    }
    if (!m) return
    for (s in samples) some = 1
    front(f)
    begin("pareto-" f, 1200, 640)
    body = common() "set title " quoted("Speed and compression ratio: " f ", " amount(most[f]) "; " many \
        (many == 1 ? " thread" : " threads") (gpus ? ", " gpus (gpus == 1 ? " GPU" : " GPUs") : "") \
        ", where nothing else is said") "\nset logscale x 10\n" \
        "set xlabel \"speed, MB of input a second (logarithmic)" \
        (some ? "\\n\\n*: some levels, or all, measured on samples of the file" : "") "\"\n" \
        "set ylabel 'ratio, bytes of input to bytes of output'\n" \
        sprintf("set xrange [%.6g:%.6g]\n", least_speed / 1.3, most_speed * 1.3) \
        "set key outside right top Left reverse font ',11'\nset offsets graph 0,0,0.05,0.02\n" \
        "plot $front with lines lc rgb '#BBBBBB' lw 7 title 'Pareto front'"
    for (k = 1; k <= m; k++) {
        n = 0
        for (i = 1; i <= rows; i++)
            if (part[i] == "pareto" && file[i] == f && is_right(i) && series(i) == all[k]) {
                list[++n] = i
                key[i] = rank(level[i])
            }
        sort(list, n, key)
        points("p" k, list, n, "speed")
        body = body ", \\\n  $p" k " using 1:2 with linespoints " style(all[k]) " title " \
            quoted(label(all[k], "pareto") (all[k] in samples ? " *" : "")) ", \\\n  $p" k \
            " using 1:2:3 with labels " beside(all[k]) " font ',10' notitle"
    }
    end(body "\n")
}

function common() {
    return "reset\nset encoding utf8\nset border 3\nset tics nomirror\nset grid lc rgb '#DDDDDD' lt 1\n" \
        "set key spacing 1.2\n"
}

# Fills list with the levels that were measured in part p, in rising order. Returns their number.
function levels_of(p, list,    i, n, key, seen) {
    for (i = 1; i <= rows; i++)
        if (part[i] == p && is_right(i) && !(level[i] in seen)) {
            seen[level[i]]
            list[++n] = level[i]
            key[level[i]] = rank(level[i])
        }
    sort(list, n, key)
    return n
}

# Draws speed against bytes, threads or devices (x), with one panel for each level.
function speed_plot(p, x, title,    levels, nl, l, i, k, n, m, list, key, seen, all, s, body, first) {
    nl = levels_of(p, levels)
    if (!nl) return
    for (i = 1; i <= rows; i++) {
        if (part[i] != p || !is_right(i)) continue
        s = series(i)
        if (!(s in seen)) all[++m] = s
        seen[s]
    }
    begin(x == "bytes" ? "size" : p, 60 + 480 * nl, 520)
    body = common() sprintf("set multiplot layout 1,%d title ", nl) quoted(title) " font ',14'\n" \
        "set key at graph 0.5,-0.18 center top horizontal maxcols 3\nset bmargin 8\n"
    if (x != "devices")
        body = body "set logscale x 2\nset logscale y 10\n" \
            "set ylabel 'speed, MB of input a second (logarithmic)'\n"
    if (x == "bytes")
        body = body "set xlabel 'size of the input (logarithmic)'\nset xtics (" \
            "'64 KiB' 65536, '1 MiB' 1048576, '16 MiB' 16777216, '256 MiB' 268435456, " \
            "'4 GiB' 4294967296)\n"
    else if (x == "threads")
        body = body "set xlabel 'threads (logarithmic)'\n"
    else
        body = body "set xlabel 'GPUs'\nset xtics 1\nset yrange [0:*]\n" \
            "set ylabel 'speed, MB of input a second'\n"
    for (l = 1; l <= nl; l++) {
        body = body "set title 'level " levels[l] "'\nplot "
        first = 1
        for (k = 1; k <= m; k++) {
            n = 0
            for (i = 1; i <= rows; i++)
                if (part[i] == p && is_right(i) && series(i) == all[k] && level[i] == levels[l] && \
                    (x != "bytes" || is_best(i))) {
                    list[++n] = i
                    key[i] = x == "bytes" ? bytes[i] : x == "threads" ? threads[i] : devices[i]
                }
            if (!n) continue
            sort(list, n, key)
            points("l" l "p" k, list, n, x)
            body = body (first ? "" : ", \\\n  ") "$l" l "p" k " using 1:2 with linespoints " style(all[k]) \
                " title " quoted(label(all[k], p))
            first = 0
            if (x == "threads" && all[k] == "gzlzss cpu")
                body = body sprintf(", \\\n  %.6g * x with lines lc rgb '#BBBBBB' dt 3 lw 2 title " \
                    "'in proportion'", speed(list[1]) / threads[list[1]])
        }
        body = body "\n"
    }
    end(body "unset multiplot\n")
}

# --- Where the time goes --------------------------------------------------------------------------

# Adds a box, `height` high, on top of the stack.  `top` is the height of the stack so far.
function box(k, x1, x2, height) {
    if (height <= 0) return
    boxes[k] = boxes[k] sprintf("%g %.6g %g %g %.6g %.6g\n", (x1 + x2) / 2, top, x1, x2, top, top + height)
    top += height
}

# Draws two stacks side by side, both as high as the wall time for a GB of input. The boxes of the
# left stack are the times of the threads' steps, divided by the number of threads. The boxes of the
# right stack are the times of the GPUs' steps, divided by the number of GPUs. The last box of each
# stack is the time that is left: waiting. Since a GPU works on several batches at a time, the times
# of its steps may add up to more than the wall time. If they do, the function scales them down to
# the wall time.
function stack(i, x,    s, gb, wall, left, right, steps, share) {
    gb = t_bytes[i] / 1e9
    wall = t_secs[i] / gb
    left = x - 0.4
    right = t_devices[i] ? x - 0.02 : x + 0.4
    top = 0
    for (s = 1; s <= 4; s++) box(s, left, right, t_step[i, s] / gb / t_threads[i])
    box(5, left, right, wall - top)
    if (!t_devices[i]) return
    top = 0
    for (s = 5; s <= 7; s++) steps += t_step[i, s] / gb / t_devices[i]
    share = steps > wall ? wall / steps : 1
    for (s = 5; s <= 7; s++) box(s + 1, x + 0.02, x + 0.4, share * t_step[i, s] / gb / t_devices[i])
    box(9, x + 0.02, x + 0.4, wall - top)
}

function time_plot(f,    i, k, l, n, m, x, list, key, seen, body, tics, name, colour, gpus, lines, \
    cols, nboxes) {
    for (i = 1; i <= times; i++)
        if (t_file[i] == f) {
            if (!(t_level[i] in seen)) list[++m] = t_level[i]
            seen[t_level[i]]
            key[t_level[i]] = rank(t_level[i])
            if (t_devices[i] > gpus) gpus = t_devices[i]
            n = t_threads[i]
        }
    if (!m) return
    sort(list, m, key)
    split("read|match|encode|write|waiting, starting, ending|GPU: copy in|GPU: kernels|GPU: copy out|" \
        "GPU: idle, starting", name, "|")
    # In each stack, the colours go from dark to light, so that they also differ in a print in grey.
    split("#00204D #31688E #7C9BBF #C8D8E8 #FFFFFF #7F2704 #E6550D #FDBE85 #FFFFFF", colour, " ")
    lines = m > 1 ? 2 : 1
    cols = m > 1 ? int((m + 2) / 2) : 2
    begin("time-" f, 60 + 330 * cols, 350 * lines)
    body = common() sprintf("set multiplot layout %d,%d title ", lines, cols) \
        quoted(sprintf("Where the wall time goes: %s, %d threads%s", f, n, \
            gpus > 1 ? ", " gpus " GPUs" : "")) " font ',14'\n" \
        "set style fill solid border lc rgb '#444444'\nset ylabel 'seconds for a GB of input'\n" \
        "set yrange [0:*]\nunset key\nunset grid\nset grid y lc rgb '#DDDDDD' lt 1\n"
    for (l = 1; l <= m; l++) {
        delete boxes
        tics = ""
        x = 0
        for (i = 1; i <= times; i++)
            if (t_file[i] == f && t_level[i] == list[l]) {
                tics = tics (x ? ", " : "") "'" t_engine[i] "' " ++x
                stack(i, x)
            }
        body = body "set title 'level " list[l] "'\nset xtics (" tics ")\n" \
            sprintf("set xrange [0.4:%g]\nplot ", x + 0.6)
        nboxes = 0
        for (k = 1; k <= 9; k++) {
            if (!(k in boxes)) continue
            printf "$l%db%d << EOD\n%sEOD\n", l, k, boxes[k]
            body = body (nboxes++ ? ", \\\n  " : "") "$l" l "b" k \
                " using 1:2:3:4:5:6 with boxxyerror fc rgb '" colour[k] "'"
        }
        body = body "\n"
    }
    # The last panel has the key to the colours of all panels.
    body = body "set label 1 at graph 0.02,0.06 \"" \
        (gpus ? "left: the threads, on average\\nright: the GPUs, on average" : "the threads, on average") \
        "\"\n" \
        "unset title\nunset border\nunset tics\nunset xlabel\nunset ylabel\nunset grid\n" \
        "set xrange [0:1]\nset yrange [0:1]\n" \
        "set key at graph 0.02,0.98 left top Left reverse samplen 2\nplot "
    for (k = gpus ? 9 : 5; k >= 1; k--)
        body = body "NaN with boxes fc rgb '" colour[k] "' title '" name[k] "'" (k > 1 ? ", \\\n  " : "\n")
    end(body "unset multiplot\n")
}

END {
    for (j = 1; j <= files; j++) pareto_plot(names[j])
    speed_plot("size", "bytes", "Throughput against input size")
    speed_plot("threads", "threads", "Scaling with threads")
    speed_plot("devices", "devices", "Scaling with GPUs")
    for (j = 1; j <= t_files; j++) time_plot(t_names[j])
}
