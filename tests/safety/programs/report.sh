#!/usr/bin/env bash
# Make a small data set, count it with awk, and pack the result.
set -euo pipefail

out=${1:-out}
mkdir -p "$out"
trap 'rm -f "$out/tmp.txt"' EXIT

for i in $(seq 1 20); do
    printf '%s,%d,%d\n' "item$((i % 4))" "$i" "$((i * i))"
done > "$out/data.csv"

sort -t, -k2,2nr "$out/data.csv" | head -n 5 > "$out/top.txt"
awk -F, '{ sum[$1] += $3; n[$1]++ } END { for (k in sum) printf "%s %.1f\n", k, sum[k] / n[k] }' "$out/data.csv" | sort > "$out/mean.txt"

while IFS=, read -r name number square; do
    if [[ $name == item1 && $square -gt 100 ]]; then
        echo "$name: $number squared is $square"
    fi
done < "$out/data.csv"

total=$(wc -l < "$out/data.csv")
echo "rows: $total, files: $(find "$out" -type f | wc -l)" | tee "$out/log.txt"
sed -i 's/item/thing/g' "$out/mean.txt"
grep -c thing "$out/mean.txt" || true
tar czf "$out.tar.gz" "$out"
ls -lh "$out.tar.gz" 2>/dev/null
