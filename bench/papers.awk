# papers.awk - prints a gnuplot script that draws papers.csv of bench/papers.sh: the ratio against
# the speed of matching, on the GPU, or on a core if there was no GPU
#
# bench/plot.sh runs this program. The variable png is the name of gnuplot's terminal for PNG. The
# plots go to papers.png and papers.svg, with one small plot for each kind of data. Levels are blue,
# and methods are vermilion. A grey point near a method shows the ratio in the coding of its paper.

NR > 1 {
    matcher = $0
    sub(/^[^"]*"/, "", matcher)
    sub(/".*/, "", matcher)
    line = $0
    sub(/"[^"]*"/, "", line)
    split(line, field, ",")
    if (!(field[1] in seen)) {
        seen[field[1]] = 1
        name[++n] = field[1]
    }
    speed = field[9] != "" ? field[9] * 1000 : field[8]
    has_gpu = has_gpu || field[9] != ""
    point = speed " " field[2] / field[4] " \"" (matcher ~ /^[0-9]/ ? "-" matcher : matcher) "\"\n"
    if (matcher ~ /^[0-9]/) levels[field[1]] = levels[field[1]] point
    else methods[field[1]] = methods[field[1]] point
    if (field[5] != "") own[field[1]] = own[field[1]] speed " " field[2] / field[5] "\n"
}

function draw(terminal, file,    i, columns, rows) {
    columns = n < 3 ? n : 3
    rows = int((n + columns - 1) / columns)
    print "set terminal " terminal " size " 480 * columns "," 380 * rows + 40
    print "set output '" file "'"
    print "set multiplot layout " rows "," columns " title 'Ratio against MB/s of matching, " \
        (has_gpu ? "GPU stage" : "one core") "; grey: in the own coding of the paper'"
    for (i = 1; i <= n; i++) {
        print "set title '" name[i] "' noenhanced"
        print "plot $m" i " using 1:2 with points lc rgb '#D55E00' pt 7 notitle, " \
            "$m" i " using 1:2:3 with labels left offset 0.7,0 font ',8' noenhanced notitle, " \
            "$l" i " using 1:2 with linespoints lc rgb '#0072B2' pt 5 notitle, " \
            "$l" i " using 1:2:3 with labels left offset 0.7,0.5 font ',8' tc rgb '#0072B2' noenhanced notitle" \
            (name[i] in own ? ", $o" i " using 1:2 with points lc rgb '#999999' pt 6 notitle" : "")
    }
    print "unset multiplot"
    print "set output"
}

END {
    for (i = 1; i <= n; i++) {
        printf "$m%d << EOD\n%sEOD\n", i, methods[name[i]]
        printf "$l%d << EOD\n%sEOD\n", i, levels[name[i]]
        if (name[i] in own) printf "$o%d << EOD\n%sEOD\n", i, own[name[i]]
    }
    print "set logscale x 10"
    print "set xrange [*:*]"
    print "set yrange [0:*]"
    print "set offsets graph 0.05, graph 0.35, graph 0.1, 0"
    print "set grid"
    draw(png, "papers.png")
    draw("svg", "papers.svg")
}
