"""src/abi/entry_points.def knows every function of oneDNN's graph C API.

usage: check_entry_points.py ROOT DNNL_GRAPH_H...
"""
import re
import sys

import lint


def rows(table):
    return re.findall(r"^(?:RECORD|ROUTE|FORWARD)\((\w+)\)", table, re.M)


def declared(header):
    return re.findall(r"\bDNNL_API\s+(dnnl_graph_\w+)\s*\(", header)


def check_table(names):
    return [f"{name}: two rows" for name in sorted(set(names))
            if names.count(name) > 1]


def check_header(names, path, functions):
    return [f"{path}: {name} has no row in src/abi/entry_points.def"
            for name in functions if name not in names]


def check(root, headers):
    names = rows(lint.read(root, "src/abi/entry_points.def"))
    complaints, checked = check_table(names), 0
    for path in headers:
        functions = declared(lint.read("/", path))
        if not functions:
            complaints.append(f"{path}: declares no function")
        complaints += check_header(names, path, functions)
        checked += len(functions)
    return complaints, checked


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1], sys.argv[2:]))
