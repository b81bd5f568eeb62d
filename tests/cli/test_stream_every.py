"""`greville stream --every`: the checkpoint is written that often, also from a file."""

import json
import subprocess
import time

import greville
from tests import children


def test_a_checkpoint_is_there_before_the_end(tmp_path):
    lines = "".join(json.dumps({"x": i % 7, "y": 2.0 * (i % 7)}) + "\n" for i in range(300))
    checkpoint = tmp_path / "s.greville"
    command = [*children.GREVILLE, "stream", "--target", "y", "--every", "50"]
    command += ["--checkpoint", str(checkpoint)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with children.started(command, **pipes) as process:
        process.stdin.write(lines.encode())
        process.stdin.flush()
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        process.communicate()
    assert greville.load(checkpoint).lines >= 50
