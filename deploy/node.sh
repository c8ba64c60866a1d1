#!/usr/bin/env bash
# Set up a machine as a cluster node: bash ~/bonuslab/deploy/node.sh [extras]
# Installs missing packages, sets up ~/bonuslab/.venv with the tested versions, and puts it on the PATH of login shells, since
# `ray submit` copies only a script and runs `python ~/script.py`. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

install_python() {
    command -v apt-get >/dev/null || return 0 # set_up.sh reports what is missing
    echo "bonuslab: installing Python 3.11, gcc, make and rsync with apt-get"
    as_root apt-get update -qq
    if ! apt-cache show python3.11-venv >/dev/null 2>&1; then
        as_root apt-get install -y -qq software-properties-common
        as_root add-apt-repository -y ppa:deadsnakes/ppa
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3.11 python3.11-venv python3.11-dev gcc make rsync
}

if [ ! -e .venv/.ready ]; then
    python3.11 -c 'import venv, ensurepip' 2>/dev/null && command -v gcc make >/dev/null || install_python
    # The extras are the cloud provider's clients, with which the head starts other nodes.
    bash deploy/set_up.sh .venv "${1:-}"
    touch .venv/.ready
fi

remember() { grep -qxF "$1" ~/.bashrc 2>/dev/null || echo "$1" >>~/.bashrc; }
remember "export PATH=$root/.venv/bin:\$PATH  # bonuslab"
[ ! -e ~/.ray/auth_token ] || remember "export RAY_AUTH_MODE=token  # bonuslab"
echo "bonuslab: node is ready with $(.venv/bin/ray --version)"
