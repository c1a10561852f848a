"""Compiles one changed source and links what the tests need of it."""
import hashlib
import json
import os
import shlex
import shutil
import subprocess

LIMIT_SECONDS = 120


class library_t:
    """A build folder's commands, with one object exchanged. What they make is in
    another folder."""

    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = root, build, folder
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        with open(os.path.join(build, "compile_commands.json")) as file:
            self.compiles = {entry["file"]: shlex.split(entry["command"])
                             for entry in json.load(file)}
        self.links = {}
        self.has_lld = shutil.which("ld.lld") is not None
        self.library = next(
            name for name in os.listdir(os.path.join(build, "src"))
            if name.startswith("libdnnl_dequant.so.0."))

    def compile(self, path, text, name="object.o"):
        """The object's hash, or None where it does not compile."""
        command = list(self.compiles[os.path.join(self.root, path)])
        self.original = command[command.index("-o") + 1]
        output = os.path.join(self.folder, name)
        source = os.path.join(self.folder, os.path.basename(path))
        with open(source, "w") as file:
            file.write(text)
        command[command.index("-o") + 1] = output
        command[-1] = source
        # Optimised, or fewer equal programs would have equal objects.
        command += ["-w", "-O1", "-iquote",
                    os.path.dirname(os.path.join(self.root, path))]
        try:
            done = subprocess.run(command, cwd=self.build, capture_output=True,
                                  timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            os.remove(source)
        if done.returncode != 0:
            return None
        if name == "object.o":
            self.object, self.linked = output, set()
        with open(output, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def link_command(self, target):
        if target not in self.links:
            commands = subprocess.run(
                ["ninja", "-t", "commands", target], cwd=self.build, text=True,
                check=True, capture_output=True).stdout.splitlines()
            # ": && COMMAND && what follows a link"
            self.links[target] = shlex.split(commands[-1].split(" && ")[1])
        return self.links[target]

    def holds(self, target):
        """Whether the changed object is part of `target` itself. The exported
        functions are the library's alone."""
        return self.original in self.link_command(target)

    def link(self, target):
        """The path of `target` with the changed object."""
        output = os.path.join(self.folder, os.path.basename(target))
        if target not in self.linked:
            command = list(self.link_command(target))
            command[command.index("-o") + 1] = output
            command[command.index(self.original)] = self.object
            if self.has_lld:
                command.append("-fuse-ld=lld")
            subprocess.run(command, cwd=self.build, check=True,
                           capture_output=True, timeout=LIMIT_SECONDS)
            self.linked.add(target)
        return output

    def onednn(self):
        """The file of oneDNN that test programs are linked with."""
        return next(word for word in self.link_command("tests/e2e/test_e2e")
                    if "libdnnl.so" in word)

    def link_library(self):
        """The folder of a libdnnl_dequant.so.0 with the changed object."""
        output = self.link("src/" + self.library)
        soname = os.path.join(self.folder, "libdnnl_dequant.so.0")
        if not os.path.exists(soname):
            os.symlink(os.path.basename(output), soname)
        return self.folder
