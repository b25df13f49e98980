"use strict";

// Tables: a button in each heading sorts, a field filters, boxes choose verdicts.
function numberOf(cell) {
  const text = cell.dataset.value ?? cell.textContent.split("±")[0];
  const number = parseFloat(text.replace("%", ""));
  return Number.isNaN(number) ? null : number;
}

function compare(column, numeric, sign) {
  return (left, right) => {
    const a = left.cells[column], b = right.cells[column];
    if (!numeric) return sign * a.textContent.trim().localeCompare(b.textContent.trim(), "en", { numeric: true });
    const x = numberOf(a), y = numberOf(b);
    if (x === null || y === null) return (x === null) - (y === null); // what is not there goes last either way
    return sign * (x - y);
  };
}

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const rising = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(compare(column, heading.classList.contains("number"), rising ? 1 : -1)));
    });
  });
}

for (const table of document.querySelectorAll("table.filtered")) {
  const tools = table.parentElement.previousElementSibling;
  const field = tools.querySelector(".filter"), boxes = [...tools.querySelectorAll(".verdict")];
  if (!field) continue;
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word)) || (boxes.length > 0 && !chosen.has(row.dataset.verdict));
    }
  };
  field.addEventListener("input", apply);
  boxes.forEach((box) => box.addEventListener("change", apply));
  apply();
}

// Figures: drawn from their data, again when another axis is chosen.
const WIDTH = 360, HEIGHT = 270, WIDE = 760;
const ROW = 16, LETTER = 5.8;
const LEFT = 48, RIGHT = 18, TOP = 22, BOTTOM = 36, BOTTOM_NAMES = 70;
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function extent(values, log) {
  const fit = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  let low = Math.min(...fit), high = Math.max(...fit);
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
  if (log) return [low, high];
  const room = 0.04 * (high - low);
  return [low - room, high + room];
}

function scale([low, high], [from, to], log) {
  const f = log ? Math.log10 : (value) => value;
  return (value) => from + ((f(value) - f(low)) / (f(high) - f(low))) * (to - from);
}

function ticks([low, high], log) {
  if (log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), found = [];
    const every = Math.max(1, Math.ceil((last - first) / 6));
    for (let power = first; power <= last; power += every) found.push(10 ** power);
    if (found.length > 1) return found;
    const few = [];
    for (let power = first - 1; power <= last; power++)
      for (const digit of [1, 2, 5]) if (digit * 10 ** power >= low && digit * 10 ** power <= high) few.push(digit * 10 ** power);
    return few;
  }
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
  return found;
}

function written(value) {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return value.toExponential(0).replace("+", "");
  return String(Number(value.toPrecision(4)));
}

function mark(kind, x, y, colour) {
  if (kind === "published")
    return element("path", { d: `M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7`, stroke: colour, "stroke-width": 1.5, fill: "none" });
  return element("circle", { cx: x, cy: y, r: 2.5, fill: colour });
}

function drawPanel(panel) {
  const names = panel.categories, wide = names.length > 0, rows = panel.names;
  const left = Math.max(LEFT, 14 + LETTER * Math.max(0, ...rows.map((name) => name.length)));
  const width = wide ? WIDE : WIDTH, bottom = wide ? BOTTOM_NAMES : BOTTOM;
  const height = Math.max(HEIGHT, TOP + bottom + ROW * rows.length);
  const all = (key) => panel.series.flatMap((series) => series[key]);
  const xs = wide ? [-0.5, names.length - 0.5] : extent(all("x"), panel.x_log);
  const ys = rows.length ? [rows.length - 0.5, -0.5] : extent([...all("y"), ...all("low"), ...all("high")], panel.y_log);
  const x = scale(xs, [left, width - RIGHT], panel.x_log && !wide), y = scale(ys, [height - bottom, TOP], panel.y_log);
  const label = `${panel.title} ${panel.y_label} against ${panel.x_label || "datasets"}`;
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: wide ? "wide" : "" });
  const text = (words, at) => svg.append(element("text", at, words));
  for (const value of rows.length ? rows.keys() : ticks(ys, panel.y_log)) {
    svg.append(element("line", { class: "grid", x1: left, x2: width - RIGHT, y1: y(value), y2: y(value) }));
    text(rows.length ? rows[value] : written(value), { x: left - 4, y: y(value) + 3, "text-anchor": "end" });
  }
  if (wide) {
    names.forEach((name, place) => text(name, {
      x: x(place), y: height - bottom + 12, "text-anchor": "end", transform: `rotate(-45 ${x(place)} ${height - bottom + 12})`,
    }));
  } else {
    for (const value of ticks(xs, panel.x_log)) {
      svg.append(element("line", { class: "grid", x1: x(value), x2: x(value), y1: TOP, y2: height - bottom }));
      text(written(value), { x: x(value), y: height - bottom + 12, "text-anchor": "middle" });
    }
  }
  svg.append(element("path", { class: "axis", fill: "none", d: `M${left} ${TOP}V${height - bottom}H${width - RIGHT}` }));
  text(panel.title, { x: (left + width - RIGHT) / 2, y: 12, "text-anchor": "middle", "font-weight": "bold" });
  text(panel.x_label, { x: (left + width - RIGHT) / 2, y: height - 6, "text-anchor": "middle" });
  text(panel.y_label, { x: 10, y: (TOP + height - bottom) / 2, "text-anchor": "middle",
    transform: `rotate(-90 10 ${(TOP + height - bottom) / 2})` });
  for (const series of panel.series) drawSeries(svg, series, x, y, panel);
  return svg;
}

function drawSeries(svg, series, x, y, panel) {
  const points = series.x.map((value, i) => [value, series.y[i]]);
  const fits = ([a, b]) => Number.isFinite(b) && (!panel.y_log || b > 0) && (!panel.x_log || a > 0);
  const path = (pairs) => pairs.filter(fits).map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`);
  if (series.low.length) {
    const lower = path(series.x.map((value, i) => [value, series.low[i]]));
    const upper = path(series.x.map((value, i) => [value, series.high[i]])).reverse();
    svg.append(element("path", { d: `M${[...lower, ...upper].join("L")}Z`, fill: series.colour, opacity: 0.15 }));
  }
  if (series.line) {
    svg.append(element("path", { d: `M${path(points).join("L")}`, fill: "none", stroke: series.colour, "stroke-width": 1.6,
      "stroke-dasharray": panel.names.length ? "" : series.dash }));
  }
  if (!series.line || points.length < 12) {
    for (const point of panel.names.length ? [points[1]] : points.filter(fits)) {
      const made = mark(series.published ? "published" : "measured", x(point[0]), y(point[1]), series.colour);
      made.append(element("title", {}, `${series.label}: ${written(point[panel.names.length ? 0 : 1])}`));
      svg.append(made);
    }
  }
}

function drawFigure(figure, drawn) {
  const legend = document.createElement("ul");
  legend.className = "legend";
  const unnamed = drawn.panels.filter((panel) => !panel.names.length);
  const entries = new Map(unnamed.flatMap((panel) => panel.series.map((series) => [series.label, series])));
  for (const [label, series] of entries) {
    const item = document.createElement("li"), { colour, dash } = series;
    const sample = element("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" });
    sample.append(series.line
      ? element("path", { d: "M0 6H28", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash })
      : mark(series.published ? "published" : "measured", 14, 6, colour));
    item.append(sample, label);
    legend.append(item);
  }
  figure.querySelector(".panels").replaceChildren(...drawn.panels.map(drawPanel), legend);
}

const data = JSON.parse(document.getElementById("figures").textContent);
for (const figure of document.querySelectorAll("figure.drawn")) {
  const versions = data[figure.dataset.figure];
  const choose = () => {
    const chosen = figure.querySelector("input:checked");
    const drawn = versions[chosen ? Number(chosen.value) : 0];
    figure.querySelector(".caption").textContent = drawn.caption;
    drawFigure(figure, drawn);
  };
  figure.addEventListener("change", choose);
  choose();
}
