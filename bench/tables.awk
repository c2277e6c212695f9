# tables.awk - prints the tables of results.md, from the results that results.awk has read

function in_part(i, p) {
    return part[i] == p
}

function pareto_table(f,    i, n, list, key, s, related) {
    printf "\n## Speed and ratio: %s, %s\n\n", f, amount(most[f])
    print "| tool | level | threads | GPUs | MB/s | ratio | front | measured on | checked by |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
        if (part[i] != "pareto" || file[i] != f) continue
        s = series(i)
        if (!(s in place)) place[s] = ++places
        key[i] = place[s] * 1000 + rank(level[i])
        list[++n] = i
    }
    sort(list, n, key)
    for (k = 1; k <= n; k++) {
        i = list[k]
        s = amount(bytes[i]) " of it"
        if (!is_sample(i)) s = "all of it"
        else if (is_related(i)) related = 1
        else s = s ", its own ratio"
        printf "| %s | %s | %d | %d | %.1f | %s | %s | %s | %s |\n", \
            series(i) (tool[i] == "nvcomp" ? " (1)" : ""), level[i], threads[i], devices[i], speed(i), \
            is_right(i) ? sprintf("%s%.3f", is_sample(i) && is_related(i) ? "~" : "", ratio(i)) : "-", \
            is_on_front(i) ? "x" : "", s, checked[i]
    }
    print "\nGPUs: those that the engine may use.  front: nothing else is as fast and as small."
    if (related)
        print "~: that of the sample, times what gzlzss -6 has on the file to what it has on the sample."
    for (i = 1; i <= rows; i++)
        if (part[i] == "pareto" && file[i] == f && tool[i] == "nvcomp") {
            print "(1) From GPU memory to GPU memory, without reading, copying or writing, in chunks of " \
                "64 KiB that are no .gz file; level: its algorithm type."
            break
        }
}

# Prints a table of speeds, with one line for each value in column x (bytes, threads or devices),
# and one column for each tool, engine and level.
function speed_table(p, title, x,    i, k, n, m, list, key, cols, col, seen, cell, at, c, top) {
    for (i = 1; i <= rows; i++) {
        if (!in_part(i, p) || !is_right(i) || (x == "bytes" && !is_best(i))) continue
        c = level[i] SUBSEP series(i)
        if (!(c in seen)) {
            seen[c]
            cols[++m] = i
            key[i] = rank(level[i])
        }
        at = x == "bytes" ? bytes[i] : x == "threads" ? threads[i] : devices[i]
        if (!((x, at) in seen)) {
            seen[x, at]
            list[++n] = at
            order[at] = at
        }
        cell[at, c] = sprintf("%.1f", speed(i))
        if (x != "bytes") {
            if (bytes[i] > top) top = bytes[i]
            on[at, c] = bytes[i]
        }
    }
    if (!n) return
    sort(cols, m, key)
    sort(list, n, order)
    printf "\n## %s\n\n| %s |", title, x == "bytes" ? "input" : x == "threads" ? x : "GPUs"
    for (k = 1; k <= m; k++) printf " %s -%s |", series(cols[k]), level[cols[k]]
    printf "\n|"
    for (k = 0; k <= m; k++) printf "---|"
    print ""
    for (i = 1; i <= n; i++) {
        printf "| %s |", x == "bytes" ? amount(list[i]) : list[i]
        for (k = 1; k <= m; k++) {
            at = list[i]
            c = level[cols[k]] SUBSEP series(cols[k])
            if (!((at, c) in cell)) printf " - |"
            else if (x != "bytes" && on[at, c] < top) printf " %s on %s |", cell[at, c], amount(on[at, c])
            else printf " %s |", cell[at, c]
        }
        print ""
    }
    if (x != "bytes") printf "\nMB/s, on %s of %s where nothing else is said.\n", amount(top), names_of(p)
    else print "\nMB/s."
}

function names_of(p,    i) {
    for (i = 1; i <= rows; i++)
        if (part[i] == p) return file[i]
}

# Prints for each level from which size of the input engine e is faster than the CPU engine: the
# smallest measured size, if e is faster at this size and at all larger ones.
function where_it_pays(e,    i, k, n, list, key, from, beaten, l, lv, levels) {
    for (i = 1; i <= rows; i++)
        if (in_part(i, "size") && tool[i] == "gzlzss" && engine[i] == e && is_right(i)) {
            list[++n] = i
            key[i] = bytes[i]
        }
    if (!n) return
    print ""
    sort(list, n, key)
    for (k = 1; k <= n; k++) {
        i = list[k]
        for (l = 1; l <= rows; l++)
            if (in_part(l, "size") && tool[l] == "gzlzss" && engine[l] == "cpu" && \
                level[l] == level[i] && bytes[l] == bytes[i] && is_right(l)) {
                if (!(level[i] in from)) {
                    from[level[i]] = 0
                    lv[++levels] = level[i]
                }
                if (speed(i) <= speed(l)) from[level[i]] = 0
                else if (!from[level[i]]) from[level[i]] = bytes[i]
            }
    }
    for (k = 1; k <= levels; k++)
        printf "- Level %s: %s is faster than cpu %s.\n", lv[k], e, \
            from[lv[k]] ? "from " amount(from[lv[k]]) " on" : "not even at the largest size"
}

function time_table(f,    i, k, gb, sum, all, list, n, key) {
    printf "\n## Where the time goes: %s\n\n", f
    print "| engine | level | wall | read | match | encode | write | waiting | " \
        "GPU: copy in | kernels | copy out | segments matched by the GPU |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= times; i++)
        if (t_file[i] == f) {
            list[++n] = i
            key[i] = rank(t_level[i])
        }
    sort(list, n, key)
    for (k = 1; k <= n; k++) {
        i = list[k]
        gb = t_bytes[i] / 1e9
        sum = t_step[i, 1] + t_step[i, 2] + t_step[i, 3] + t_step[i, 4]
        all = t_secs[i] * t_threads[i]
        printf "| %s | %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %s |\n", \
            t_engine[i], t_level[i], t_secs[i] / gb, t_step[i, 1] / gb, t_step[i, 2] / gb, \
            t_step[i, 3] / gb, t_step[i, 4] / gb, (all > sum ? all - sum : 0) / gb, t_step[i, 5] / gb, \
            t_step[i, 6] / gb, t_step[i, 7] / gb, \
            sprintf("%d of %d", t_gpu[i], t_cpu[i] + t_gpu[i])
    }
    printf "\nSeconds for a GB of input; wall: of wall time; read to write: of all %d threads and that which " \
        "feeds the GPU,\nand waiting what is left of wall time times threads, starting and ending included; " \
        "the GPU's steps are by its\nown clock, and go on beside each other and the threads.\n", t_threads[list[1]]
}

END {
    for (j = 1; j <= files; j++) pareto_table(names[j])
    speed_table("size", "Throughput against input size", "bytes")
    where_it_pays("gpu")
    where_it_pays("auto")
    speed_table("threads", "Scaling with threads", "threads")
    speed_table("devices", "Scaling with GPUs", "devices")
    for (j = 1; j <= t_files; j++) time_table(t_names[j])
}
