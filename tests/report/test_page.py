"""The report page, in the text and in a real browser (skipped where there is none)."""

import json
import lzma
import os
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import stored
from mpu_bench.models.evaluation import METRICS
from mpu_bench.quantities import Record
from mpu_bench.report import checked, choice, csv_files, export, figures, front, overview, page
from mpu_bench.results import provenance
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import Store
from mpu_bench.selection.outcome import Outcome, Row
from mpu_bench.verdict import baseline
from mpu_bench.verdict.cells import Cell
from mpu_bench.verdict.verdict import Finding, Verdict
from oracles import made_up

CELL = Cell("value", column="nu", published=1.0, measured=1.0, count=1)
BASELINE = Path(__file__).parents[2] / "results" / "baseline"
CONTRAST = 4.5  # what text needs to be read (WCAG AA)


@pytest.fixture
def written(tmp_path):
    return page.write([made_up.results(tmp_path), made_up.results(tmp_path, "second", 0.3)], tmp_path / "page")


def test_the_page_needs_no_network_and_is_small(written):
    text = written.read_text()
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    names = ["index.html", "page.css", "page.js", "uPlot.css", "uPlot.js"]
    assert sorted(path.name for path in written.parent.iterdir()) == names
    assert sum(path.stat().st_size for path in written.parent.iterdir()) < 130_000


def test_words_from_configs_are_only_words(written):
    text = written.read_text()
    assert "<b>odd</b>" not in text
    assert "&lt;b&gt;odd" in text
    assert text.count("</script>") == 3
    data = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.S)
    assert set(json.loads(data[1])) == {"made-up/test-error", "second/test-error"}


def test_results_that_no_paper_reports_are_not_called_a_papers(tmp_path, monkeypatch):
    monkeypatch.setattr(made_up, "JUDGING", {"claims": made_up.JUDGING["claims"]})
    text = page.write([made_up.results(tmp_path, "mine", done=1)], tmp_path / "page").read_text()
    assert "<h1>Results of mine</h1>" in text
    assert "What a paper reports" not in text
    assert "Runs without a result, and why" in text


def test_a_machine_is_described_in_words(written):
    machine = re.search(r'class="machine".*?</details>', written.read_text(), re.S)[0]
    assert "<dt>memory, GiB</dt>" in machine
    assert re.search(r"<dt>versions</dt><dd>mpu-bench [\d.]+, numpy [\d.]+, ", machine)
    assert not re.search(r"[{}_]", machine.replace("x86_64", ""))


def test_every_row_says_how_to_repeat_it(written):
    assert "mpu-bench run configs/made-up.yaml --only dataset=adult --only solver=sbp" in written.read_text()


def test_each_colour_of_the_bar_is_in_one_piece_and_has_a_label(written):
    (bar,) = re.findall(r'<div class="bar".*?</div>', written.read_text(), re.S)
    pieces = re.findall(r'<span class="(\w+)" style="flex-grow: (\d+)">', bar)
    colours = [colour for colour, _ in pieces]
    assert colours == [each for each in ("good", "bad", "open") if each in colours]
    (labels,) = re.findall(r'<ul class="labels">.*?</ul>', written.read_text(), re.S)
    assert re.findall(r"</span> (\d+) (?:not )?(?:reproduced|known)</strong>", labels) == [count for _, count in pieces]
    assert {Finding.OPEN.page, Finding.NOTHING.page} == {"open"}


def test_words_of_verdicts_say_what_they_mean(written):
    text = written.read_text()
    assert re.search(r'<abbr title="[^"]{20,}">(reproduced|inconclusive|not run|not reproduced)</abbr>', text)
    assert re.search(r'<tr data-verdict="[^"]+"><td class="\w+" title="[^"]{20,}">', text)


def test_the_chart_has_a_mark_for_each_reported_value_with_accuracies_as_errors():
    cells = [
        replace(CELL, column="accuracy_percent", published=90.0, measured=92.0, verdict=Verdict.NOT_REPRODUCED),
        replace(CELL, kind="ratio", column="seconds", over="dcd", published=2.0, measured=3.0),
        replace(CELL, kind="ratio", column="seconds", over="dcd", published=2.0, measured=0.0),
        replace(CELL, measured=None),
        replace(CELL, kind="claim"),
        CELL,
    ]
    panels = {each["title"]: each["points"] for each in page._compared(cells)}
    assert [each[:3] for each in panels["test error, %"]] == [[10.0, 8.0, "bad"]]
    assert [each[:2] for each in panels["seconds relative to another solver's (not drawn: 1 at or below 0)"]] == [
        [2.0, 3.0]
    ]
    assert len(panels["other values"]) == 1
    assert "reported 90, measured 92: not reproduced" in panels["test error, %"][0][3]


def test_of_how_many_machines_seconds_are_is_said(tmp_path):
    folder = made_up.results(tmp_path, hosts=("one", "two"))
    text = page.write([folder, made_up.results(tmp_path, "second")], tmp_path / "page").read_text()
    assert text.count("seconds come from 2 machines") == 1


def test_disturbed_rows_are_marked_and_the_mark_explained(tmp_path):
    folder = made_up.results(tmp_path, disturbed="waited 31% of its wall seconds")
    text = page.write([folder], tmp_path / "page").read_text()
    assert "<td>sbp †</td>" in text
    assert "† disturbed: 1 of 2 runs (adult sbp seed=0: waited 31% of its wall seconds)" in text


def test_two_folders_of_one_experiment_stand_apart_and_count_once(tmp_path):
    first, second = made_up.results(tmp_path / "a"), made_up.results(tmp_path / "b")
    once = page.write([first], tmp_path / "once").read_text()
    both = page.write([first, second], tmp_path / "both").read_text()
    counted = [re.findall(r'<ul class="labels">.*?</ul>', text, re.S) for text in (once, both)]
    assert counted[0] == counted[1] != []
    assert re.findall(r'id="(experiment-[^"]*)"', both) == ["experiment-made-up", "experiment-made-up(2)"]
    data = re.search(r'id="figures">(.*?)</script>', both, re.S)
    assert set(json.loads(data[1])) == {"made-up/test-error", "made-up(2)/test-error"}


def test_no_two_experiments_share_an_anchor_or_a_figure(tmp_path):
    names = ("made-up", "made-up", "made-up-2")
    folders = [made_up.results(tmp_path / str(index), name) for index, name in enumerate(names)]
    text = page.write(folders, tmp_path / "page").read_text()
    anchors = re.findall(r'id="(experiment-[^"]*)"', text)
    assert len(anchors) == len(set(anchors)) == 3
    online = replace(page.overview.of_folder(folders[0]), cells=())
    shown = [
        {"slug": slug, "drawn": {name: name}, "paper": "", "figures": [], "judged": online, "cells": []}
        for slug, name in (("a", "online-budget"), ("a-online", "budget"))
    ]
    assert len(json.loads(page._page("", shown, [])["figures"])) == 2


def test_writing_again_replaces_the_page(written, tmp_path):
    (written.parent / "page.js").write_text("broken")
    page.write([tmp_path / "made-up"], written.parent)
    assert "broken" not in (written.parent / "page.js").read_text()


def test_nothing_that_is_published_names_the_user_or_a_secret(tmp_path, monkeypatch):
    """Not even of a folder that another version wrote, with whole paths in it."""
    home = tmp_path / "secretuser"
    monkeypatch.setenv("HOME", str(home))
    folder = made_up.results(home, done=3)
    said = f"{home}/data/a1a: cannot be had from http://alice:hunter2@host/x?token=opensesame"
    with sqlite3.connect(folder / "runs.sqlite") as database:
        facts = {"config": f"{home}/configs/mine.yaml", "description": said, "options": ["--set", said]}
        for name, value in facts.items():
            database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))
        for table in ("plan", "runs"):  # such a version wrote no checksums
            database.execute(f"UPDATE {table} SET record = json_remove(record, '$.{provenance.CHECKSUM}')")
        database.execute("UPDATE plan SET record = json_set(record, '$.overridden', ?)", (said,))
        database.execute("UPDATE runs SET record = json_set(record, '$.reason', ?)", (said,))
        crashed = "UPDATE runs SET status = 'crashed', record = json_set(record, '$.status', 'crashed')"
        database.execute(f"{crashed} WHERE run_id LIKE '%sdca'")
        database.execute("UPDATE environments SET content = json_set(content, '$.commit', ?)", (said,))
    database.close()
    out = tmp_path / "published"
    text = page.write([folder], out / "page").read_text()
    assert "mpu-bench run mine.yaml" in text
    with open_results(folder) as results:
        csv_files.write(results)
    for path in (*folder.glob("*.csv"), *folder.glob("*.json")):
        shutil.copy(path, out)
    stored.accept(folder, out / "baseline")
    overview.write(overview.by_table([overview.of_folder(folder)]), out / "tables")
    for form in ("csv", "md", "tex"):
        export.export(folder, form, out / f"table.{form}")
    figures.plot(folder, None, None, out / "figures")
    checks = [baseline.check(folder, None)]
    (out / "check.xml").write_text(checked.junit_text(checks, strict=False))
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) > 15
    for path in written:
        content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        assert [word for word in (b"secretuser", b"alice", b"hunter2", b"opensesame") if word in content] == [], path


@pytest.mark.baseline
def test_numbers_that_differ_are_as_many_as_are_counted(tmp_path):
    kept = [BASELINE / "sbp-table2", BASELINE / "sbp-table2-ci", BASELINE / "sbp-runtime"]
    text = page.write(kept, tmp_path / "page").read_text()
    (listed,) = re.findall(r'aria-label="Values that are not reproduced">(.*?)</section>', text, re.S)
    (counted,) = re.findall(r'<li>(?:(?!</li>).)*?(\d+) <abbr title="[^"]*">not reproduced</abbr>', text)
    assert listed.count("<tr><td") == int(counted)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Open a browser, which takes longer than what is looked at."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    home = tmp_path_factory.mktemp("home")
    options = Options()
    options.binary_location = chromium
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
                 "disable-background-networking", "disable-component-update", f"user-data-dir={home / 'chromium'}",
                 "window-size=1200,900"):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options, Service(driver, env=os.environ | {"HOME": str(home)}))
    yield chrome
    chrome.quit()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    return page.write([made_up.results(folder), made_up.results(folder, "second", 0.3)], folder / "page")


@pytest.fixture
def browser(opened, shown):
    """Show the page, as a new browser shows it, and hold it to no message on the console."""
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    opened.get(shown.as_uri())
    yield opened
    assert opened.get_log("browser") == []


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Write the pages of some papers, and return the first."""
    kept = [BASELINE / "mpu-table2", BASELINE / "bpegasos-figure1", BASELINE / "fw-table8"]
    return page.write(kept, tmp_path_factory.mktemp("several"))


VISIBLE = "return [...document.querySelectorAll('table.filtered')[0].tBodies[0].rows].filter(r => !r.hidden).length"

NAMELESS = """
return [...document.querySelectorAll('input, button, svg[role]')].filter(
  (e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).length
"""

CONTRASTS = """
const numbers = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (colour) => {
  const [r, g, b] = numbers(colour).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
};
return [...document.querySelectorAll('body *')].filter((e) => [...e.childNodes].some((n) => n.nodeType === 3
  && n.textContent.trim()) && e.checkVisibility() && e.tagName !== 'SCRIPT' && !(e instanceof SVGElement)).map((e) => {
  const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
  return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 80)];
});
"""


HINTS = """
return [...document.querySelectorAll('.scroll')].filter((e) => e.checkVisibility()).map(
  (e) => [e.scrollWidth > e.clientWidth + 1, e.nextElementSibling.className === 'hint' && !e.nextElementSibling.hidden])
"""

TOPS = "return ['.bar', '.compared svg'].map((each) => document.querySelector(each).getBoundingClientRect().top)"
PANELS = "return document.querySelector('.compared').dataset.panels"
MARKS = "return document.querySelectorAll('.compared svg title').length"


def test_in_a_browser(browser):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    find = browser.find_elements
    by_css = "css selector"
    # figures: drawn, and drawn anew against another axis
    figure = find(by_css, "figure.drawn")[0]
    browser.execute_script("arguments[0].scrollIntoView()", figure)  # it is drawn where it is seen
    WebDriverWait(browser, 20).until(lambda _: figure.find_elements(by_css, ".curves canvas"))
    assert len(figure.find_elements(by_css, ".curves canvas")) == 1
    caption = figure.find_element(by_css, ".caption")
    assert caption.text == "test error against kernel evaluations"
    figure.find_elements(by_css, "input[type=radio]")[1].click()
    assert caption.text == "test error against training seconds"
    curves = figure.find_element(by_css, ".curves")
    assert "training seconds" in curves.get_attribute("aria-label")
    # a solver is hidden, and stays hidden against another axis
    hide = figure.find_elements(by_css, ".legend button")[0]
    hide.click()
    assert hide.get_attribute("aria-pressed") == "false"
    figure.find_elements(by_css, "input[type=radio]")[0].click()
    assert figure.find_elements(by_css, ".legend button")[0].get_attribute("aria-pressed") == "false"
    # a value is read under the pointer
    place, values = figure.find_element(by_css, ".u-over"), set()
    for height in range(-100, 101, 20):
        ActionChains(browser).move_to_element_with_offset(place, 0, height).perform()
        values.add(figure.find_element(by_css, "output").text)
    assert any(re.fullmatch(r"(sbp|libsvm): [\d.]+ at [\de.]+", each) for each in values), values
    # filtering by words and by verdicts
    table = find(by_css, "table.filtered")[0]
    everything = browser.execute_script(VISIBLE)
    field = find(by_css, ".filter")[0]
    field.send_keys("libsvm 14.9")
    assert browser.execute_script(VISIBLE) == 1
    field.clear()
    field.send_keys(" ")
    assert browser.execute_script(VISIBLE) == everything
    find(by_css, ".verdict")[0].click()
    assert browser.execute_script(VISIBLE) < everything
    find(by_css, ".verdict")[0].click()
    # sorting, by keyboard
    heading = table.find_elements(by_css, "thead th")[4]
    heading.find_element(by_css, "button").send_keys("\n")
    assert heading.get_attribute("aria-sort") == "ascending"
    read = (
        "return [...arguments[0].tBodies[0].rows].map(r => parseFloat(r.cells[4].textContent)).filter(v => !isNaN(v))"
    )
    rising = browser.execute_script(read, table)
    assert rising == sorted(rising)
    heading.find_element(by_css, "button").send_keys("\n")
    assert browser.execute_script(read, table) == rising[::-1]
    # labels
    assert browser.execute_script(NAMELESS) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(browser, scheme):
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 50
    assert [each for each in contrasts if each[0] < CONTRAST] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_try_can_be_read(browser, tmp_path, scheme):
    """Its background is white in either: it is the file that lies beside the page."""
    found = [Row("dcd", "linear", metrics=dict.fromkeys(METRICS, 0.9), tested=100, size=100)]
    outcome = Outcome(found, found[0], 100)
    path = tmp_path / "report.html"
    path.write_text(choice.page(outcome, "mine", [], front.drawn(outcome, "mine")["front.svg"], []), encoding="utf-8")
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.get(path.as_uri())
    fills = browser.execute_script(
        "return [...document.querySelectorAll('.picture svg text')].map((each) => getComputedStyle(each).fill)"
    )
    assert set(fills) == {"rgb(28, 28, 28)"}


@pytest.mark.baseline
def test_cells_of_a_table_are_laid_out_as_cells(browser, papers):
    """The remarks, too: laid out as anything else they leave their row, and long ones are cut."""
    for name in ("bpegasos-2010", "frank-wolfe-2012"):
        browser.get(papers.with_name(f"{name}.html").as_uri())
        shown = browser.execute_script(
            "return [...document.querySelectorAll('td, th')].map((each) => getComputedStyle(each).display)"
        )
        assert set(shown) - {"none"} == {"table-cell"}


def test_long_names_are_no_wider_than_the_window(browser, tmp_path):
    name = "a_name_without_a_hyphen" * 4
    browser.get(page.write([made_up.results(tmp_path, name)], tmp_path / "page").as_uri())
    for width in (1280, 390):
        phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        assert browser.execute_async_script(WIDTH_NOW) <= width


#: the width of a page once its figures have followed that of the window
WIDTH_NOW = (
    "const tell = arguments[0], done = () => tell(document.documentElement.scrollWidth);"
    "requestAnimationFrame(() => requestAnimationFrame(done));"
)


@pytest.mark.baseline
def test_no_page_is_wider_than_the_window(browser, papers, shown):
    names = ("index", "mpu-2010", "bpegasos-2010", "frank-wolfe-2012")  # the last with long addresses of data
    for path in (shown, *(papers.with_name(f"{name}.html") for name in names)):
        browser.get(path.as_uri())
        browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        for width in (1280, 768, 375, 320):
            phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
            assert browser.execute_async_script(WIDTH_NOW) <= width, (path.name, width)


@pytest.mark.baseline
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_tables_that_are_wider_than_the_page_say_so(browser, papers, width):
    phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.get(papers.with_name("bpegasos-2010.html").as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    found = browser.execute_script(HINTS)
    assert [each for each in found if each[0] != each[1]] == []
    assert any(wider for wider, _ in found)


@pytest.mark.baseline
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_a_chart_is_on_the_first_screen(browser, papers, width, height):
    phone = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    for name in ("index", "bpegasos-2010"):
        browser.get(papers.with_name(f"{name}.html").as_uri())
        bar, chart = browser.execute_script(TOPS)
        assert bar < chart < height
        points = sum(len(each["points"]) for each in json.loads(browser.execute_script(PANELS)))
        assert browser.execute_script(MARKS) == points > 1


@pytest.mark.baseline
def test_a_paper_begins_with_its_figures(papers):
    text = papers.with_name("bpegasos-2010.html").read_text()
    first = text.index('data-figure="bpegasos-figure1/test-accuracy"')
    assert (
        text.index('<figure class="compared"') < first < text.index("sortable by-table") < text.index('class="printed"')
    )
    assert text.count('data-figure="bpegasos-figure1/test-accuracy"') == 1
    assert text.index('id="experiment-bpegasos-figure1"') < text.index('data-figure="bpegasos-figure1/test-error"')


@pytest.mark.baseline
def test_each_paper_has_a_page_with_its_tables_as_they_are_printed(tmp_path):
    kept = [BASELINE / "mpu-table2", BASELINE / "forgetron-figure2-census"]
    first = page.write([*kept, made_up.results(tmp_path)], tmp_path / "page", "docs/index.html")
    text = first.read_text()
    for name in ("mpu-2010", "forgetron-2005", "other-experiments"):
        assert f'href="{name}.html"' in text
    assert 'href="docs/index.html"' in text
    assert "Panagiotakopoulos" in text
    paper = first.with_name("mpu-2010.html").read_text()
    table = re.search(r'<table class="printed">.*?</table>', paper, re.S)[0]
    assert re.findall(r'class="group">(.*?)<', table) == ["mpu", "dcd", "svmperf", "pegasos"]
    adult = re.search(r'<th scope="row"[^>]*>adult</th>.*?</tr>', table, re.S)[0]
    assert re.findall(r'class="print">(.*?)<', adult) == ["0.1", "0.2", "1.5", "4.0"]
    assert re.search(r"[a-z0-9 ]+: [\d.]+ of dcd&#39;s, reported 0.5", adult)
    again = page.write([*kept, tmp_path / "made-up"], tmp_path / "again", "docs/index.html")
    assert again.with_name("mpu-2010.html").read_text() == paper


@pytest.mark.baseline
def test_the_day_of_kept_results_is_that_of_the_page(tmp_path):
    kept = BASELINE / "mpu-table2"
    day = json.loads((kept / "about.json").read_text())["date"]
    assert f"results of {day}" in page.write([kept], tmp_path).read_text()


def test_earlier_runs_and_changes_are_marked_and_have_no_command(tmp_path):
    folder = made_up.results(tmp_path)
    with Store(folder) as store:
        sbp = next(row for row in store.records() if row.solver == "sbp")
        known = sbp.row(("experiment", "dataset", "n", "parameters", "kernel", "seed"))
        planned = Record(**known, solver="sdca", run_id="other", overridden="stop.passes = 3")
        store.save_plan([planned], {})
    text = page.write([folder], tmp_path / "page").read_text()
    assert text.count("(earlier run)") == 2
    assert text.count("changed: stop.passes = 3") == 1
    assert text.count("<summary>command</summary>") == 1
    assert ">0</small> of 1" in text or "0 of 1" in text


def test_a_number_of_a_sentence_that_is_not_reproduced_is_listed():
    found = Cell("value", column="size", sentence="forgetron-active-set-census", verdict=Verdict.NOT_REPRODUCED)
    tables = [page.overview.PaperTable("forgetron-2005", "sentences", (found,))]
    shown = page._page("forgetron-2005", [], tables)
    assert [each["column"] for each in shown["contradicted"]] == ["size"]
