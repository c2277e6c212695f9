# claims.awk - prints the results of bench/claims.sh, claims.csv, as Markdown tables: for each group
# and each number, a line for each method and a column for each kind of data
#
# In claims.csv, the method is in quotes, since it contains commas.

# Enters a number of a method and a kind of data into a table of the current group.
function enter(title, value) {
    if (!((group, title) in has)) {
        has[group, title] = 1
        titles[group] = titles[group] title "\n"
    }
    if (!((group, title, method) in has)) {
        has[group, title, method] = 1
        lines[group, title] = lines[group, title] method "\n"
    }
    cell[group, title, method, kind] = value
}

# Enters the number only if it is greater than the one that is there.
function enter_best(title, value) {
    if (!((group, title, method, kind) in cell) || value + 0 > cell[group, title, method, kind] + 0)
        enter(title, value)
}

# Numbers of bench/paper_codec's lines for the GPU: what is "coding" or "decoding", then the form,
# then the name of the number.
function enter_gpu(what, form, name, value) {
    if (what == "coding" && form == "threads" && name ~ /^(find|parse) ms$/) {
        matching[group, method, kind] += value
        enter("GPU, matching alone, kernels, GB/s",
            sprintf("%.1f", bytes / matching[group, method, kind] / 1e6))
    } else if (name !~ /GB\/s$/)
        return
    else if (what == "coding" && form == "cpu") {
        if (name ~ /^end/)
            enter("GPU, matching, and coding on one core, end to end, GB/s", value)
    } else if (what == "coding")
        enter_best("GPU, matching and coding, the fastest form, " name, value)
    else if (name ~ /^kernels/)
        enter("GPU, decoding, " form ", " name, value)
    else
        enter_best("GPU, decoding, the fastest form, " name, value)
}

NR > 1 && /"/ {
    split($0, part, "\"")
    method = part[2]
    split(part[1], field, ",")
    split(part[3], value, ",")
    group = field[1]
    kind = field[2]
    bytes = field[3]
    if (!((group) in has)) {
        has[group] = 1
        groups = groups group "\n"
    }
    if (!((group, kind) in has)) {
        has[group, kind] = 1
        kinds[group] = kinds[group] kind "\n"
    }
    if (value[2] != "")
        enter("Ratio", sprintf("%.3f", bytes / value[2]))
    if (split(value[3], word, " ") > 3 && word[1] == "gpu" && word[2] ~ /coding/) {
        name = value[3]
        sub(/^gpu [a-z]+ [a-z]+ /, "", name)
        enter_gpu(word[2], word[3], name, value[4])
    } else if (value[3] != "coded bytes")
        enter(value[3], value[4])
}

END {
    for (g = 1; g < split(groups, all_groups, "\n"); g++) {
        group = all_groups[g]
        columns = split(kinds[group], column, "\n") - 1
        for (t = 1; t < split(titles[group], title, "\n"); t++) {
            printf "\n### %s: %s\n\n|", group, title[t]
            for (c = 1; c <= columns; c++)
                printf " | %s", column[c]
            printf " |\n|"
            for (c = 0; c <= columns; c++)
                printf "---|"
            print ""
            for (l = 1; l < split(lines[group, title[t]], line, "\n"); l++) {
                printf "| `%s`", line[l]
                for (c = 1; c <= columns; c++)
                    printf " | %s", cell[group, title[t], line[l], column[c]]
                print " |"
            }
        }
    }
}
