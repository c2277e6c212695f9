# gzlzsscat.fish - completions for gzlzsscat in fish, which is short for "gzlzss -cd"
complete -c gzlzsscat -w 'gzlzss -cd'
