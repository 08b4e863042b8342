#!/bin/sh
# Make a base image's file system with debootstrap. Usage, as root: make_base.sh SUITE DIRECTORY OUTPUT.tar.gz PACKAGE...
set -eu
suite=$1
directory=$2
output=$3
shift 3
PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH
export LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH
if ! command -v debootstrap > /dev/null || { [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; }; then
    echo "installing debootstrap"
    apt-get update -q
    apt-get install -q -y --no-install-recommends debootstrap debian-archive-keyring
fi
# The mirror and the proxy that apt uses on this machine, where it has the suite; otherwise debootstrap's own.
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 'Component: main' 2> /dev/null | head -n 1 || true)
if [ -z "${http_proxy:-}" ]; then
    eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
    export http_proxy="${http_proxy:-}"
fi

root=$directory/root.$$
clean() {
    umount "$root/proc" "$root/sys" 2> /dev/null || true
    rm -rf --one-file-system "$root" "$output.part"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP
list=$(echo "$*" | tr ' ' ',')
# shellcheck disable=SC2086  # the mirror may be empty
debootstrap --variant=minbase --include="ca-certificates,$list" "$suite" "$root" $mirror
if [ ! -e "$root/usr/bin/python3" ]; then
    echo "debootstrap ended without python3" >&2
    exit 1
fi
find "$root" -xdev -type f -perm /6000 -exec chmod a-s {} +
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/man/* "$root"/usr/share/locale/* \
    "$root"/var/log/* "$root"/tmp/*
find "$root/usr/share/doc" -type f ! -name copyright -delete
tar -C "$root" --numeric-owner --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -cf - . | gzip -1 > "$output.part"
if [ -n "${SUDO_UID:-}" ]; then chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$output.part"; fi
mv "$output.part" "$output"
