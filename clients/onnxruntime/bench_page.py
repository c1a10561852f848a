"""The page of bench_ort.py: the other benches' template and look, with charts
of its own (bench_page.js)."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATES = os.path.join(HERE, "..", "..", "benchmarks", "page")


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def page_of(document):
    """`document`: what bench_ort.py writes as JSON."""
    # Names come from the user's files: none may end the element.
    figures = json.dumps(document).replace("<", "\\u003c")
    script = read(TEMPLATES, "elements.js") + read(TEMPLATES, "charts.js") \
        + read(HERE, "bench_page.js")
    page = read(TEMPLATES, "page.html")
    for mark, text in (("/*STYLE*/", read(TEMPLATES, "page.css")),
                       ("/*SCRIPT*/", script), ("/*FIGURES*/", figures)):
        before, after = page.split(mark, 1)
        page = before + text + after
    return page
