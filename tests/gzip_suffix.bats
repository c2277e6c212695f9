#!/usr/bin/env bats
# gzip_suffix.bats - which name an output gets, and which input file a name means

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.

load helpers
load compare

make_inputs() {
    common_inputs
}

# plain NAME, compressed NAME: make a file with this name, with plain or with compressed data.
plain() {
    take "$1=other"
}
compressed() {
    take "$1=other.gz"
}

@test "suffixes that are known, and that are not" {
    local name i
    names=()
    for name in a.gz a-gz a.z a-z a_z a.Z a.tgz a.taz a.GZ a.Tgz a.tGZ a.TAZ a.gZ a-GZ a_Z a-Z \
        a_gz a.gz.gz a.gz.z a.tar.gz a.tar a.tar.Z a.b.gz a.t.tgz a.x a.gz.x agz az atgz a.tz a. \
        a.. a.gzip a.gz~ a.g a.gzz a.txz a.zip a-tgz a_tgz a.Gz.tGz .gz -gz _z .z .Z -z .tgz \
        .taz ..gz x..gz .a.gz .a gz z tgz a..tgz a-.gz 'a .gz' 'a.gz ' a.bz2 a.xz a.Taz a.lzh; do
        names+=("$name")
    done
    # Makes one directory for each name and option.
    in_directories() {
        local name i
        for i in "${!names[@]}"; do
            mkdir "p$i" "f$i" "c$i"
            take "p$i/${names[i]}=other" "f$i/${names[i]}=other" "c$i/${names[i]}=other.gz"
        done
    }
    for i in "${!names[@]}"; do
        printf -v name %q "${names[i]}"
        same_in_turn in_directories "cd p$i; gzip ./$name" "cd f$i; gzip -f ./$name" \
            "cd c$i; gzip -dv ./$name"
    done
}

@test "the same for the other actions" {
    local name
    for name in a.gz a.tgz a.x .gz a; do
        same "plain $(printf %q "$name")" "gzip -c $name" "gzip -v $name" "gzip -q $name" \
            "gzip -k $name" "gzip -cv $name" "gzip -n $name" "gzip -N $name" "gzip -r $name" \
            "gzip -rf $name" "gzip -vf $name" "gzip -qf $name" "gzip -vv $name"
        same "compressed $(printf %q "$name")" "gzip -d $name" "gzip -dq $name" "gzip -df $name" \
            "gzip -dc $name" "gzip -dr $name" "gzip -drq $name" "gzip -drv $name" \
            "gzip -drf $name" "gzip -t $name" "gzip -tv $name" "gzip -l $name" "gzip -lv $name" \
            "gzip -dN $name" "gzip -dNv $name" "gzip -dk $name" "gzip -dcv $name" \
            "gzip -dvq $name" "gzip -dqv $name" "gzip -dvf $name"
    done
}

many_names() {
    local name
    for name; do
        take "$name=other.gz"
    done
}
all_names() {
    many_names g.gz g.z g-z g.Z g-gz g_z g.tgz g.GZ g.x g.gz.gz g.x.gz
}

@test "a name that is not there, but for a suffix" {
    local name option
    for name in g.gz g.z g-z g.Z g-gz g_z g.tgz g.GZ g.x gx g.gz.gz g.z.gz; do
        same "many_names $name" 'gzip -dv g' 'gzip -dv g.gz' 'gzip -dv g.z' 'gzip -dvS .x g' \
            'gzip -dvS x g'
    done
    for option in -d -dc -tv -l -dk -df -dN -dr -c '' -r -dq; do
        same all_names "gzip $option g" "gzip $option g.x" "gzip $option -S .x g"
        same_in_turn all_names "gzip $option nothing" "gzip $option nothing.gz" \
            "gzip $option -S .x nothing" "gzip $option nothing.Z" "gzip $option ./nothing" \
            "gzip $option no/thing" "gzip $option g.gz/nothing" "gzip $option g.gz/" \
            "gzip $option g/"
    done
    same all_names \
        'gzip -dv g; gzip -dv g; rm g; gzip -dv g; rm g; gzip -dv g; rm g; gzip -dv g; rm g; \
            gzip -dv g' \
        'gunzip g' 'zcat g' 'gzip -dvS .none g' 'gzip -dvS .z g' 'gzip -dvS -z g' \
        'gzip -dvS .GZ g' 'gzip -dvS .gz.gz g' 'gzip -dv g g' 'gzip -dc g g' 'gzip -dv g.gz.gz g' \
        'gzip -d "" g' 'gzip -d . g' 'gzip -dv nothing g'
}

odd_neighbours() {
    take x=other.gz good.gz=other.gz both.gz=other.gz both.z=other.gz empty=empty
    mkdir dir.gz both good
    ln -s nothing dangling.gz
    ln -s x soft.gz
    ln -s nothing dangles
    take dangles.gz=other.gz
    ln -s loop loop
    take loop.gz=other.gz
    mkfifo fifo.gz
    ln x twice.gz
}

@test "a name that is not there, and what is there in its stead" {
    for option in -dc -t -l -dcf; do
        for name in dir dangling soft dangles loop good both empty twice dangles.gz empty/x; do
            same_in_turn odd_neighbours "gzip $option $name"
        done
    done
    for option in -d -df -dr -dv; do
        same odd_neighbours "gzip $option dir" "gzip $option dangling" "gzip $option soft" \
            "gzip $option dangles" "gzip $option loop" "gzip $option good" "gzip $option both" \
            "gzip $option empty" "gzip $option twice" "gzip $option dangles.gz" \
            "gzip $option empty/x"
    done
    same odd_neighbours 'gzip -d fifo' 'gzip -df fifo'
}

@test "-S" {
    local suffix name
    for suffix in .x x .X .gz gz .GZ . .tgz .taz .tar .z -z _z .Z .gz.gz .tar.gz a - -x ' ' ' x' \
        .é /x x/y ../x / ./ // $'\n' $'\xff' %s '*' "'" .tGz .x.y .x.gz \
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; do
        printf -v s %q "$suffix"
        name=f
        same "plain $(printf %q "$name")" "gzip -S $s f" \
            "gzip -kvS $s f 2>/dev/null; gzip -dfS $s f$s"
        if [[ $suffix != */* ]]; then
            name=f$suffix
            same "plain $(printf %q "$name")" "gzip -S $s f$s"
            same "compressed $(printf %q "$name")" "gzip -dS $s f$s" "gzip -dS $s f"
            same_in_turn "compressed $(printf %q "$name")" "gzip -lS $s f$s" "gzip -tvS $s f"
        fi
    done
    for name in f.gz f.X f.tgz .x x f.x.gz f.gz.x; do
        for s in .x x .tgz; do
            same "plain $name" "gzip -S $s ./$name" "gzip -rS $s ."
            same "compressed $name" "gzip -dS $s ./$name" "gzip -drS $s ."
        done
    done
}

@test "-S: the tail of a known suffix" {
    local suffix i name long names
    names=(f.gz f-gz f.tgz f.taz f_z f.z f. f f.t f.ta f- fgz ftgz faz fz f.GZ f.Tgz fGZ gz .gz \
        .tgz tgz f.gz.gz f.tar)
    # Makes one directory for each name.
    in_directories() {
        local i
        for i in "${!names[@]}"; do
            mkdir "p$i" "c$i"
            take "p$i/${names[i]}=other" "c$i/${names[i]}=other.gz"
        done
    }
    for suffix in gz tgz az taz z GZ Taz _gz -z gzz z.gz; do
        # Define a tree for each suffix.  The tree contains files with all names.
        eval "in_directories_for_$suffix() { in_directories; }"
        for i in "${!names[@]}"; do
            name=${names[i]}
            same_in_turn "in_directories_for_$suffix" "cd p$i; gzip -S $suffix ./$name"
            # -l and -t look for the file in the same way as -d, so try only two suffixes.
            [[ $suffix != gz && $suffix != z ]] ||
                same_in_turn "in_directories_for_$suffix" "cd c$i; gzip -lS $suffix ./$name" \
                    "cd c$i; gzip -tvS $suffix ./$name"
            same_in_turn "in_directories_for_$suffix" "cd c$i; gzip -dvS $suffix ./$name"
        done
    done
    long=$(printf 'n%.0s' {1..255})
    for suffix in gz tgz az z .x; do
        for name in "${long:1}." "${long:2}.t" "${long:3}.ta" "${long:5}.tar." "${long:6}.tar.t" \
            "${long:4}.tar" "${long:1}-"; do
            same "plain $name" "gzip -S $suffix -- $name" \
                "gzip -kS $suffix -- $name; gzip -dfS $suffix -- $name*"
        done
    done
}

@test "long names" {
    local n name long
    long=$(printf 'n%.0s' {1..300})
    for n in 248 250 251 252 253 254 255; do
        name=${long:0:n}
        same "plain $(printf %q "$name")" "gzip $name" "gzip -v $name" "gzip -q $name" \
            "gzip -c $name" "gzip -k $name" "gzip -S .longer $name"
        name=${long:0:n-3}.gz
        same "compressed $(printf %q "$name")" "gzip -d $name" "gzip -d ${name%.gz}" "gzip -l $name"
        name=${long:0:n-4}.tgz
        same "compressed $(printf %q "$name")" "gzip -d $name" "gzip -dN $name"
    done
    for n in 252 253 254 255 256 257 300; do
        same_in_turn nothing "gzip ${long:0:n}" "gzip -d ${long:0:n}" "gzip -d ${long:0:n-3}.gz" \
            "gzip -l ${long:0:n}"
    done
    # Try names with dots: gzip shortens the parts between the dots.
    for name in "${long:0:249}.tar" "${long:0:250}.tar" "${long:0:251}.tar" \
        "${long:0:245}.tar.xyz" "${long:0:100}.${long:0:100}.${long:0:53}" "a.${long:0:253}" \
        "a.b.${long:0:250}" "ab.${long:0:248}.cd" "${long:0:246}.c.h.old" \
        "${long:0:123}..${long:0:130}" ".${long:0:254}" "${long:0:254}." "a.b.c.d.${long:0:247}" \
        "$(printf 'a.%.0s' {1..127})x" "$(printf 'abcd.%.0s' {1..51})" \
        "$(printf 'abc.%.0s' {1..63})abc" "$(printf '.%.0s' {1..255})"; do
        same "plain $(printf %q "$name")" "gzip -- ./$name" "gzip -v ./$name"
    done
    mkdir long
    name=${long:0:255}
    same "plain $(printf %q "$name")" "gzip $name; gzip -dv *.gz" "gzip $name; gzip -dvN *.gz" \
        "gzip -f $name" "gzip $name $name" "gzip -n $name; gzip -dNv *.gz" \
        "mkdir d; mv $name d; gzip d/$name" "touch ${name:0:252}.gz; gzip $name" \
        "mkdir d; mv $name d; gzip -r d; gzip -dr d" "gzip -S .ab $name" \
        "gzip -S .abcdefghijklmnopqrstuvwxyz12 $name" "gzip ../tree/$name"
}

@test "long paths" {
    local n path
    path=$(printf 'p/%.0s' {1..2100})
    for n in 1000 1015 1016 1017 1018 1019 1020 1021 1022 1023 1024 1025 1026 1027 1028 4090 4095 \
        4096 4097; do
        same_in_turn nothing "gzip -- ${path:0:n}" "gzip -d ${path:0:n}" \
            "gzip -d ${path:0:n-3}.gz" "gzip -l ${path:0:n}" "gzip -c ${path:0:n}"
    done
    same nothing "gzip -S .thirty_characters_of_suffix_xyz ${path:0:1000}" \
        "gzip -dS .thirty_characters_of_suffixxyz ${path:0:990}" \
        "gzip -dS .thirty_characters_of_suffixxyz ${path:0:1000}" "gzip -q ${path:0:2000}" \
        "gzip -v ${path:0:2000} missing"
    # Repeated slashes count towards a path's length, even though the file exists.
    path=$(printf '/%.0s' {1..1100})
    for n in 1000 1010 1015 1016 1017 1018 1019 1020; do
        same two_files "gzip .${path:0:n}text" "gzip -c .${path:0:n}text"
        same two_compressed "gzip -d .${path:0:n}text.gz" "gzip -d .${path:0:n}text"
    done
}

odd_names() {
    take 'a b'=other $'new\nline'=other $'\xff\xfe'=other '*'=other '%s%n'=other -dash=other \
        --=other 'é'=other "q'uote"=other 'd"ouble'=other 'back\slash'=other $'tab\t'=other \
        ' '=other $'\x01'=other ..a=other ...=other \
        '~'=other 'a;b'=other '$(x)'=other
}

@test "odd names, there and back" {
    same odd_names 'gzip -- *' 'gzip ./*' 'gzip -- * && gzip -d -- *' 'gzip -c -- *' \
        'gzip -v -- * 2>&1 | sed "s/[0-9.-]*%//"' 'gzip -n -- *; gzip -l -- *' \
        'gzip -- *; gzip -dv -- *' 'gzip *' 'gzip -d -- *' 'gzip -r .; gzip -dr .' 'gzip "*"' \
        'gzip -- * *.gz' 'gzip -- -dash' 'gzip -dash' \
        'gzip -- "new
line" "
"' \
        'gzip "no
such"' 'gzip ... ..a' 'gzip "" " "' 'gzip /' 'gzip .' 'gzip ..' 'gzip ./' \
        'gzip text/' 'gzip ./..a/' 'gzip ../tree/..a' 'gzip "$PWD/..a" 2>&1 | sed "s|/.*tree/||"' \
        'gzip -v ././..a 2>&1 | sed "s/[0-9.-]*%//"' 'gzip .//..a' 'gzip -d /' 'gzip -d .'
}
