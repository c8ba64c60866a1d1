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
    # Login files of its own: pyenv, in the user's, waits a minute at every command for a lock it sees in the home below.
    touch "$folder/$name/home/"{.bash_profile,.bashrc}
    mount --bind "$folder/$name/ray" /tmp/ray
    mount -t overlay overlay -o "lowerdir=$HOME,upperdir=$folder/$name/home,workdir=$folder/$name/work" "$HOME"
    ip link set lo up
    until ip -4 addr show wire 2>/dev/null | grep -q "$address"; do sleep 0.1; done
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
    start_machine "$2" worker "$worker"
    exec /usr/sbin/sshd -D -f "$2/worker.sshd_config"
    ;;
--head)
    start_machine "$2" head "$head"
    /usr/sbin/sshd -f "$2/head.sshd_config"
    until (: </dev/tcp/$worker/22) 2>/dev/null; do sleep 0.1; done
    "${@:3}"
    ;;
--both)
    # Side by side: a head around its worker would see the worker's processes, and its `ray stop` would stop them too.
    machine=(unshare --net --pid --mount --fork --kill-child --mount-proc bash "$0")
    "${machine[@]}" --worker "$2" &
    worker_process=$!
    "${machine[@]}" --head "${@:2}" &
    head_process=$!
    for process in $head_process $worker_process; do
        until [ "$(readlink /proc/$process/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
    done
    nsenter --target $head_process --net ip link add wire type veth peer name wire netns $worker_process
    # Ray asks the system which address leads outside, hence the route; nothing is ever sent there.
    plug_in="ip link set wire up && ip route add default dev wire"
    nsenter --target $head_process --net sh -c "ip addr add $head/24 dev wire && $plug_in"
    nsenter --target $worker_process --net sh -c "ip addr add $worker/24 dev wire && $plug_in"
    wait $head_process
    ;;
*)
    folder=$1
    HOME=$(getent passwd "$(id -u)" | cut -d: -f6) # sshd and ssh go by this one
    export HOME
    ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
    ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
    # Within one more, the end of which is the end of all, even if it is killed.
    exec unshare --pid --mount --fork --kill-child --mount-proc bash "$0" --both "$@"
    ;;
esac
