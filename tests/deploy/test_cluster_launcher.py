"""`ray up`, `ray submit` and `ray down` for real, with cluster-local.yaml, on two machines made of namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.platform.run.folder import GridFolder

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
HEAD, WORKER = "10.77.0.1", "10.77.0.2"
GRID = "--scale smoke --tasks MultiRoom-N2-S4 --bonuses none e3b --seeds 0 1 --steps 4000"


def can_make_machines() -> bool:
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ("unshare", "ip", "rsync", "ssh-keygen")):
        return False
    return subprocess.run(["unshare", "--net", "--pid", "--mount", "--fork", "true"], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.needs("sshd")
@pytest.mark.timeout(900)
@pytest.mark.skipif(not can_make_machines(), reason="making two machines needs root, unshare, ip and rsync")
def test_a_grid_submitted_to_two_machines_over_ssh(tmp_path: Path) -> None:
    cluster = (ROOT / "deploy" / "cluster-local.yaml").read_text()
    for example, real in (
        ("head_ip: 192.0.2.10", f"head_ip: {HEAD}"),
        ("worker_ips: [192.0.2.11, 192.0.2.12]", f"worker_ips: [{WORKER}]"),
        ("ssh_user: ubuntu", "ssh_user: root"),
        ("ssh_private_key: ~/.ssh/id_ed25519", f"ssh_private_key: {tmp_path / 'key'}"),
    ):
        assert example in cluster
        cluster = cluster.replace(example, real)
    (tmp_path / "cluster.yaml").write_text(cluster)
    grid = tmp_path / "shared" / "grid"
    # The machines share this one's disk, so its packages serve as theirs; everything else is what a user would do.
    (tmp_path / "session.sh").write_text(f"""
set -euo pipefail
export PATH={Path(sys.executable).parent}:$PATH
prepare="mkdir -p ~/bonuslab && ln -sfn {ROOT}/.venv ~/bonuslab/.venv"
bash -c "$prepare"
on_worker="ssh -o StrictHostKeyChecking=no -i {tmp_path}/key root@{WORKER}"
$on_worker "$prepare"
cd {ROOT}
[ -e ~/.ray/auth_token ] || ray get-auth-token --generate >{tmp_path}/token
ray up -y --no-config-cache {tmp_path}/cluster.yaml
list="ray list nodes --format json"
ray exec {tmp_path}/cluster.yaml "until $list 2>/dev/null | grep -q {WORKER}; do sleep 1; done; $list" >{tmp_path}/nodes
ray submit {tmp_path}/cluster.yaml experiments/minihack_grid.py -- {GRID} --out {grid}
ray down -y {tmp_path}/cluster.yaml
# It stops Ray on the head alone; the worker's ends by itself after missing the head for a minute.
$on_worker "timeout 150 sh -c 'while pgrep -lx raylet; do sleep 1; done'"
""")
    machines = ["bash", str(HERE / "two_machines.sh"), str(tmp_path), "bash", str(tmp_path / "session.sh")]
    done = subprocess.run(machines, capture_output=True, text=True, timeout=850, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert WORKER in (tmp_path / "nodes").read_text()
    output_of_worker = (tmp_path / "worker" / "ray").glob("session_2*/logs/worker-*.out")
    assert any("actor_name:GridTrial" in path.read_text() for path in output_of_worker)
    folder = GridFolder.open(grid)
    assert [trial.state().status for trial in folder.trials()] == ["finished"] * 4
    assert (folder.report / "index.html").is_file()
