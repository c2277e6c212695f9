# gunzlzss.fish - completions in fish for gunzlzss, which is short for "gzlzss -d"
complete -c gunzlzss -w 'gzlzss -d'
