"use strict";
// Text of strangers is only ever set as textContent or as an attribute: it stays text.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const pictures = new Map(Object.entries(data.images)); // an item may be called __proto__
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en-US");
const percent = (v) => v == null ? "–" : (100 * (v < 1 ? Math.min(v, 0.999) : v)).toFixed((v > 0 && v < 0.0995) || (v >= 0.995 && v < 1) ? 1 : 0) + "\u00a0%";
const three = (v) => v == null ? "–" : v.toFixed(3);
const signed = (v) => v == null ? "certain" : (v < 0 ? "−" : "+") + Math.abs(v).toFixed(2);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") for (const [what, act] of Object.entries(value)) node.addEventListener(what, act);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child != null) node.append(child);
  return node;
}
function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  if (text != null) node.textContent = text;
  return node;
}
function svg(where, width, height, label) {
  const root = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  where.append(root);
  return (tag, attributes, text) => { const node = draw(tag, attributes, text); root.append(node); return node; };
}
const PAPER = 640; // wide enough for a sheet, and letters there are not too small
let onPaper = false;
const widthOf = (where) => onPaper ? PAPER : Math.max(280, Math.min(960, where.clientWidth || PAPER));
const scale = (a, b, from, to) => (v) => from + (v - a) / (b - a || 1) * (to - from);
function ticks(low, high, n) {
  const raw = (high - low) / n || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6; v += step) found.push(+v.toPrecision(10));
  return found;
}
const redraw = [];
function chart(id, painter) {
  const where = $(id);
  if (!where) return;
  let before = 0;
  const paint = () => {
    const width = widthOf(where);
    if (width === before) return;
    before = width;
    where.replaceChildren();
    painter(where, width);
  };
  redraw.push(paint);
  paint();
}
let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => redraw.forEach((f) => f()), 120); });

// -- tables: search, sort, pages ---------------------------------------------------------

// columns: { title, value(row), text(row), node(row), kind: "num" | "name", less: hidden on phones, first: "down" }
function table(where, { label, columns, rows, open, size = 10, most = rows.length, sort = null, tools = [] }) {
  const state = { page: 0, query: "", sort, down: false, rows, found: rows, chosen: null };
  const status = make("span", { "aria-live": "polite" });
  const head = make("tr"), body = make("tbody");
  const back = make("button", { type: "button", on: { click: () => { state.page--; show(); } } }, "Previous");
  const on = make("button", { type: "button", on: { click: () => { state.page++; show(); } } }, "Next");
  columns.forEach((column, place) => {
    const act = () => {
      state.down = state.sort === place ? !state.down : column.kind === "num" && !column.up;
      state.sort = place; state.page = 0; find();
    };
    head.append(make("th", { scope: "col", class: [column.kind === "num" ? "num" : "", column.less ? "less" : ""].join(" ") },
      column.plain ? column.title : make("button", { type: "button", on: { click: act } }, column.title)));
  });
  const box = make("input", { type: "search", "aria-label": "Search: " + label, placeholder: "Search …",
    on: { input: () => { state.query = box.value.trim().toLowerCase(); state.page = 0; find(); } } });
  where.replaceChildren(
    make("div", { class: "tools" }, ...tools, most > size ? box : null),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      make("table", null, make("caption", { class: "skip" }, label), make("thead", null, head), body)),
    make("div", { class: "pages" }, back, on, status));
  function find() {
    state.found = state.rows.filter((row) => !state.query || columns.some((c) => c.search !== false && c.text(row).toLowerCase().includes(state.query)));
    if (state.sort != null) {
      const { value, text } = columns[state.sort], sign = state.down ? -1 : 1;
      const key = value || ((row) => text(row).toLowerCase());
      state.found = state.found.map((row) => [key(row), row]).sort(([a], [b]) => {
        if (a == null || b == null) return (a == null) - (b == null);
        return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
      }).map(([, row]) => row);
    }
    [...head.children].forEach((th, place) => {
      if (place === state.sort) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    show();
  }
  function show() {
    const n = state.found.length, first = state.page * size, shown = state.found.slice(first, first + size);
    body.replaceChildren(...shown.map((row) => {
      const cells = columns.map((column, place) => {
        const inside = column.node ? column.node(row) : column.text(row);
        const kind = [column.kind || (column.plain ? "" : "words"), column.less ? "less" : ""].join(" ");
        if (open && column.kind === "name")
          return make("td", { class: kind }, make("button", { type: "button", class: "open", "aria-label": "Details of " + column.text(row), on: { click: (e) => { e.stopPropagation(); choose(row, true); } } }, inside));
        return make("td", { class: kind }, inside);
      });
      return make("tr", { class: [open ? "row" : "", row === state.chosen ? "chosen" : ""].join(" "), on: open ? { click: () => choose(row, true) } : {} }, cells);
    }));
    if (!shown.length) body.append(make("tr", null, make("td", { colspan: columns.length }, "Nothing found.")));
    back.disabled = state.page === 0;
    on.disabled = first + size >= n;
    back.hidden = on.hidden = n <= size;
    status.textContent = n ? `${count(first + 1)} to ${count(Math.min(first + size, n))} of ${count(n)}` : "0 found";
  }
  function choose(row, byUser) { state.chosen = row; show(); open(row, byUser); }
  find();
  return {
    use(rows) { state.rows = rows; state.page = 0; find(); },
    select(row) {
      const place = state.found.indexOf(row);
      if (place >= 0) state.page = Math.floor(place / size);
      choose(row, true);
    },
  };
}
function plainTable(where, label, titles, rows) {
  if (!where) return;
  where.replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    make("table", null,
      make("thead", null, make("tr", null, titles.map((t) => make("th", { scope: "col", class: "num" }, t)))),
      make("tbody", null, rows.map((row) => make("tr", null, row.map((cell) => make("td", { class: "num" }, String(cell)))))))));
}
function detail(id, title, ...inside) {
  const where = $(id);
  const heading = make("h3", { tabindex: "-1" }, title);
  where.replaceChildren(
    make("button", { type: "button", class: "close", on: { click: () => { where.hidden = true; } } }, "Close"),
    heading, ...inside.filter(Boolean));
  where.hidden = false;
  heading.focus({ preventScroll: true });
  where.scrollIntoView({ block: "nearest" });
}
// Of many classes, names stand upright and cells are small: without the sign, zeros soft.
function heat(label, matrix, columns, cell) {
  const many = columns.length > 6, upright = many && columns.some((name) => name.length > 4);
  const kinds = ["heat", many ? "many" : "", upright ? "upright" : ""].join(" "), sign = many ? "" : "\u00a0%";
  const rows = matrix.map((row, c) => make("tr", null,
    make("th", { scope: "row", title: data.classes[c] }, data.classes[c]),
    row.map((entry) => {
      const [mean, low, high] = cell(entry);
      const style = `background: rgba(var(--rgb), ${(0.04 + 0.9 * mean).toFixed(2)})`;
      return make("td", { style, class: mean > 0.8 ? "dark" : many && mean < 0.005 ? "zero" : "" }, Math.round(100 * mean) + sign,
        low == null ? null : make("small", null, `${Math.round(100 * low)}–${Math.round(100 * high)}`));
    })));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    make("table", { class: kinds }, make("thead", null, make("tr", null,
      make("td"), columns.map((name) => make("th", { scope: "col", title: name }, name)))), make("tbody", null, rows)));
}

// -- items -----------------------------------------------------------------------------

chart("chart-certainty", (where, width) => {
  const [settled, open] = data.certainty, n = settled.length, height = 210;
  const first = Math.max(0, Math.min(n / 2, ...settled.map((v, i) => v + open[i] ? i - 1 : n)));
  const most = Math.max(1, ...settled.map((v, i) => v + open[i]));
  const left = 16 + 7 * count(most).length;
  const x = scale(first / n, 1, left, width - 8), y = scale(0, most, height - 38, 12);
  const add = svg(where, width, height, "Number of items by the probability of their label");
  const defs = add("defs"), pattern = draw("pattern", { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(draw("rect", { width: 2.6, height: 6, fill: "var(--warn)" }));
  defs.append(pattern);
  for (const t of ticks(0, most, 3)) {
    add("line", { class: "grid", x1: left, x2: width - 8, y1: y(t), y2: y(t) });
    add("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, count(t));
  }
  for (let i = first; i < n; i++) {
    const begin = x(i / n) + 1, w = x((i + 1) / n) - x(i / n) - 2, top = settled[i] + open[i];
    if (open[i]) add("rect", { x: begin, width: w, y: y(top), height: y(settled[i]) - y(top), fill: "url(#stripes)", stroke: "var(--warn)" });
    if (settled[i]) add("rect", { class: "bar", x: begin, width: w, y: y(settled[i]), height: y(0) - y(settled[i]) });
  }
  for (const t of ticks(first / n, 1, width < 500 ? 4 : 8)) add("text", { x: Math.min(x(t), width - 12), y: height - 20, "text-anchor": "middle" }, t.toFixed(t * 10 % 1 > 0.01 ? 2 : 1));
  add("text", { class: "title", x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, "probability of the label");
});
{
  const [settled, open] = data.certainty, n = settled.length;
  plainTable($("table-certainty"), "Items by probability", ["probability", "settled", "need a second look"],
    settled.map((v, i) => [`${(i / n).toFixed(2)} to ${((i + 1) / n).toFixed(2)}`, count(v), count(open[i])]).filter((_, i) => settled[i] + open[i]));
}
const LISTS = {
  "second look": ["Need a second look", "The least certain labels first."],
  "least certain": ["Least certain", "All items are settled; these are the least certain."],
  "contested": ["Most contested", "Items whose annotators disagree most."],
  "disagree": ["Crowd against features", "Items of which the answers say one thing and the features another."],
  "no answers": ["Without answers", data.confused.pairs.classifier ? "Nobody has answered these items: their labels come from the features alone." : "Nobody has answered these items: their labels say only which class is frequent."],
  "all": ["All items", "The least certain labels first."],
};
function ledgerOf(item) {
  if (!item.ledger) return make("p", null, "The page has no room for what speaks for this label. Ask for it: wisecrowd explain RUN ITEM");
  const most = Math.max(0.1, ...item.ledger.map((row) => Math.abs(row[row.length - 1] ?? 0)));
  const total = item.ledger.some((row) => row[row.length - 1] == null) ? null : item.ledger.reduce((sum, row) => sum + row[row.length - 1], 0);
  const answered = item.ledger.some((row) => row[0] === "answer");
  const rows = item.ledger.map((row) => {
    const odds = row[row.length - 1], answer = row[0] === "answer";
    const part = 50 * Math.min(1, odds == null ? 1 : Math.abs(odds) / most);
    const style = odds == null || odds >= 0 ? `left: 50%; width: ${part}%` : `right: 50%; width: ${part}%`;
    return make("tr", null,
      answer ? make("th", { scope: "row" }, row[1], make("span", { class: "says" }, " says "), row[2])
        : make("th", { scope: "row", class: "kind" }, data.items.kinds[row[0]]),
      make("td", { class: "num less" }, answer ? row[3].toFixed(2) : ""),
      make("td", { class: "beam", "aria-hidden": "true" }, make("div", null, make("i", { style, class: odds < 0 ? "against" : "" }))),
      make("td", { class: "num" }, signed(odds)));
  });
  return make("div", null,
    make("p", null, `What speaks for “${data.classes[item.label]}” (to the right) and for “${data.classes[item.next]}” (to the left), in log-odds: +0.7 doubles the odds of the label, −0.7 halves them. ${answered ? "Answers are discounted, because annotators make the same mistakes; “counts as” is the weight that is left. " : ""}The rows add up to the label.`),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What speaks for the label" },
      make("table", { class: "ledger" },
        make("thead", null, make("tr", null, make("th", { scope: "col" }, "who or what"), make("th", { scope: "col", class: "num less" }, "counts as"), make("th", { scope: "col" }, ""), make("th", { scope: "col", class: "num" }, "log-odds"))),
        make("tbody", null, rows),
        make("tfoot", null, make("tr", null, make("th", { scope: "row" }, "together"), make("td", { class: "less" }), make("td"), make("td", { class: "num" }, signed(total)))))));
}
function openItem(item) {
  const source = pictures.get(item.name);
  detail("detail-item", `Item ${item.name}`,
    source ? make("img", { src: source, alt: "" }) : null,
    make("p", null, `Label “${data.classes[item.label]}” with a probability of ${three(item.p)}; next “${data.classes[item.next]}” with ${three(item.q)}. ` +
      (item.settled ? "Settled." : "Not settled: it needs a second look.") +
      (item.n ? ` ${count(item.n)} ${item.n === 1 ? "answer" : "answers"}, of which ${percent(item.agreement)} name the label.` : " Nobody has answered it.") +
      (item.features ? ` The answers say “${item.crowd}”, the features “${item.features}”.` : "")),
    ledgerOf(item));
}
{
  const where = $("list-items"), lists = data.items.lists, keys = Object.keys(lists);
  const hasImages = pictures.size > 0;
  if (keys.length) {
    const hint = make("p", { class: "hint" });
    const rowsOf = (key) => lists[key].map((i) => data.items.rows[i]);
    const buttons = keys.map((key) => make("button", { type: "button", "aria-pressed": "false", on: { click: () => use(key) } }, LISTS[key][0]));
    const image = { title: "", plain: true, search: false, text: () => "", node: (r) => pictures.has(r.name) ? make("img", { src: pictures.get(r.name), alt: "", loading: "lazy" }) : "" };
    const found = table(where, {
      label: "Items", open: openItem, rows: rowsOf(keys[0]), most: data.items.rows.length,
      tools: [make("div", { class: "tabs", role: "group", "aria-label": "Which items" }, buttons)],
      columns: [
        ...(hasImages ? [image] : []),
        { title: "item", kind: "name", text: (r) => r.name },
        { title: "label", text: (r) => data.classes[r.label] },
        { title: "probability", kind: "num", up: true, value: (r) => r.p, text: (r) => three(r.p), search: false },
        { title: "next class", less: true, text: (r) => data.classes[r.next], search: false },
        { title: "answers", kind: "num", less: hasImages, value: (r) => r.n, text: (r) => count(r.n), search: false },
        { title: "agree", kind: "num", up: true, less: true, value: (r) => r.agreement, text: (r) => percent(r.agreement), search: false },
        { title: "", plain: true, less: true, text: (r) => r.settled ? "settled" : "second look", node: (r) => make("span", { class: r.settled ? "badge ok" : "badge" }, r.settled ? "settled" : "second look") },
      ],
    });
    where.querySelector(".tools").after(hint);
    const use = (key) => {
      buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(keys[i] === key)));
      const all = key === "second look" ? data.items.n_open : key === "all" ? data.items.n_all : 0;
      const more = all > lists[key].length ? ` The page shows ${count(lists[key].length)} of ${count(all)}; all are in labels.csv.` : "";
      hint.textContent = LISTS[key][1] + " Choose an item to see what speaks for its label." + more;
      found.use(rowsOf(key));
    };
    use(keys[0]);
  }
}

// -- annotators --------------------------------------------------------------------------

const people = data.annotators;
const rows = people.name.map((name, i) => ({ i, name, n: people.n[i], accuracy: people.accuracy[i], low: people.low[i], high: people.high[i], informativeness: people.informativeness[i], flag: people.flag[i] }));
let listed = null, marks = new Map();
function openAnnotator(r) {
  document.querySelectorAll(".mark.chosen").forEach((m) => m.classList.remove("chosen"));
  marks.get(r.i)?.classList.add("chosen");
  const flags = { spammer: " Flagged as a spammer: the answers do not depend on the class.", adversary: " Flagged as an adversary: the answers depend on the class, and are wrong more often than by chance." };
  const mistakes = people.mistakes[r.i].map(([c, k, share]) => make("li", null, `says “${data.answers[k]}” about ${share} % of the items of class “${data.classes[c]}”`));
  const flat = people.matrices[r.i];
  const C = data.classes.length, K = data.answers.length;
  const matrix = flat && data.classes.map((_, c) => data.answers.map((_, k) => flat.slice(3 * (c * K + k), 3 * (c * K + k) + 3)));
  detail("detail-annotator", `Annotator ${r.name}`,
    make("p", null, `${count(r.n)} ${r.n === 1 ? "answer" : "answers"}. Right with a probability of ${percent(r.accuracy)} (95 % interval: ${percent(r.low)} to ${percent(r.high)}).${flags[r.flag] || ""}`),
    mistakes.length ? make("p", null, r.n < 10 ? "Typical mistakes (few answers, so mostly those of the crowd):" : "Typical mistakes:") : null,
    mistakes.length ? make("ul", { class: "said" }, mistakes) : null,
    matrix ? make("h4", null, "Rows: the true class. Columns: what the annotator answers, in percent, with 95 % intervals.") : null,
    matrix ? heat("Confusion matrix of the annotator", matrix, data.answers, (e) => e.map((v) => v / 100)) : null,
    matrix && r.n < 20 * C ? make("p", null, "Few answers per class: the matrix leans on what is usual in this crowd, more than the share of right answers above does.") : null,
    !matrix && C <= 30 ? make("p", null, "The confusion matrix is in confusion.parquet; the page has room for those of the most active annotators.") : null);
}
chart("chart-annotators", (where, width) => {
  const height = width < 500 ? 260 : 340, shown = people.points.map((i) => rows[i]);
  const top = Math.max(1, ...shown.map((r) => r.n)), bottom = Math.max(1, Math.min(...shown.map((r) => r.n)));
  const most = top < 4 * bottom ? 2 * top : top, least = top < 4 * bottom ? bottom / 2 : bottom;
  const log = (n) => Math.log10(Math.max(n, 1));
  const x = scale(log(least * 0.85), log(most * 1.15), 46, width - 12), y = scale(0, 1, height - 40, 10);
  const add = svg(where, width, height, "Accuracy of annotators against their number of answers. The table below has the same numbers.");
  for (const t of [0, 0.25, 0.5, 0.75, 1]) {
    add("line", { class: "grid", x1: 46, x2: width - 12, y1: y(t), y2: y(t) });
    add("text", { x: 40, y: y(t) + 4, "text-anchor": "end" }, percent(t));
  }
  let right = 0;
  for (let p = Math.floor(log(least)); p <= Math.ceil(log(most)); p++) for (const m of [1, 2, 5]) {
    const t = m * 10 ** p, place = x(log(t));
    if (place < 46 || place > width - 12 || place < right) continue;
    right = place + 44;
    add("text", { x: place, y: height - 22, "text-anchor": "middle" }, count(t));
  }
  add("text", { class: "title", x: (46 + width) / 2, y: height - 4, "text-anchor": "middle" }, "number of answers");
  marks = new Map();
  for (const flag of [false, true]) for (const r of shown) if (Boolean(r.flag) === flag)
    add("line", { class: flag ? "interval flag" : "interval", style: shown.length > 300 && !flag ? "stroke-opacity: .1" : "", x1: x(log(r.n)), x2: x(log(r.n)), y1: y(r.low), y2: y(r.high) });
  for (const flag of [false, true]) for (const r of shown) if (Boolean(r.flag) === flag) {
    const cx = x(log(r.n)), cy = y(r.accuracy);
    const mark = r.flag === "adversary" ? add("path", { class: "mark flag", d: `M${cx - 6} ${cy - 5}h12l-6 11z` })
      : r.flag === "spammer" ? add("rect", { class: "mark flag", x: cx - 5, y: cy - 5, width: 10, height: 10 })
      : add("circle", { class: "mark", cx, cy, r: shown.length > 300 ? 3.2 : 4.5 });
    marks.set(r.i, mark);
  }
  const flags = [...new Set(shown.map((r) => r.flag))].filter(Boolean);
  flags.forEach((flag, i) => add("text", { x: width - 14, y: height - 52 - 16 * i, "text-anchor": "end", style: "fill: var(--warn); stroke: var(--card); stroke-width: 5px; paint-order: stroke" }, flag === "adversary" ? "▼ adversary" : "■ spammer"));
  const tip = make("div", { class: "tip", hidden: true });
  where.append(tip);
  const nearest = (event) => {
    const box = where.querySelector("svg").getBoundingClientRect(), k = width / box.width;
    const px = (event.clientX - box.left) * k, py = (event.clientY - box.top) * k;
    let best = null, least = 400;
    for (const r of shown) {
      const d = (x(log(r.n)) - px) ** 2 + (y(r.accuracy) - py) ** 2;
      if (d < least) { least = d; best = r; }
    }
    return best && { r: best, left: x(log(best.n)) / k, top: y(best.accuracy) / k };
  };
  const root = where.querySelector("svg");
  root.addEventListener("pointermove", (event) => {
    const near = nearest(event);
    tip.hidden = !near;
    root.style.cursor = near ? "pointer" : "";
    if (!near) return;
    tip.textContent = `${near.r.name}: ${percent(near.r.accuracy)} (${percent(near.r.low)} to ${percent(near.r.high)}), ${count(near.r.n)} answers`;
    tip.style.left = Math.min(near.left + 10, where.clientWidth - 180) + "px";
    tip.style.top = near.top + 12 + "px";
  });
  root.addEventListener("pointerleave", () => { tip.hidden = true; });
  root.addEventListener("click", (event) => { const near = nearest(event); if (near && listed) listed.select(near.r); });
});
listed = table($("list-annotators"), {
  label: "Annotators", rows, open: openAnnotator,
  tools: people.n_all > rows.length ? [make("span", null, `The page has ${count(rows.length)} of ${count(people.n_all)} annotators: those that are flagged, and the most active. All are in annotators.csv.`)] : [],
  columns: [
    { title: "annotator", kind: "name", text: (r) => r.name },
    { title: "flag", text: (r) => r.flag, value: (r) => r.flag || null, node: (r) => r.flag ? make("span", { class: "badge" }, (r.flag === "adversary" ? "▼ " : "■ ") + r.flag) : "" },
    { title: "answers", kind: "num", value: (r) => r.n, text: (r) => count(r.n), search: false },
    { title: "right", kind: "num", value: (r) => r.accuracy, text: (r) => percent(r.accuracy), search: false },
    { title: "95 % interval", kind: "num", less: true, value: (r) => r.low, text: (r) => `${percent(r.low)} to ${percent(r.high)}`, search: false },
    { title: "informative", kind: "num", less: true, value: (r) => r.informativeness, text: (r) => percent(r.informativeness), search: false },
  ],
});

// -- classes -------------------------------------------------------------------------------

chart("chart-classes", (where, width) => {
  const shown = [...data.prevalence].sort((a, b) => b.share - a.share).slice(0, 30);
  const step = 26, left = Math.min(160, width * 0.32), height = shown.length * step + (data.prevalence.length > shown.length ? 26 : 2);
  const most = Math.max(...shown.map((r) => r.high)), x = scale(0, most, left, width - 60);
  const add = svg(where, width, height, "Share of the items in every class, with intervals. The table below has the same numbers.");
  const letters = Math.floor(left / 8.6);
  shown.forEach((r, i) => {
    const y = i * step + 4;
    add("text", { class: "title", x: left - 8, y: y + 14, "text-anchor": "end" }, r.name.length > letters ? r.name.slice(0, letters - 1) + "…" : r.name);
    add("rect", { class: "bar", x: left, y, width: Math.max(1, x(r.share) - left), height: step - 8, opacity: 0.85 });
    add("line", { class: "thin", x1: x(r.low), x2: x(r.high), y1: y + (step - 8) / 2, y2: y + (step - 8) / 2 });
    for (const end of [r.low, r.high]) add("line", { class: "thin", x1: x(end), x2: x(end), y1: y + 5, y2: y + step - 13 });
    add("text", { x: x(r.high) + 8, y: y + 14 }, percent(r.share));
  });
  if (data.prevalence.length > shown.length) add("text", { x: left, y: height - 4 }, `the ${shown.length} most frequent of ${count(data.prevalence.length)} classes`);
});
{
  $("confused").classList.toggle("many", data.classes.length > 6);
  const titles = { crowd: "By the annotators", classifier: "By the classifier, from the features alone" };
  for (const [who, title] of Object.entries(titles)) {
    const pairs = data.confused.pairs[who];
    if (!pairs) continue;
    const columns = who === "crowd" ? data.answers : data.classes;
    const words = pairs.slice(0, 3).map(([c, k, share]) => `“${data.classes[c]}” is called “${columns[k]}” (${percent(share)} of the time)`);
    const inside = data.confused.tables[who]
      ? heat(title, data.confused.tables[who], columns, (v) => [v, null, null])
      : make("ul", { class: "said" }, pairs.map(([c, k, share]) => make("li", null, `“${data.classes[c]}” is called “${columns[k]}”: ${percent(share)}`)));
    $("confused").append(make("div", null, make("h4", null, title),
      make("p", null, (words.length ? "The mistakes that are made most often, counted over all items: " + words.join("; ") + ". " : "") + "How to read it: rows are true classes, columns are what they are called, in percent; a row adds up to 100 %. Of a class with few items, a row is mostly an assumption."), inside));
  }
}

// -- accuracy, trace -------------------------------------------------------------------------

if (data.accuracy && data.accuracy.rows.length) {
  const points = data.accuracy.rows;
  chart("chart-reliability", (where, full) => {
    const width = Math.min(full, 460), height = Math.round(width * 0.8);
    const low = Math.max(0, Math.min(...points.map((r) => r[0])));
    const x = scale(low, 1, 46, width - 12), y = scale(0, 1, height - 40, 10);
    const add = svg(where, width, height, "Accuracy of labels by their probability, with 90 % intervals");
    where.firstChild.style.maxWidth = width + "px";
    for (const t of [0, 0.25, 0.5, 0.75, 1]) {
      add("line", { class: "grid", x1: 46, x2: width - 12, y1: y(t), y2: y(t) });
      add("text", { x: 40, y: y(t) + 4, "text-anchor": "end" }, percent(t));
    }
    add("line", { class: "dash", x1: x(low), y1: y(low), x2: x(1), y2: y(1) });
    for (const [, , c, a, l, h] of points) {
      add("line", { class: "interval", style: "stroke-opacity: .6", x1: x(c), x2: x(c), y1: y(l), y2: y(h) });
      add("circle", { class: "mark", cx: x(c), cy: y(a), r: 5 });
    }
    for (const t of ticks(low, 1, 5)) add("text", { x: x(t), y: height - 22, "text-anchor": "middle" }, percent(t));
    add("text", { class: "title", x: (46 + width) / 2, y: height - 4, "text-anchor": "middle" }, "probability of the label");
  });
  plainTable($("table-reliability"), "Accuracy by probability", ["probability", "items", "mean", "right", "90 % interval"],
    points.map(([b, e, c, a, l, h, n]) => [`${b} to ${e}`, count(n), three(c), three(a), `${three(l)} to ${three(h)}`]));
}
if (data.trace) {
  const { step, bound } = data.trace;
  chart("chart-trace", (where, width) => {
    const kept = bound.map((b, i) => [step[i], b]).filter(([, b]) => b != null), height = 190;
    const values = kept.map(([, b]) => b), low = Math.min(...values), high = Math.max(...values);
    const marks = ticks(low, high, 4), text = (v) => Math.abs(v) >= 1e4 ? v.toExponential(1) : String(+v.toPrecision(4));
    const left = 14 + 7 * Math.max(...marks.map((t) => text(t).length));
    const x = scale(step[0], step[step.length - 1], left, width - 12), y = scale(low, high, height - 40, 10);
    const add = svg(where, width, height, "Progress of the fit: the bound by step");
    for (const t of marks) {
      add("line", { class: "grid", x1: left, x2: width - 12, y1: y(t), y2: y(t) });
      add("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, text(t));
    }
    add("polyline", { class: "curve", points: kept.map(([s, b]) => `${x(s).toFixed(1)},${y(b).toFixed(1)}`).join(" ") });
    for (const t of ticks(step[0], step[step.length - 1], 6).filter(Number.isInteger)) add("text", { x: x(t), y: height - 22, "text-anchor": "middle" }, count(t));
    add("text", { class: "title", x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "step");
  });
  plainTable($("table-trace"), "Bound by step", ["step", "bound"], step.map((s, i) => [count(s), bound[i]]));
}
const print = (begins) => { onPaper = begins; redraw.forEach((f) => f()); };
addEventListener("beforeprint", () => { document.querySelectorAll("#fit details").forEach((d) => { d.open = true; }); print(true); });
addEventListener("afterprint", () => print(false));
document.documentElement.dataset.ready = "yes";
})();
