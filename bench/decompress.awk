# decompress.awk - prints a gnuplot script that draws the results of bench/decompress.sh -o: speed
# against threads, with one small plot for each kind of .gz file
#
# bench/plot.sh runs this program. The variable png is the name of gnuplot's terminal for PNG. The
# plots go to decompress.png and decompress.svg. The colours are those of plots.awk.

BEGIN {
    FS = ","
    style["gzlzss"] = "lc rgb '#0072B2' dt 1 lw 2 pt 7"
    style["rapidgzip"] = "lc rgb '#D55E00' dt 2 lw 2 pt 5"
    style["igzip"] = "lc rgb '#CC79A7' dt 3 lw 1.5 pt 13"
    style["pigz"] = "lc rgb '#000000' dt 4 lw 1.5 pt 6"
    style["gzip"] = "lc rgb '#777777' dt 3 lw 1.5 pt 8"
}

FNR > 1 {
    if (!($2 in kinds)) {
        kinds[$2] = 1
        kind[++n] = $2
    }
    if (!($3 in tools)) {
        tools[$3] = 1
        tool[++m] = $3
    }
    data[$2, $3] = data[$2, $3] $4 " " $5 "\n"
    if ($4 > most) most = $4
    file = $1
}

function draw(terminal, name,    columns, rows, i, k, what) {
    columns = n < 3 ? n : 3
    rows = int((n + columns - 1) / columns)
    print "set terminal " terminal " size " 340 * columns "," 280 * rows + 40
    print "set output '" name "'"
    print "set multiplot layout " rows "," columns " title 'Decompression of " file \
        " to /dev/null: GB/s of output against threads, by what made the .gz'"
    for (i = 1; i <= n; i++) {
        print "set title '" kind[i] "' noenhanced"
        what = ""
        for (k = 1; k <= m; k++)
            if ((kind[i], tool[k]) in data)
                what = what (what == "" ? "plot " : ", ") "$d" i "_" k " with linespoints " \
                    style[tool[k]] " title '" tool[k] "' noenhanced"
        print what
    }
    print "unset multiplot"
    print "set output"
}

END {
    for (i = 1; i <= n; i++)
        for (k = 1; k <= m; k++)
            if ((kind[i], tool[k]) in data)
                printf "$d%d_%d << EOD\n%sEOD\n", i, k, data[kind[i], tool[k]]
    print "set logscale x 2"
    print "set xrange [0.8:" 1.25 * most "]"
    print "set yrange [0:*]"
    print "set grid"
    print "set key top left"
    draw(png, "decompress.png")
    draw("svg", "decompress.svg")
}
