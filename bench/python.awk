# python.awk - prints a gnuplot script that draws python.csv of bench/python.py --out: the Python
# package beside others
#
# bench/plot.sh runs this program. The variable png is the name of gnuplot's terminal for PNG. The
# plots go to python-files (throughput of reading and writing), python-objects (objects in memory,
# time against size) and python-pieces (decompressobj, throughput against the object's size), each
# .png and .svg. The colours are those of plots.awk.

BEGIN {
    FS = ","
    style["gzlzss"] = "lc rgb '#D55E00' dt 1 lw 2 pt 5"
    style["gzlzss at level 1"] = "lc rgb '#E69F00' dt 1 lw 2 pt 4"
    style["gzip"] = style["zlib"] = "lc rgb '#777777' dt 3 lw 1.5 pt 8"
    style["isal.igzip"] = style["isal.isal_zlib"] = "lc rgb '#0072B2' dt 2 lw 2 pt 7"
    style["isal.igzip_threaded"] = "lc rgb '#56B4E9' dt 2 lw 2 pt 6"
    style["zlib_ng.gzip_ng_threaded"] = style["zlib_ng.zlib_ng"] = "lc rgb '#009E73' dt 4 lw 1.5 pt 9"
    style["rapidgzip"] = "lc rgb '#000000' dt 4 lw 1.5 pt 10"
    style["mgzip"] = "lc rgb '#CC79A7' dt 5 lw 1.5 pt 11"
}

FNR > 1 {
    # csv.writer quotes the name that has a comma.
    if (sub(/"gzlzss, level 1"/, "gzlzss at level 1")) $0 = $0
    work = $1
    if (work ~ /^(write|write lines|read|read 1 MiB|read lines|read text)$/)
        add_file(work, $2, $3 / $4 / 1e6)
    else if (work == "compress" || work == "decompress")
        add_line(work, $2, $3 " " $4 * 1e9 / $3)
    else if (work == "decompressobj 65536" || work == "decompressobj 16384")
        add_line(work, $2, $3 " " $3 / $4 / 1e6)
}

function add_file(work, name, speed) {
    if (!(work in is_work)) {
        is_work[work] = 1
        works[++n_works] = work
        label[work] = work == "write" || work == "read" ? work "()" : work
    }
    if (!(name in is_name)) {
        is_name[name] = 1
        names[++n_names] = name
    }
    speeds[work, name] = speed
}

function add_line(work, name, point) {
    if (!((work, name) in points)) order[work] = order[work] "|" name
    points[work, name] = points[work, name] point "\n"
}

# Draws the bars of all works.
function draw_files(terminal, file,    i, k, what) {
    print "set terminal " terminal " size 1000,520"
    print "set output '" file "'"
    for (i = 1; i <= n_names; i++)
        what = what (i == 1 ? "plot $files" : ", ''") " using " i + 1 \
            (i == 1 ? ":xtic(1)" : "") " " colour(names[i]) " title '" names[i] "' noenhanced"
    print what
    print "set output"
}

function colour(name) {
    return match(style[name], /lc rgb '[^']*'/) ? substr(style[name], RSTART, RLENGTH) : ""
}

# Draws the lines of one work in a panel.
function draw_panel(work, title, ylabel,    list, n, i, what) {
    n = split(substr(order[work], 2), list, "|")
    print "set title '" title "' noenhanced"
    print "set ylabel '" ylabel "'"
    for (i = 1; i <= n; i++)
        what = what (i == 1 ? "plot " : ", ") "$" block[work, list[i]] " with linespoints " \
            style[list[i]] " title '" list[i] "' noenhanced"
    print what
}

function draw_panels(terminal, file, a, a_title, b, b_title, ylabel) {
    if (order[a] == "" || order[b] == "") return
    print "set terminal " terminal " size 1000,420"
    print "set output '" file "'"
    print "set multiplot layout 1,2"
    draw_panel(a, a_title, ylabel)
    draw_panel(b, b_title, ylabel)
    print "unset multiplot"
    print "set output"
}

END {
    for (key in points) {
        split(key, parts, SUBSEP)
        block[parts[1], parts[2]] = "d" ++n_blocks
        printf "$d%d << EOD\n%sEOD\n", n_blocks, points[key]
    }
    if (n_works) {
        print "$files << EOD"
        for (k = 1; k <= n_works; k++) {
            printf "\"%s\"", label[works[k]]
            for (i = 1; i <= n_names; i++)
                printf " %s", (works[k], names[i]) in speeds ? speeds[works[k], names[i]] : "NaN"
            print ""
        }
        print "EOD"
        print "set title 'Files, from Python'"
        print "set ylabel 'MB a second (logarithmic)'"
        print "set logscale y 10"
        print "set style data histogram"
        print "set style histogram clustered gap 1"
        print "set style fill solid"
        print "set grid ytics"
        print "set xtics scale 0"
        print "set key outside top center horizontal width -3"
        draw_files(png, "python-files.png")
        draw_files("svg", "python-files.svg")
        print "unset logscale"
        print "set style fill empty"
    }
    print "set logscale x 10"
    print "set xlabel 'bytes of the object (logarithmic)'"
    print "set grid"
    print "set yrange [0:*]"
    print "set key inside top right vertical width 0"
    draw_panels(png, "python-objects.png", "compress", "compress()", "decompress", "decompress()",
        "ns a byte")
    draw_panels("svg", "python-objects.svg", "compress", "compress()", "decompress",
        "decompress()", "ns a byte")
    print "set key inside bottom right"
    draw_panels(png, "python-pieces.png", "decompressobj 16384", "decompressobj, 16 KiB a call",
        "decompressobj 65536", "decompressobj, 64 KiB a call", "MB a second")
    draw_panels("svg", "python-pieces.svg", "decompressobj 16384",
        "decompressobj, 16 KiB a call", "decompressobj 65536", "decompressobj, 64 KiB a call",
        "MB a second")
}
