"""Installs the wheel into an environment of its own and runs the tests there.

usage: run_tests.py PYTHON WHEELS ROOT [HEADERS...] [-- UNITTEST-ARGUMENT...]

PYTHON is that environment's, which has the tests' packages. WHEELS is the
folder of the one wheel, ROOT the project's.
"""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    arguments = sys.argv[1:]
    others = ["discover", "-s", HERE, "-t", HERE]
    if "--" in arguments:
        at = arguments.index("--")
        arguments, others = arguments[:at], arguments[at + 1:] or others
    python, wheels, root, *headers = map(os.path.abspath, arguments)
    [wheel] = glob.glob(os.path.join(wheels, "dnnl_dequant-*.whl"))
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps",
         "--force-reinstall", "--disable-pip-version-check", wheel],
        check=True)
    environment = {
        **os.environ, "PYTHONPATH": HERE, "PYTHONDONTWRITEBYTECODE": "1",
        "DNNL_DEQUANT_HEADERS": ":".join(headers),
        "DNNL_DEQUANT_PYTHON_READMES": os.pathsep.join(
            os.path.join(root, name)
            for name in ("README.md", os.path.join("python", "README.md")))}
    # Nothing of the build may stand in for what the wheel brings.
    environment.pop("LD_LIBRARY_PATH", None)
    sys.exit(subprocess.run([python, "-m", "unittest", *others],
                            cwd=wheels, env=environment, check=False)
             .returncode)


if __name__ == "__main__":
    main()
