"""Installs the built tree and uses it as a program outside would.

usage: test_install.py (options: --help) [TEST...]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = argparse.Namespace()


def run(*command, **environment):
    """What the command prints; its failure is the test's."""
    process = subprocess.run(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, **environment}, check=False)
    if process.returncode:
        raise AssertionError(
            f"{' '.join(command)}: exit {process.returncode}\n{process.stdout}")
    return process.stdout


def setUpModule():
    scratch = tempfile.TemporaryDirectory(dir=OPTIONS.build)
    unittest.addModuleCleanup(scratch.cleanup)
    OPTIONS.prefix = os.path.join(scratch.name, "prefix")
    OPTIONS.scratch = scratch.name
    run(OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", OPTIONS.prefix)
    OPTIONS.libdir = os.path.join(OPTIONS.prefix, OPTIONS.libdir)
    OPTIONS.consumers = os.path.join(scratch.name, "consumers")
    run(OPTIONS.cmake, "-S", os.path.join(HERE, "consumer"),
        "-B", OPTIONS.consumers, "-G", OPTIONS.generator,
        f"-DCMAKE_PREFIX_PATH={OPTIONS.prefix}",
        f"-DCMAKE_C_COMPILER={OPTIONS.cc}",
        f"-DCMAKE_CXX_COMPILER={OPTIONS.cxx}")
    run(OPTIONS.cmake, "--build", OPTIONS.consumers)


class InstallTest(unittest.TestCase):
    def consumer(self, name, **environment):
        return run(os.path.join(OPTIONS.consumers, name), **environment)

    def assertOurs(self, output):
        self.assertRegex(output, r"^impl=\w+_dequantize")

    def assertStock(self, output):
        self.assertEqual(output, "impl=\n")

    def plugin(self):
        return os.path.join(OPTIONS.libdir, "libdnnl_dequant.so")

    def test_find_package(self):
        self.assertOurs(self.consumer("consumer"))

    def test_find_package_in_the_wrong_order(self):
        self.assertOurs(self.consumer("consumer_wrong_order"))

    def test_linked_and_disabled(self):
        self.assertStock(self.consumer("consumer", DNNL_DEQUANT_DISABLE="1"))

    def test_without_the_plugin(self):
        self.assertStock(self.consumer("consumer_stock"))

    def test_preloaded(self):
        self.assertOurs(
            self.consumer("consumer_stock", LD_PRELOAD=self.plugin()))

    def test_preloaded_and_disabled(self):
        self.assertStock(self.consumer("consumer_stock",
                                       LD_PRELOAD=self.plugin(),
                                       DNNL_DEQUANT_DISABLE="1"))

    def test_c99(self):
        output = self.consumer("consumer_c")
        self.assertEqual(output, f"version={OPTIONS.version} 28672 127 254\n")

    def test_the_tool_finds_what_it_came_with(self):
        tool = os.path.join(OPTIONS.prefix, "bin", "dnnl-dequant-bench")
        for name in ("language", "vision", "speech"):
            self.assertIn("channel_0", run(
                tool, "kernels", "--shapes", name, "--list",
                LD_LIBRARY_PATH=OPTIONS.libdir))

    def pkg_config(self, *arguments):
        return run("pkg-config", *arguments, "dnnl_dequant", PKG_CONFIG_PATH=
                   os.path.join(OPTIONS.libdir, "pkgconfig")).split()

    def test_pkg_config(self):
        self.assertEqual(self.pkg_config("--modversion"), [OPTIONS.version])
        program = os.path.join(OPTIONS.scratch, "by_pkg_config")
        run(OPTIONS.cxx, "-std=c++17", "-DCONSUMER_LINKS_THE_PLUGIN",
            *self.pkg_config("--cflags"), "-Wl,--as-needed",
            os.path.join(HERE, "consumer", "main.cpp"), "-o", program,
            *self.pkg_config("--libs"))
        self.assertOurs(run(program, LD_LIBRARY_PATH=OPTIONS.libdir))

    def test_headers_stand_alone_in_strict_c(self):
        run(OPTIONS.cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
            "-fsyntax-only", f"-I{OPTIONS.prefix}/include",
            os.path.join(HERE, "consumer", "c99.c"))

    def test_installed_files_name_no_build_folder(self):
        for folder, _, files in os.walk(OPTIONS.prefix):
            for name in files:
                if name.endswith((".cmake", ".pc", ".h", ".hpp")):
                    with open(os.path.join(folder, name),
                              encoding="utf-8") as file:
                        text = file.read()
                    self.assertNotIn(OPTIONS.build, text, name)
                    self.assertNotIn(OPTIONS.source, text, name)

    def test_the_pages_are_installed(self):
        """README.md and docs/; links from page to page lead somewhere."""
        root = os.path.join(OPTIONS.prefix, OPTIONS.docdir)
        pages = ["README.md"] + [
            f"docs/{name}"
            for name in os.listdir(os.path.join(OPTIONS.source, "docs"))
            if name.endswith(".md")]
        self.assertGreater(len(pages), 8)
        for page in pages:
            with open(os.path.join(root, page), encoding="utf-8") as file:
                targets = re.findall(r"\]\(([\w./-]+)", file.read())
            for target in targets:
                path = os.path.normpath(
                    os.path.join(os.path.dirname(page), target))
                if path.startswith(("docs/", "examples/")):
                    self.assertTrue(
                        os.path.exists(os.path.join(root, path)),
                        f"{page} leads to {target}")

    def test_the_log_names_the_plugin(self):
        verbose = self.consumer("consumer", ONEDNN_VERBOSE="info")
        self.assertIn("graph,backend,1:dequant_backend,"
                      f"version:{OPTIONS.version},plugin:on\n", verbose)

    def test_newest_onednn(self):
        if not OPTIONS.newest:
            return  # CMake has said so
        for name, preload in (("consumer", ""),
                              ("consumer_stock", self.plugin())):
            environment = {"LD_LIBRARY_PATH": OPTIONS.newest,
                           "LD_PRELOAD": preload}
            self.assertOurs(self.consumer(name, **environment))
            verbose = self.consumer(name, ONEDNN_VERBOSE="all", **environment)
            version = re.search(r"oneDNN v([0-9.]+)", verbose)
            self.assertIsNotNone(version, verbose)
            self.assertNotEqual(version.group(1), OPTIONS.onednn)


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "build", "cmake", "generator", "cc", "cxx",
                 "version", "libdir", "docdir", "onednn"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--newest", default="",
                        help="folder of a newer libdnnl")
    _, others = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1] + others)


if __name__ == "__main__":
    main()
