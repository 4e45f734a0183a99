"""The cases of test_cuda, a process each, several side by side: most of their time is NVRTC's, on one core."""
import concurrent.futures
import os
import re
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEST = os.path.join(ROOT, "build", "release", "test", "test_cuda")


def cases():
    """Their names; hidden ones (more than 2^31 elements) are not among them."""
    listed = subprocess.run([TEST], capture_output=True, text=True, env={**os.environ, "TCUOPS_TEST_GPU": ""}).stdout
    return [line.strip() for line in listed.splitlines() if line.startswith("cuda: ") or line.startswith("  cuda: ")]


def command(case):
    return [TEST, case.replace(",", "\\,")]


def assertions(output):
    """How many held, where a process says that all did; else None."""
    passed = re.search(r"All tests passed \((\d+) assertion|^(\d+) passed, 0 failed$", output, re.MULTILINE)
    return int(passed[1] or passed[2]) if passed else None


def run(work, jobs, seconds, **environment):
    """(key, output, seconds) of every (key, command) in work, as they end. What has not ended when the time is over is stopped, and its
    output is None; so is that of what has not begun, and its seconds are 0."""
    environment = {**os.environ, "TCUOPS_TEST_GPU": "1", **environment}
    ends = time.monotonic() + seconds

    def one(key, words):
        start = time.monotonic()
        if ends - start < 5:
            return key, None, 0
        # A session of its own, that what the process has begun (compute-sanitizer the program) is stopped with it.
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                              start_new_session=True) as process:
            try:
                output = process.communicate(timeout=ends - start)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return key, None, time.monotonic() - start
        return key, output + (f"\nexit status {process.returncode}" if process.returncode else ""), time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, *item) for item in work]):
            yield done.result()
