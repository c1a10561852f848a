"""With raised privileges the library reads nothing of the environment.

usage: test_privileges.py PROGRAM

PROGRAM, set-user-ID root, must not tell its user of what it does although the
environment asks for it, nor write a dump. Only root can try that; root it is
raised to because nobody else may read a build in root's own folder.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def run(program, folder, **user):
    """The library's own lines, and the dumps."""
    said = subprocess.run(
        [program, "--gtest_filter=plugin.takes*"], cwd=folder,
        env={"ONEDNN_VERBOSE": "all", "ONEDNN_GRAPH_DUMP": "graph"},
        check=True, capture_output=True, text=True, **user).stdout
    lines = [line for line in said.splitlines() if "dequant_backend" in line]
    dumps = glob.glob(os.path.join(folder, "graph-dnnl_dequant-*"))
    for dump in dumps:
        os.remove(dump)
    return lines, dumps


def main(program):
    if os.geteuid() != 0:
        print("not root: not tried")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        raised = shutil.copy(program, folder)
        lines, dumps = run(raised, folder)
        if not lines or not dumps:
            print("asked to, the library tells and dumps nothing")
            return 1
        os.chmod(raised, 0o4755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            print("no set-user-ID in this file system: not tried")
            return 0
        lines, dumps = run(raised, folder, user=NOBODY, group=NOBODY,
                           extra_groups=[])
        print("\n".join(lines + dumps))
        return 1 if lines or dumps else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
