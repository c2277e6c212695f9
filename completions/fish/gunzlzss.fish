# gunzlzss.fish - completions for gunzlzss in fish: those of the command that it is short for
complete -c gunzlzss -w 'gzlzss -d'
