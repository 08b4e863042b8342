#!/bin/sh
# Install those languages of languages.txt that the base does not have. Usage: install_languages.sh FILE default|full
set -eu
file=$1
variant=$2
missing=
while read -r name command image packages; do
    case $name in '' | '#'*) continue ;; esac
    if [ "$image" = full ] && [ "$variant" != full ]; then continue; fi
    command -v "$command" > /dev/null || missing="$missing $packages"
done < "$file"
[ -n "$missing" ] || exit 0
echo "installing$missing"
apt-get update -q -o APT::Update::Error-Mode=any
# shellcheck disable=SC2086  # a list of names
apt-get install -q -y --no-install-recommends $missing
rm -rf /var/lib/apt/lists/* /var/cache/apt/*
