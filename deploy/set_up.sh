#!/usr/bin/env bash
# Create a virtual environment with exactly the tested versions: bash deploy/set_up.sh .venv [extra,…]
# Fails with a clear message if Python 3.11, a compiler or the network is missing.
set -euo pipefail
venv=$1
extras=all,dev${2:+,$2}
log=$venv/install.log

fail() {
    echo "bonuslab: $1" >&2
    exit 1
}

python=""
for candidate in "${PYTHON:-}" python3.11 python3 python; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || fail "Python 3.11 is needed and was not found on PATH (found: $(python3 --version 2>/dev/null || echo no Python)); install it or set PYTHON=/path/to/python3.11."
command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 ||
    fail "a C compiler is needed and neither cc nor gcc was found on PATH; install gcc (Debian: apt-get install gcc)."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python has no venv module; install it (Debian: apt-get install python3.11-venv)."

echo "bonuslab: setting up $venv with $("$python" --version) (about 4 minutes, 2.5 GB)"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
: >"$log"
if ! "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
    -c constraints.txt -e ".[$extras]" >>"$log" 2>&1; then
    tail -n 15 "$log" >&2
    if grep -qE 'NewConnectionError|Temporary failure in name resolution|Max retries|No matching distribution' "$log"; then
        fail "the packages could not be downloaded; check the network and pip's package index (log: $log)."
    fi
    fail "the packages could not be installed; see the end of the log above (full log: $log)."
fi
echo "bonuslab: compiling inner loops, which the first training would do otherwise"
first=$(mktemp -d)
trap 'rm -rf "$first"' EXIT
"$venv/bin/bonuslab" train MultiRoom-N2-S4 --bonus "count.episodic(position) * e3b" --serial --steps 2048 \
    --out "$first/run" >>"$log" 2>&1 ||
    fail "the packages are installed but bonuslab cannot train; see the end of $log, or remove $venv and try again."
echo "bonuslab: $venv is ready"
