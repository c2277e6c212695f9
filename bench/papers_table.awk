# papers_table.awk - prints the results of bench/papers.sh, papers.csv, as Markdown tables
#
# In papers.csv, the name of a method with parameters is in quotes, since it contains commas.

function ratio(bytes) {
    return bytes == "" ? "" : sprintf("%.3f", field[2] / bytes)
}

function speed(usec) {
    return usec == "" ? "" : sprintf("%.3f", field[2] / usec / 1000)
}

NR > 1 {
    matcher = $0
    sub(/^[^"]*"/, "", matcher)
    sub(/".*/, "", matcher)
    line = $0
    sub(/"[^"]*"/, "", line)
    split(line, field, ",")
    if (field[1] != data) {
        data = field[1]
        printf "\n### %s, %.1f MB\n\n", data, field[2] / 1e6
        print "| method | ratio as .gz | in its own coding | matched | a core matches, MB/s | GPU stage, GB/s | command, cores, GB/s | command, GPU, GB/s |"
        print "|---|---|---|---|---|---|---|---|"
    }
    printf "| %s | %s | %s | %.1f %% | %s | %s | %s | %s |\n", matcher ~ /^[0-9]/ ? "level " matcher : matcher, \
        ratio(field[4]), ratio(field[5]), field[7], field[8], field[9], speed(field[10]), speed(field[11])
}
