"""What the checks share: the project's files, and how a check ends."""
import os
import subprocess
import sys

CPP = (".c", ".h", ".cpp", ".hpp", ".def")
NOT_OURS = {".git", "build", ".cache", "__pycache__"}


def project_files(root, endings=None):
    """Paths relative to root: what git tracks or would, else what is there."""
    git = ["git", "-c", "safe.directory=*", "-C", root]
    listing = subprocess.run(
        git + ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True)
    if listing.returncode == 0 and os.path.exists(os.path.join(root, ".git")):
        paths = [path for path in listing.stdout.split("\0") if path]
    else:
        paths = list(walk(root))
    return sorted(path for path in set(paths)
                  if os.path.isfile(os.path.join(root, path))
                  and (endings is None or path.endswith(endings)))


def walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    """The text of a file; empty for one that is not text."""
    with open(os.path.join(root, path), "rb") as file:
        content = file.read()
    return "" if b"\0" in content else content.decode("utf-8")


def finish(complaints, checked):
    """Ends a check. One that has looked at nothing has failed."""
    for complaint in complaints:
        print(complaint)
    if not checked:
        sys.exit("nothing was checked")
    if complaints:
        sys.exit(f"{len(complaints)} complaint(s)")
    print(f"{checked} checked")
