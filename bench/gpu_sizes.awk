# gpu_sizes.awk - prints a gnuplot script that draws gpu_sizes.csv of bench/gpu_decompress.sh -o:
# the speed of decompression by a GPU against the size of the output, with one line for each kind of
# .gz file
#
# bench/plot.sh runs this program. The variable png is the name of gnuplot's terminal for PNG. The
# plots go to gpu_sizes.png and gpu_sizes.svg. The colours are those of plots.awk.

BEGIN {
    FS = ","
    style["gzlzss-6"] = "lc rgb '#D55E00' dt 1 lw 2 pt 5"
    style["bgzf"] = "lc rgb '#0072B2' dt 2 lw 2 pt 7"
    style["pigz-6"] = "lc rgb '#000000' dt 4 lw 1.5 pt 6"
    style["gzip-6"] = "lc rgb '#777777' dt 3 lw 1.5 pt 8"
}

FNR > 1 {
    if (!($2 in data)) kind[++n] = $2
    data[$2] = data[$2] $4 / 1e6 " " $5 "\n"
    file = $1
}

function draw(terminal, name,    k, what) {
    print "set terminal " terminal " size 640,420"
    print "set output '" name "'"
    for (k = 1; k <= n; k++)
        what = what (what == "" ? "plot " : ", ") "$d" k " with linespoints " \
            (kind[k] in style ? style[kind[k]] : "lw 1.5") " title '" kind[k] "' noenhanced"
    print what
    print "set output"
}

END {
    if (!n) exit
    for (k = 1; k <= n; k++) printf "$d%d << EOD\n%sEOD\n", k, data[kind[k]]
    print "set title 'Decompression of " file " in the memory of a GPU' noenhanced"
    print "set xlabel 'MB of output (logarithmic)'"
    print "set ylabel 'GB of output a second'"
    print "set logscale x 10"
    print "set yrange [0:*]"
    print "set grid"
    print "set key top left"
    draw(png, "gpu_sizes.png")
    draw("svg", "gpu_sizes.svg")
}
