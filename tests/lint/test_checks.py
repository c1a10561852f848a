"""Each check takes what is right and refuses what is wrong."""
import json
import os
import tempfile
import unittest

import check_clang
import check_comments
import check_entry_points
import check_format
import check_layers
import check_library
import check_machines
import check_prose
import check_text
import lint

LAYERS = """# comment
level base
level graph kernels
level abi
within kernels: base
only dlsym: base
"""


class LayersTest(unittest.TestCase):
    def complaints(self, path, text):
        return check_layers.check_file(path, text,
                                       check_layers.Layers(LAYERS))

    def test_lower_levels_are_allowed(self):
        self.assertFalse(self.complaints(
            "src/abi/a.cpp", '#include "graph/g.hpp"\n#include <vector>\n'))

    def test_higher_and_equal_levels_are_refused(self):
        self.assertTrue(self.complaints(
            "src/base/b.cpp", '#include "graph/g.hpp"\n'))
        self.assertTrue(self.complaints(
            "src/graph/g.cpp", '#include "kernels/k.hpp"\n'))

    def test_only_one_room_has_a_word(self):
        self.assertTrue(self.complaints("src/graph/g.cpp", "dlsym(a, b);\n"))
        self.assertFalse(self.complaints("src/base/b.cpp", "dlsym(a, b);\n"))
        self.assertFalse(self.complaints("src/graph/g.cpp", "// dlsym\n"))

    def test_a_room_must_be_known(self):
        self.assertTrue(self.complaints("src/attic/a.cpp", ""))

    def test_clients_include_no_room(self):
        layers = check_layers.Layers(LAYERS)
        for name in ('"graph/g.hpp"', '"../src/base/b.hpp"'):
            self.assertTrue(check_layers.check_client(
                "python/src/a.cpp", f"#include {name}\n", layers), name)
        for name in ('"program.hpp"', "<vector>",
                     '"dnnl_dequant/dnnl_dequant.hpp"'):
            self.assertFalse(check_layers.check_client(
                "python/src/a.cpp", f"#include {name}\n", layers), name)

    def test_a_rule_must_be_known(self):
        with self.assertRaises(ValueError):
            check_layers.Layers("levels base\n")


class CommentsTest(unittest.TestCase):
    def complaints(self, text):
        return check_comments.check_file("src/base/a.cpp", text)

    def test_sentences_pass(self):
        self.assertFalse(self.complaints(
            "// The kernel reads a tail by mask. oneDNN does so too.\n"
            "int a; // elements of a row\n"))

    def test_fragments_are_refused_wherever_they_stand(self):
        for text in ("// Of each row the first.\n",
                     "int a; // As many as there are.\n",
                     "/// @param a Those of dst.\n",
                     "/* It is so.\n * What is left is not. */\n",
                     "// It is so. Where it is not, it is left.\n"):
            self.assertTrue(self.complaints(text), text)

    def test_long_sentences_are_refused_across_lines(self):
        half = "// " + 16 * "it " + "\n"
        self.assertFalse(self.complaints(half))
        self.assertTrue(self.complaints(half + half))
        self.assertFalse(self.complaints(half + "int a;\n" + half))
        self.assertFalse(self.complaints(half + "//\n" + half))

    def test_a_list_is_not_one_sentence(self):
        item = "// - " + 16 * "it " + "\n"
        self.assertFalse(self.complaints(item + item))

    def test_formulas_and_tables_are_no_prose(self):
        self.assertFalse(self.complaints(
            "// The formula:\n//     As * Bs\n// Where   what\n"))

    def test_literals_hold_no_comments(self):
        self.assertFalse(self.complaints('a("// What a url");\n'))


class MachinesTest(unittest.TestCase):
    def complaints(self, path, text):
        return check_machines.check_texts({
            "src/jit.hpp": "#include <xbyak/xbyak.h>\n",
            "src/code.hpp": '#include "jit.hpp"\n',
            path: text})

    def test_xbyak_is_for_sources_of_x86_64(self):
        for path in ("src/kernels/jit/code.cpp", "src/kernels/a/jit_b.cpp"):
            self.assertFalse(self.complaints(path, '#include "code.hpp"\n'))

    def test_elsewhere_it_is_refused(self):
        for name in ('"code.hpp"', "<xbyak/xbyak.h>", "<immintrin.h>"):
            self.assertTrue(self.complaints(
                "src/kernels/a/b.cpp", f"#include {name}\n"))

    def test_no_source_asks_for_the_machine(self):
        self.assertTrue(self.complaints(
            "src/kernels/a/jit_b.cpp", "#if defined(__x86_64__)\n#endif\n"))


class TextTest(unittest.TestCase):
    def test_forbidden_words(self):
        for line in ("// TO" + "DO: later", "cd /wo" + "rk/main", "a = 1; ",
                     "http://deb." + "debian.org/debian", "int\ta;",
                     "https://pypi." + "org/simple"):
            self.assertTrue(check_text.check_file("a.cpp", line + "\n"), line)

    def test_ordinary_text(self):
        self.assertFalse(check_text.check_file("a.cpp", "int a; // work\n"))
        self.assertTrue(check_text.check_file("a.cpp", "int a;"))

    def test_folders_tell_what_lives_there(self):
        self.assertTrue(check_text.folders_without_readme({"src/a/b.cpp"}))
        self.assertFalse(check_text.folders_without_readme(
            {"src/a/b.cpp", "src/a/README.md"}))


class ProseTest(unittest.TestCase):
    TEXTS = {"README.md": "# A b's `c`\n# A b's `c`\n[x](docs/p.md#two)\n",
             "docs/p.md": "## Two\n[y](../README.md#a-bs-c-1) [z](#two)\n"}

    def long(self, text):
        return list(check_prose.long_sentences("README.md", text))

    def links(self, text):
        texts = {**self.TEXTS, "docs/q.md": text}
        return list(check_prose.broken_links(
            "docs/q.md", texts, {*texts, "dev", "src/a.cpp"}))

    def test_sentences(self):
        self.assertFalse(self.long("word " * 30 + "\n"))
        self.assertTrue(self.long("word " * 31 + "\n"))
        self.assertTrue(self.long(("word " * 8 + "\n") * 4))
        self.assertTrue(self.long("- " + "word " * 31 + "\n"))

    def test_fragments(self):
        for text in ("It is so. Where it is not, it is left.\n",
                     "- *Of each* the first.\n"):
            self.assertTrue(list(check_prose.fragments("a.md", text)), text)
        self.assertFalse(list(check_prose.fragments(
            "a.md", "It is so.\n\n## What\n\n| Of | As |\n")))

    def test_pages_of_figures_are_no_prose(self):
        for path in ("src/graph/README.md", "benchmarks/README.md"):
            self.assertTrue(check_prose.is_prose(path), path)
        for path in ("CHANGELOG.md", "src/kernels/quantize/MEASURED.md",
                     "benchmarks/RESULTS-ZEN4.md"):
            self.assertFalse(check_prose.is_prose(path), path)

    def test_where_sentences_end(self):
        for end in (". ", "! ", ".) ", "?* ", ".\n", "\n\n", "\n- "):
            self.assertFalse(self.long(("word " * 20 + "word" + end) * 2), end)
        self.assertTrue(self.long(("word " * 20 + "e.g. ") * 2))

    def test_code_and_tables_are_no_sentences(self):
        long = "word " * 40
        for text in (f"| {long}|\n", f"```sh\n{long}\n```\n", f"# {long}\n",
                     f"<!-- {long} -->\n", "`" + long + "`\n"):
            self.assertFalse(self.long(text), text)

    def test_links(self):
        self.assertFalse(self.links(
            "[a](../README.md#a-bs-c) [b](p.md) [c](../src) [d](../dev)\n"
            "[e](https://example.com) `[f](g.md)` <img src=\"../dev\">\n"))
        for wrong in ("[a](r.md)", "[a](p.md#three)", "[a](#two)",
                      "<img src=\"a.svg\">", "[a](../src/b.cpp)"):
            self.assertEqual(len(self.links(wrong + "\n")), 1, wrong)
        for path in self.TEXTS:
            self.assertFalse(list(check_prose.broken_links(
                path, self.TEXTS, set(self.TEXTS))))

    def test_commands(self):
        dev = "usage() {\n<<'END'\nusage: x\n\n  demo     a\n  test b\nEND\n"
        commands = check_prose.commands_of(dev)
        self.assertEqual(commands, {"demo", "test"})

        def wrong(text):
            return list(check_prose.wrong_commands(
                "README.md", text, commands, {"release"}))
        self.assertFalse(wrong("```sh\n./dev demo # a\n```\n`./dev test -R x`"))
        self.assertFalse(wrong("`cmake --preset release` ./dev dance\n"))
        for text in ("```sh\n./dev dance\n```\n", "`./dev dance`",
                     "`cmake --preset best`"):
            self.assertEqual(len(wrong(text)), 1, text)

    def test_cpp_is_an_examples(self):
        def wrong(code):
            return list(check_prose.foreign_code(
                "README.md", f"```cpp\n{code}\n```\n", ["a;\nb;\nc;\n"]))
        self.assertFalse(wrong("b;\nc;"))
        self.assertTrue(wrong("a;\nc;"))

    def test_packages(self):
        def wrong(names):
            return list(check_prose.wrong_packages(
                f"The demo needs two: {names}.\n",
                "a=b\nlibrary_packages='g++ cmake'\n"))
        self.assertFalse(wrong("`cmake` and `g++`"))
        self.assertTrue(wrong("`cmake`"))
        self.assertTrue(wrong("`cmake`, `g++` and `chromium`"))


class ClangTest(unittest.TestCase):
    TIDY = """#!/bin/sh
case "$*" in *-idirafter*) echo "$2:1:1: error: $(cat "$2")"; exit 1 ;; esac
"""

    def test_complaints(self):
        with tempfile.TemporaryDirectory() as root:
            paths = [os.path.join(root, name)
                     for name in ("a.cpp", "tests/b.cpp", "build/c.cpp")]
            for path in paths:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("int a;\n")
            commands = os.path.join(root, "compile_commands.json")
            with open(commands, "w", encoding="utf-8") as file:
                json.dump([{"file": path, "directory": root,
                            "command": f"true -O2 -o x.o -c {path}"}
                           for path in paths], file)
            tidy = os.path.join(root, "tidy")
            with open(tidy, "w", encoding="utf-8") as file:
                file.write(self.TIDY)
            os.chmod(tidy, 0o755)
            self.assertEqual(check_clang.check(root, commands, tidy), (
                [f"{paths[0]}:1:1: error: int a;\n"], 1))
            self.assertEqual(check_clang.check(root, commands, "true"),
                             ([], 1))

    def test_every_compiler_is_gccs(self):
        entry = {"file": "a.cpp", "directory": ".",
                 "command": "/usr/bin/ccache g++ -DX -o a.o -c a.cpp"}
        command = check_clang.tidy_command(entry, "tidy")
        self.assertEqual(command[:7], [
            "tidy", "--quiet", "a.cpp", "--", "-DX", "-c", "a.cpp"])


class LibraryTest(unittest.TestCase):
    DYNAMIC = "0x1 (NEEDED)  Shared library: [libc.so.6]\n" \
              "0x1e (FLAGS)  BIND_NOW\n"
    SEGMENTS = "  LOAD  0x0 0x0 0x0 0x1 0x1 R E 0x1000\n" \
               "  GNU_STACK  0x0 0x0 0x0 0x0 0x0 RW  0x10\n" \
               "  GNU_RELRO  0x0 0x0 0x0 0x1 0x1 R   0x1\n"
    SYMBOLS = "U __stack_chk_fail@GLIBC_2.4\nU __memcpy_chk@GLIBC_2.3.4\n"

    def test_exports(self):
        expected = check_library.expected_exports(
            "RECORD(f)\nFORWARD(h)\nROUTE(g) // 3.12\n",
            "DNNL_DEQUANT_API const char *own(void);\n")
        self.assertEqual(expected, {"f", "g", "own"})
        right = "1 T f\n2 T g\n3 T own\n"
        self.assertFalse(check_library.check_exports(expected, right))
        self.assertTrue(
            check_library.check_exports(expected, right + "4 T other\n"))
        self.assertTrue(check_library.check_exports(expected, "1 T f\n"))

    def test_provider(self):
        right = "1 T CreateEpFactories\n2 T ReleaseEpFactory\n" \
            "3 T RegisterCustomOps\n"
        needed = " 0x1 (NEEDED)  Shared library: [libonnxruntime.so.1]\n"
        self.assertFalse(check_library.check_provider(right, ""))
        self.assertTrue(check_library.check_provider(right, needed))
        self.assertTrue(check_library.check_provider(right + "4 T x\n", ""))

    def test_needed(self):
        self.assertFalse(check_library.check_needed(self.DYNAMIC))
        self.assertTrue(check_library.check_needed(
            self.DYNAMIC + "0x1 (NEEDED)  Shared library: [libdnnl.so.3.6]"))
        self.assertTrue(check_library.check_needed(
            self.DYNAMIC + "0x1d (RUNPATH)  Library runpath: [/x]"))

    def test_hardening(self):
        right = (self.DYNAMIC, self.SEGMENTS, self.SYMBOLS)
        self.assertFalse(check_library.check_hardening(*right))
        for place, old, new in (
                (0, "BIND_NOW", ""), (0, "FLAGS", "TEXTREL"),
                (1, "GNU_RELRO", ""), (1, "R E", "RWE"), (1, "RW ", "RWE"),
                (2, "__stack_chk_fail", ""), (2, "__memcpy_chk", "memcpy")):
            wrong = list(right)
            wrong[place] = right[place].replace(old, new)
            self.assertTrue(check_library.check_hardening(*wrong), (old, new))

    def test_cet(self):
        machine = "  Machine:   Advanced Micro Devices X86-64\n"
        notes = "      Properties: x86 feature: SHSTK\n"
        code = ("00000000000018f0 <f>:\n"
                "    18f0:\tf3 0f 1e fa          \tendbr64\n"
                "    18f4:\tc3                   \tret\n")
        self.assertFalse(check_library.check_cet(machine, notes, code))
        self.assertTrue(check_library.check_cet(machine, "", code))
        self.assertTrue(check_library.check_cet(
            machine, notes, code.replace("endbr64", "nop")))
        self.assertTrue(check_library.check_cet(machine, notes, ""))
        self.assertFalse(check_library.check_cet("Machine: AArch64", "", ""))


class EntryPointsTest(unittest.TestCase):
    def test_unknown_function(self):
        functions = check_entry_points.declared(
            "dnnl_status_t DNNL_API dnnl_graph_f(\n    int a);\n"
            "dnnl_status_t DNNL_API dnnl_graph_g(int a);\n")
        names = check_entry_points.rows("ROUTE(dnnl_graph_f)\n")
        self.assertEqual(
            len(check_entry_points.check_header(names, "h", functions)), 1)

    def test_two_rows(self):
        self.assertTrue(check_entry_points.check_table(["f", "f"]))


class FormatTest(unittest.TestCase):
    def test_a_complaint_is_passed_on(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "a.cpp"), "w",
                      encoding="utf-8") as file:
                file.write("int a;\n")
            failing = os.path.join(root, "clang-format")
            with open(failing, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho 'a.cpp:1:1: error: no' >&2; exit 1")
            os.chmod(failing, 0o755)
            self.assertTrue(check_format.check(root, failing)[0])
            self.assertFalse(check_format.check(root, "true")[0])


class LintTest(unittest.TestCase):
    def test_a_check_of_nothing_fails(self):
        with self.assertRaises(SystemExit):
            lint.finish([], 0)


if __name__ == "__main__":
    unittest.main()
