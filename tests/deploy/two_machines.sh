#!/usr/bin/env bash
# Runs a command on the first of two machines that exist only for it: bash two_machines.sh FOLDER COMMAND…
# Each has its own processes, network, /tmp/ray, home and an sshd for a throw-away key: 10.77.0.1 (head), 10.77.0.2 (worker).
# What they write to their homes lands in FOLDER; the rest of the disk is shared. `ray stop` finds no other Ray to stop, no
# port can be taken, and nothing of the user's is touched. Everything ends with the command. Needs root, iproute2 and sshd.
set -euo pipefail
head=10.77.0.1
worker=10.77.0.2

start_machine() { # FOLDER NAME ADDRESS: what a machine does when it starts
    local folder=$1 name=$2 address=$3
    mkdir -p "$folder/$name/"{ray,home,work} /tmp/ray /run/sshd
    mount --bind "$folder/$name/ray" /tmp/ray
    mount -t overlay overlay -o "lowerdir=$HOME,upperdir=$folder/$name/home,workdir=$folder/$name/work" "$HOME"
    ip link set lo up
    cat >"$folder/$name.sshd_config" <<CONFIG
ListenAddress $address
HostKey $folder/host_key
AuthorizedKeysFile $folder/key.pub
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
CONFIG
}

case $1 in
--worker)
    folder=$2
    start_machine "$folder" worker "$worker"
    until ip -4 addr show wire 2>/dev/null | grep -q "$worker"; do sleep 0.1; done
    exec /usr/sbin/sshd -D -f "$folder/worker.sshd_config"
    ;;
--head)
    folder=$2
    shift 2
    start_machine "$folder" head "$head"
    unshare --net --pid --mount --fork --kill-child --mount-proc bash "$0" --worker "$folder" &
    other=""
    until [ -n "$other" ]; do
        sleep 0.1
        for process in $(pgrep -f -- "$0 --worker"); do # the eldest in another network is the machine itself
            [ "$(readlink /proc/"$process"/ns/net)" = "$(readlink /proc/self/ns/net)" ] || { other=$process && break; }
        done
    done
    ip link add wire type veth peer name wire netns "$other"
    ip addr add $head/24 dev wire
    ip link set wire up
    # Ray asks the system which address leads outside; nothing is ever sent there.
    ip route add default dev wire
    nsenter --target "$other" --net sh -c \
        "ip addr add $worker/24 dev wire && ip link set wire up && ip route add default dev wire"
    /usr/sbin/sshd -f "$folder/head.sshd_config"
    until (: </dev/tcp/$worker/22) 2>/dev/null; do sleep 0.1; done
    "$@"
    ;;
*)
    folder=$1
    HOME=$(getent passwd "$(id -u)" | cut -d: -f6) # sshd and ssh go by this one
    export HOME
    ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
    ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
    exec unshare --net --pid --mount --fork --kill-child --mount-proc bash "$0" --head "$@"
    ;;
esac
