#!/bin/bash
# Compile a C program, run it over some inputs, and compare with what is expected.

make_sources() {
    local dir=$1
    mkdir -p "$dir"
    cat > "$dir/gcd.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int a = atoi(argv[1]), b = atoi(argv[2]);
    while (b) { int t = a % b; a = b; b = t; }
    printf("%d\n", a);
    return 0;
}
EOF
}

check() {
    local expected=$3
    local got
    got=$(./build/gcd "$1" "$2")
    if [ "$got" -eq "$expected" ]; then
        echo "ok: gcd($1, $2) = $got"
    else
        echo "wrong: gcd($1, $2) = $got, not $expected" >&2
        failures=$((failures + 1))
    fi
}

failures=0
make_sources src
mkdir -p build && gcc -O2 -Wall -o build/gcd src/gcd.c || exit 1
check 12 18 6
check 7 13 1
start=$(date +%s)
sleep 1 &
pid=$!
wait "$pid"
echo "took $(( $(date +%s) - start )) s"
words=(alpha beta gamma)
for ((i = 0; i < ${#words[@]}; i++)); do
    word=${words[$i]}
    echo "${word^^} ${word:0:2} ${#word}"
done
chmod +x build/gcd
rm -rf build src
exit "$failures"
