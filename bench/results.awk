# results.awk - reads the results of bench/bench.sh, for tables.awk and plots.awk
#
#   awk -f bench/results.awk -f bench/tables.awk DIR/results.csv DIR/time.csv
#
# The rows of results.csv are numbered from 1 to rows. Each column is an array, indexed by the row's
# number: part, file, bytes, tool, engine, level, threads, devices, out, secs and checked. The rows
# of time.csv are numbered from 1 to times. Their arrays have names that start with t_, such as
# t_file. The seven columns with the seconds of a step are one array, t_step, indexed by the row's
# number and the step, 1 to 7.

BEGIN { FS = "," }

FNR == 1 {
    is_time = $1 == "file"
    next
}

!is_time {
    rows++
    part[rows] = $1; file[rows] = $2; bytes[rows] = $3 + 0; tool[rows] = $4; engine[rows] = $5
    level[rows] = $6; threads[rows] = $7 + 0; devices[rows] = $8 + 0; out[rows] = $9 + 0
    secs[rows] = $10 > 0 ? $10 + 0 : 1e-6; checked[rows] = $11
    if (part[rows] == "pareto" || part[rows] == "reference") {
        if (!(file[rows] in most)) names[++files] = file[rows]
        if (bytes[rows] > most[file[rows]]) most[file[rows]] = bytes[rows]
        if (tool[rows] == "gzlzss" && level[rows] == "6" && is_right(rows))
            ratio_of_6[file[rows], bytes[rows]] = bytes[rows] / out[rows]
    }
}

is_time {
    times++
    t_file[times] = $1; t_bytes[times] = $2 + 0; t_engine[times] = $3; t_level[times] = $4
    t_threads[times] = $5 + 0; t_devices[times] = $6 + 0; t_secs[times] = $7 + 0
    for (i = 1; i <= 7; i++) t_step[times, i] = $(7 + i) + 0
    t_cpu[times] = $15 + 0; t_gpu[times] = $16 + 0
    if (!($1 in t_seen)) t_names[++t_files] = $1
    t_seen[$1]
}

function is_right(i) {
    return checked[i] != "WRONG" && out[i] > 0
}

# Returns the speed of a row in MB/s.
function speed(i) {
    return bytes[i] / secs[i] / 1e6
}

function is_sample(i) {
    return bytes[i] < most[file[i]]
}

# Returns whether gzlzss -6 has compressed both the row's sample and the whole file.
function is_related(i) {
    return ((file[i], bytes[i]) in ratio_of_6) && ((file[i], most[file[i]]) in ratio_of_6)
}

# Returns the compression ratio on the whole file. If the tool has compressed only a sample,
# estimates the ratio: the tool's ratio on the sample, times the factor between the ratios of gzlzss
# -6 on the file and on the sample.
function ratio(i,    r) {
    r = bytes[i] / out[i]
    if (is_sample(i) && is_related(i))
        r *= ratio_of_6[file[i], most[file[i]]] / ratio_of_6[file[i], bytes[i]]
    return r
}

# Returns the name of the series to which a row belongs. A series becomes a line of a plot; its rows
# differ only in level, size, or number of threads or GPUs.
function series(i) {
    if (tool[i] == "gzlzss") return "gzlzss " engine[i]
    if (tool[i] == "igzip" && part[i] == "pareto")
        return "igzip, " threads[i] (threads[i] == 1 ? " thread" : " threads")
    return tool[i]
}

# Returns whether no other row of the series is faster on the same input. In the part "size", igzip
# has rows with several numbers of threads, of which only the fastest counts.
function is_best(i,    k) {
    for (k = 1; k <= rows; k++)
        if (part[k] == part[i] && bytes[k] == bytes[i] && level[k] == level[i] && series(k) == series(i) && \
            is_right(k) && (speed(k) > speed(i) || (speed(k) == speed(i) && k < i)))
            return 0
    return 1
}

# Returns whether the row may be on the Pareto front. nvCOMP may not: its streams are not .gz files,
# and its times do not include reading and writing.
function competes(i) {
    return part[i] == "pareto" && tool[i] != "nvcomp" && is_right(i)
}

# Returns whether the row is on the Pareto front: no other row is at least as good in both speed and
# ratio, and better in one of the two.
function is_on_front(i,    k) {
    if (!competes(i)) return 0
    for (k = 1; k <= rows; k++)
        if (competes(k) && file[k] == file[i] && speed(k) >= speed(i) && ratio(k) >= ratio(i) && \
            (speed(k) > speed(i) || ratio(k) > ratio(i)))
            return 0
    return 1
}

# Returns a number to sort levels by; zopfli's i15 counts as 15.
function rank(text) {
    sub(/^[^0-9]*/, "", text)
    return text + 0
}

# sort(LIST, N, KEY) sorts the N entries of LIST by their values in KEY, the smallest first.
function sort(list, n, key,    i, k, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (k = i - 1; k >= 1 && key[list[k]] > key[x]; k--) list[k + 1] = list[k]
        list[k + 1] = x
    }
}

function amount(n) {
    if (n >= 1073741824 && n % 1073741824 == 0) return n / 1073741824 " GiB"
    if (n >= 1048576 && n % 1048576 == 0) return n / 1048576 " MiB"
    if (n >= 1024 && n < 1048576 && n % 1024 == 0) return n / 1024 " KiB"
    if (n >= 1e9) return sprintf("%.3g GB", n / 1e9)
    if (n >= 1e6) return sprintf("%.3g MB", n / 1e6)
    return n " bytes"
}
