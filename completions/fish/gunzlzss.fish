# gunzlzss.fish - completions for gunzlzss in fish, which is short for "gzlzss -d"
complete -c gunzlzss -w 'gzlzss -d'
