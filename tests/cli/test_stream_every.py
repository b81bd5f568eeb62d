"""`greville stream --every`: the checkpoint is written that often, also from a file."""

import json
import subprocess
import sys
import time

import greville


def test_a_checkpoint_is_there_before_the_end(tmp_path):
    lines = "".join(json.dumps({"x": i % 7, "y": 2.0 * (i % 7)}) + "\n" for i in range(300))
    checkpoint = tmp_path / "s.greville"
    command = [sys.executable, "-m", "greville", "stream", "--target", "y", "--every", "50"]
    process = subprocess.Popen(
        [*command, "--checkpoint", str(checkpoint)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(lines.encode())
    process.stdin.flush()
    try:
        until = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.kill()
        process.communicate()
        assert greville.load(checkpoint).lines >= 50
    finally:
        process.kill()
