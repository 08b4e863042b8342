#!/bin/sh
# Install Debian's docker.io where no dockerd is, and start it. Usage, as root: start_engine.sh LOG PIDFILE GROUP [FLAG...]
# With systemd the service is started; without, dockerd itself, detached, its pid in PIDFILE.
set -eu
log=$1
pidfile=$2
group=$3
shift 3
PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH
export PATH DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a

if ! command -v dockerd > /dev/null; then
    echo "installing docker.io"
    apt-get update -q
    apt-get install -q -y --no-install-recommends docker.io iptables ca-certificates
fi

if [ -d /run/systemd/system ]; then
    echo "starting the docker service"
    exec systemctl start docker
fi

# The package's own init script may have started it already.
for file in /run/docker-ssd.pid /run/docker.pid; do
    if [ -e "$file" ] && [ "$(cat "/proc/$(cat "$file")/comm" 2> /dev/null)" = dockerd ]; then
        cat "$file" > "$pidfile"
        exit 0
    fi
done

# Two engines on one machine take each other's bridge away. One that has ended, and waits to be reaped, has no command.
for comm in $(grep -lsx dockerd /proc/[0-9]*/comm); do
    if [ -n "$(tr -d '\0' 2> /dev/null < "${comm%comm}cmdline")" ]; then
        echo "a dockerd runs already, but does not answer: see what it says, or end it" >&2
        exit 1
    fi
done

# Where no init system runs, nobody may have mounted the control groups, which every container needs.
mount_cgroups() {
    grep -qE '^[^ ]+ [^ ]+ cgroup2? ' /proc/self/mounts && return
    if ! awk '$1 !~ /^#/ && $2 != 0 { used = 1 } END { exit !used }' /proc/cgroups \
        && mount -t cgroup2 cgroup2 /sys/fs/cgroup; then
        return
    fi
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
    for controller in $(awk '$1 !~ /^#/ && $4 == 1 { print $1 }' /proc/cgroups); do
        mkdir -p "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" || rmdir "/sys/fs/cgroup/$controller"
    done
}
mount_cgroups

echo "starting dockerd"
# shellcheck disable=SC2016  # the inner shell's own
setsid sh -c 'echo $$ > "$0"; exec dockerd "$@"' "$pidfile" --group "$group" "$@" > "$log" 2>&1 < /dev/null &
