"""The page in a real browser: Chromium, driven by Selenium.

Skipped where there is none. On Debian: ``apt-get install chromium chromium-driver``,
and ``pip install 'wisecrowd[browser]'``.
"""

import base64
import shutil

import pytest

from wisecrowd.report.data import names

webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not there")
support = pytest.importorskip("selenium.webdriver.support.ui")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="no Chromium with its driver was found"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
READY = "return document.documentElement.dataset.ready"
FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")


@pytest.fixture(scope="session")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Page:
    """An open page, and what a person can do with it."""

    def __init__(self, driver, path):
        self.driver = driver
        self.look(1100, "light")
        driver.get(path.as_uri())
        wait = support.WebDriverWait(driver, 60)  # on a busy machine
        wait.until(lambda _: self.run(READY) == "yes")

    def run(self, script, *given):
        return self.driver.execute_script(script, *given)

    def errors(self):
        return self.driver.get_log("browser")

    def look(self, width, scheme, medium=""):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {
                "media": medium,
                "features": [{"name": "prefers-color-scheme", "value": scheme}],
            },
        )

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        script = (
            "return [...document.querySelectorAll(arguments[0])].map(e=>e.innerText)"
        )
        return self.run(script, selector)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)


@pytest.fixture
def opened(browser, found, written):
    return Page(browser, written(found, "small"))


@pytest.mark.parametrize("which", ["found", "hostile", "large"])
def test_a_page_opens_without_an_error(which, browser, written, request):
    page = Page(browser, written(request.getfixturevalue(which), which))
    for row in ("#list-items .open", "#list-annotators .open"):
        page.click(row)
    assert page.errors() == []
    assert page.run("return document.querySelectorAll('script').length") == 2
    for name in ("certainty", "annotators", "classes"):
        assert page.find(f"#chart-{name} svg").is_displayed(), name


def test_hostile_names_are_shown_as_text_and_nothing_of_them_runs(
    browser, hostile, written
):
    page = Page(browser, written(hostile, "hostile"))
    script = """
      const seen = [], place = arguments[0];
      for (;;) {
        const shown = [...document.querySelectorAll(place + " td.name")];
        seen.push(...shown.map(e => e.textContent));
        shown[0].querySelector("button").click();
        const next = document.querySelector(place + " .pages button:nth-child(2)");
        if (next.disabled) return seen;
        next.click();
      }"""
    for place, named in (
        ("#list-annotators", hostile.annotators["annotator"]),
        ("#list-items", hostile.items["item"]),
    ):
        page.click("#list-items .tabs button:last-child")  # all of them
        assert sorted(page.run(script, place)) == sorted(names(named))
    said = "return [...document.querySelectorAll('#classes tbody th')]"
    shown = page.run(f"{said}.map(e => e.textContent)")
    assert set(names(hostile.model.classes_)) <= set(shown)
    assert page.errors() == []  # an alert would have ended page.run()


def test_an_item_may_be_called_as_what_javascript_knows(browser, hostile, written):
    page = Page(browser, written(hostile, "hostile"))
    page.find("#list-items input[type=search]").send_keys("__proto__")
    page.click("#list-items .open")
    assert page.find("#detail-item h3").text == "Item __proto__"
    assert page.errors() == []


def test_search_finds_and_says_how_many(opened, found):
    (flag, *_) = [flag for flag in found.annotators["flag"] if flag]
    box = opened.find("#list-annotators input[type=search]")
    box.send_keys(flag.upper())
    shown = opened.texts("#list-annotators tbody tr")
    assert 0 < len(shown) < 10
    assert all(flag in row for row in shown)
    status = opened.find("#list-annotators .pages span").text
    assert status == f"1 to {len(shown)} of {len(shown)}"
    box.clear()
    box.send_keys("nobody is called so")
    assert opened.texts("#list-annotators tbody tr") == ["Nothing found."]


def test_a_header_sorts_and_tells_screen_readers(opened):
    header = "#list-annotators th:nth-child(3)"
    for order, sign in (("descending", -1), ("ascending", 1)):
        opened.click(f"{header} button")
        assert opened.find(header).get_attribute("aria-sort") == order
        n = [sign * int(t) for t in opened.texts("#list-annotators td:nth-child(3)")]
        assert n == sorted(n)
    assert len(n) == 10
    opened.click("#list-annotators .pages button:nth-child(2)")
    assert opened.find("#list-annotators .pages span").text == "11 to 14 of 14"


def test_a_click_shows_the_confusion_matrix_of_a_person(opened, found):
    opened.click("#list-annotators tbody tr:nth-child(1) .open")
    detail = opened.find("#detail-annotator")
    assert detail.is_displayed()
    assert "Flagged as" in detail.text
    assert len(opened.texts("#detail-annotator .heat tbody td")) == 9
    focused = opened.run("return document.activeElement.innerText")
    assert focused.startswith("Annotator ")
    opened.click("#detail-annotator .close")
    assert not detail.is_displayed()


def test_a_click_on_a_mark_chooses_the_annotator(opened):
    script = """
      const mark = document.querySelector("#chart-annotators .mark.flag");
      const box = mark.getBoundingClientRect();
      mark.dispatchEvent(new MouseEvent("click", {bubbles: true,
        clientX: box.x + box.width / 2, clientY: box.y + box.height / 2}));"""
    opened.run(script)
    assert opened.find("#detail-annotator").is_displayed()
    assert opened.run("return document.querySelectorAll('.mark.chosen').length") == 1


def test_a_click_shows_what_speaks_for_a_label(opened):
    opened.click("#list-items tbody tr:nth-child(1) .open")
    number = opened.texts("#detail-item .ledger tbody td:last-child")
    total = opened.find("#detail-item .ledger tfoot td:last-child").text
    values = [float(t.replace("−", "-")) for t in number]
    assert abs(sum(values) - float(total.replace("−", "-"))) < 0.01 * len(values)


def test_the_lists_of_items_are_buttons(opened):
    buttons = opened.texts("#list-items .tabs button")
    assert "Most contested" in buttons
    place = buttons.index("All items") + 1
    opened.click(f"#list-items .tabs button:nth-child({place})")
    assert opened.find("#list-items .pages span").text == "1 to 10 of 60"
    assert opened.find("#list-items input[type=search]").is_displayed()
    pressed = opened.texts("#list-items .tabs [aria-pressed=true]")
    assert pressed == ["All items"]


def test_all_can_be_reached_by_keyboard(opened):
    script = """
      const named = (e) => e.innerText || e.getAttribute("aria-label") || e.placeholder;
      return [...document.querySelectorAll("a, button, input, summary, [tabindex='0']")]
        .filter(e => e.tabIndex < 0 || !(named(e) || "").trim())
        .map(e => e.outerHTML)"""
    assert opened.run(script) == []
    row = opened.find("#list-items .open")
    row.send_keys("\ue007")  # the key Enter
    assert opened.find("#detail-item").is_displayed()


def luminance(colour):
    r, g, b = (int(v) / 255 for v in colour[4:-1].split(",")[:3])
    part = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (r, g, b)
    ]
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(scheme, opened):
    opened.look(1100, scheme)
    style = (
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    )
    back = luminance(opened.run(style, "body", "backgroundColor"))
    assert (back > 0.5) == (scheme == "light")
    for place in ("body", ".sizes", "#list-annotators .open", ".badge"):
        text = luminance(opened.run(style, place, "color"))
        contrast = (max(text, back) + 0.05) / (min(text, back) + 0.05)
        assert contrast >= 4.5, place  # WCAG AA


@pytest.mark.parametrize("which", ["found", "hostile", "large"])
def test_at_375_pixels_nothing_is_wider_than_the_screen(
    which, browser, written, request
):
    page = Page(browser, written(request.getfixturevalue(which), which))
    page.look(375, "light")
    page.driver.refresh()
    for row in ("#list-items .open", "#list-annotators .open"):
        page.click(row)
    assert page.run("return document.documentElement.scrollWidth") <= 375


def test_it_can_be_printed(opened):
    opened.look(1100, "dark", "print")
    assert not opened.find("header").is_displayed()
    style = "return getComputedStyle(document.body).backgroundColor"
    assert luminance(opened.run(style)) > 0.9  # paper is white
    opened.run("dispatchEvent(new Event('beforeprint'))")
    box = "return document.querySelector('#chart-annotators svg').viewBox.baseVal.width"
    assert opened.run(box) == 640  # drawn for paper, else its letters are small
    opened.run("dispatchEvent(new Event('afterprint'))")
    assert opened.run(box) > 640
    printed = opened.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")
