#!/usr/bin/env bats
# layers.bats - the sources respect the layers, and the check finds code that does not

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    layers=$srcdir/build-aux/layers.sh
    mkdir -p base lzss gpu src
    printf '#include "config.h"\n#include "base/bytes.h"\n' >lzss/match.c
    printf '#include <stdlib.h>\n' >base/bytes.h
    printf '#include "lzss/match.h"\nint main(void) { exit(0); }\n' >src/main.c
}

# complains LINE...: the check must fail and print these lines.
complains() {
    ends_with 1 sh "$layers" .
    printf '%s\n' "$@" | cmp - stdout || fail "not expected: $(cat stdout)"
}

@test "the sources keep to the layers" {
    sh "$layers"
}

@test "docs/architecture.md has the list that is checked" {
    sh "$layers" --list >list
    [ "$(wc -l <list)" -ge 10 ]
    while read -r folder used; do
        grep -q "^| \`$folder/\` |.*| ${used:-nothing} |\$" "$srcdir/docs/architecture.md" ||
            fail "docs/architecture.md lacks: $folder may use ${used:-nothing}"
    done <list
}

@test "a small tree without a fault passes, with comments and strings about what is forbidden" {
    cat >gpu/engine.c <<'END'
/* exit(1) would end it,
 * abort() too */
static const char *text = "getc(stdin), exit(1) /* \" abort()"; // abort()
int f(struct calls *c) { c->exit(1); snprintf(text, 1, "stdout"); return on_exit_(1); }
END
    sh "$layers" .
}

@test "a folder that uses one above it, or one that is not there, or no folder" {
    printf '#include "base/bytes.h"\n\n#  include "src/options.h"\n' >lzss/match.h
    printf '#include "lzss/match.h"\n#include "huffman/huffman.h"\n' >gpu/engine.cu
    printf '#include "other/match.h"\n#include "bytes.h"\n' >base/io.c
    complains 'base/io.c:1: base/ may not use other/ (other/match.h)' \
        'base/io.c:2: "bytes.h" is not a path from the top' \
        'gpu/engine.cu:2: gpu/ may not use huffman/ (huffman/huffman.h)' \
        'lzss/match.h:3: lzss/ may not use src/ (src/options.h)'
}

@test "headers, and files with their headers, in a circle" {
    printf '#include "src/b.h"\n' >src/a.h
    printf '#include "src/a.h"\n' >src/b.h
    printf '#include "lzss/match.h"\n#include "lzss/links.h"\n' >lzss/match.c
    printf '#include "base/bytes.h"\n#include "lzss/tables.h"\n' >lzss/links.h
    printf '#include "lzss/match.h"\n' >lzss/tables.h
    complains 'lzss/match.c:2: a circle: lzss/links -> lzss/tables -> lzss/match -> lzss/links' \
        'src/b.h:1: a circle: src/a -> src/b -> src/a'
}

@test "what is the command's alone, below it" {
    printf '/* a */ void f(void) { getenv ("A"); } /* exit(1) */\n' >base/io.c
    printf 'void f(void)\n{\n    perror("a"); fprintf(stderr, "b");\n}\n' >lzss/match.c
    complains 'base/io.c:1: getenv is for src/ alone' \
        'lzss/match.c:3: perror is for src/ alone' 'lzss/match.c:3: stderr is for src/ alone'
}

@test "a room of the pipeline that uses one above it, and a look into what another file owns" {
    mkdir -p pipeline/crew pipeline/compress
    printf '#include "pipeline/compress/gpu_feed.h"\n' >pipeline/crew/jobs.c
    printf \
        '#include "pipeline/crew/jobs.h"\nint f(struct pipeline *p) { return p->slots.held; }\n' \
        >pipeline/compress/gpu_feed.c
    printf 'int held(struct pipeline *p) { return p->slots.held; }\n' >pipeline/crew/slots.c
    complains 'pipeline/compress/gpu_feed.c:2: only pipeline/crew/slots.c may look into p->slots' \
        "pipeline/crew/jobs.c:1: pipeline/crew/ may not use pipeline/compress/ \
(pipeline/compress/gpu_feed.h)"
}
