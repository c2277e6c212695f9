# gzlzss.fish - completions for gzlzss in fish
#
# gunzlzss.fish and gzlzsscat.fish, in the same directory, are for the commands with these names.
# To add an option, add a line here.  tests/docs.bats compares the options with those of "gzlzss
# --help".

# Succeeds if the command line so far asks to decompress, list or test files.
function __gzlzss_decompresses
    set -l words (commandline -opc)
    string match -qr -- '^(-[a-zA-Z0-9]*[dlt].*|--decompress|--uncompress|--list|--recover|--test)$' $words[2..-1]
end

# Prints the files that fish would offer for any command, but only directories and names with a
# suffix of compressed files.
function __gzlzss_compressed_files
    complete -C "__gzlzss_no_such_command "(commandline -ct) |
        string match -ri -- '.*(?:/|\.gz|\.z|\.tgz|\.taz|-gz|[-_]z|\.zip)$'
end

function __gzlzss_devices
    gzlzss --list-devices 2>/dev/null | string replace -rf '^ *([0-9]+): *(.*)' '$1\t$2'
end

function __gzlzss_matchers
    printf 'help\tList them\n'
    gzlzss --matcher=help 2>/dev/null | string replace -rf '^([a-z0-9-]+): (.*)' '$1\t$2'
end

# Prints the highest level that --help names.
function __gzlzss_last_level
    gzlzss --help 2>/dev/null | string replace -rf '.* level 1 .* to ([0-9]+) .*' '$1'
end

complete -c gzlzss -n __gzlzss_decompresses -f -a '(__gzlzss_compressed_files)'

complete -c gzlzss -o 0 -d 'Store, do not compress'
for level in (seq (__gzlzss_last_level) 2>/dev/null)
    complete -c gzlzss -o $level -d "Compress at level $level"
end
complete -c gzlzss -l fast -d 'Compress at level 1, the fastest'
complete -c gzlzss -l best -d 'Compress at level 9'
complete -c gzlzss -l level -x -a '(seq 0 (__gzlzss_last_level))' -d 'Compress at this level'
complete -c gzlzss -s A -l alias -x -d 'Name of standard input in the header'
complete -c gzlzss -l atomic -d 'Let an output have its name only when it is whole'
complete -c gzlzss -s b -l blocksize -x -a '32 64 128 256 512 1024 2048 4096 8192 16384 32768' -d 'KiB in a segment, compressed independently'
complete -c gzlzss -s c -l stdout -d 'Write to standard output, keep input files'
complete -c gzlzss -s C -l comment -x -d 'Comment in the header'
complete -c gzlzss -l compress -d 'Compress, whatever -d says'
complete -c gzlzss -s d -l decompress -d 'Decompress'
complete -c gzlzss -l exact -d 'List, with the sizes of all members together'
complete -c gzlzss -l fill -x -a '0 32 63 255' -d 'With --recover: the byte to write for lost ones'
complete -c gzlzss -s f -l force -d 'Overwrite output, allow links and terminals'
complete -c gzlzss -s h -l help -d 'List the options'
complete -c gzlzss -l huffman -d 'Find no repetitions, only code bytes'
complete -c gzlzss -s i -l independent -d 'Ignored: segments are independent anyway'
complete -c gzlzss -l index -d 'Write an index of the compressed file'
complete -c gzlzss -l index-file -r -d 'Use or write this index'
complete -c gzlzss -s k -l keep -d 'Keep input files'
complete -c gzlzss -s l -l list -d 'List what is in compressed files'
complete -c gzlzss -l lines -x -d 'Write only these lines: FIRST:COUNT'
complete -c gzlzss -s L -l license -d 'Print the license'
complete -c gzlzss -s m -l no-time -d 'Neither store nor restore the time'
complete -c gzlzss -s M -l time -d 'Store or restore the time'
complete -c gzlzss -s n -l no-name -d "Neither store nor restore the file's name and time"
complete -c gzlzss -s N -l name -d "Store or restore the file's name and time"
complete -c gzlzss -s o -l output -r -d 'Write to this file, keep the input file'
complete -c gzlzss -s p -l processes -x -a '(seq (getconf _NPROCESSORS_ONLN))' -d 'Number of threads'
complete -c gzlzss -s T -l threads -x -a '(seq (getconf _NPROCESSORS_ONLN))' -d 'Number of threads'
complete -c gzlzss -s q -l quiet -d 'Print no warnings'
complete -c gzlzss -l range -x -d 'Write only these bytes: OFFSET:LENGTH'
complete -c gzlzss -l recover -d 'Decompress what is left of damaged files'
complete -c gzlzss -s r -l recursive -d 'Process all files in directories'
complete -c gzlzss -s R -l rsyncable -d 'Make output that rsync can transfer in part'
complete -c gzlzss -s S -l suffix -x -a '.gz .z .zip' -d 'Suffix of compressed files'
complete -c gzlzss -s U -l rle -d 'Find only runs of one byte'
complete -c gzlzss -s Y -l synchronous -d 'Sync output to disk before removing input'
complete -c gzlzss -l verify -d 'Decode output again, compare, before removing input'
complete -c gzlzss -l no-verify -d 'Undo --verify'
complete -c gzlzss -s t -l test -d 'Test whether compressed files are intact'
complete -c gzlzss -s v -l verbose -d 'Report each file; -vv also times and engine'
complete -c gzlzss -s V -l version -d 'Print the version'
complete -c gzlzss -l format -x -a 'gzip\t"The default" bgzf\t"For htslib, samtools, tabix" zlib\t".zz" raw\t"DEFLATE alone" zip\t"One member"' -d 'Format of the compressed data'
complete -c gzlzss -s z -l zlib -d 'The same as --format=zlib'
complete -c gzlzss -s K -l zip -d 'The same as --format=zip'
complete -c gzlzss -l backend -x -a 'auto\t"GPU and CPU, for large inputs" cpu\t"The CPU alone" gpu\t"Nothing but a GPU"' -d 'What finds repetitions and decompresses'
complete -c gzlzss -l device -x -a '(__gzlzss_devices)' -d 'Numbers of the CUDA devices to use'
complete -c gzlzss -l exclude-compressed -d 'Skip files that start as compressed data'
complete -c gzlzss -l files-from -r -d 'Take more names from this file'
complete -c gzlzss -l json -d 'Report, list and test as JSON'
complete -c gzlzss -l list-devices -d 'List the GPUs that can be used'
complete -c gzlzss -l matcher -x -a '(__gzlzss_matchers)' -d 'Find repetitions as a paper does'
complete -c gzlzss -l memory -x -a '512M 1G 2G 4G 8G' -d 'Use at most this much memory'
complete -c gzlzss -l no-progress -d 'Show no progress'
complete -c gzlzss -l no-sparse -d 'Make no holes when decompressing'
complete -c gzlzss -l null -d 'Names in the file of --files-from end with zero bytes'
complete -c gzlzss -l output-dir -x -a '(__fish_complete_directories)' -d 'Put all outputs into this directory'
complete -c gzlzss -l output-dir-mirror -x -a '(__fish_complete_directories)' -d 'Put outputs into directories below this one'
complete -c gzlzss -l progress -d 'Show how far the work has come'
complete -c gzlzss -l rm -d 'Remove input files, also with --output'
complete -c gzlzss -l sparse -d 'Make holes in decompressed standard output, too'
