# gzlzsscat.fish - completions for gzlzsscat in fish: those of the command that it is short for
complete -c gzlzsscat -w 'gzlzss -cd'
