# gzlzsscat.fish - completions in fish for gzlzsscat, which is short for "gzlzss -cd"
complete -c gzlzsscat -w 'gzlzss -cd'
