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

// Figures: drawn from their data, again when another axis is chosen. Curves are drawn by uPlot, names at the side or
// below by SVG.
const WIDTH = 360, HEIGHT = 300, WIDE = 760, ALONE = 560, NARROW = 280;
const ROW = 16, LETTER = 5.8, DOTS = "1.6 2.4";
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
  const place = (value) => from + ((f(value) - f(low)) / (f(high) - f(low))) * (to - from);
  place.range = [from, to];
  return place;
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
    if (few.length > 1) return few;
  }
  const rough = (high - low) / 8, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) if (!log || value > 0) found.push(value);
  return found;
}

function written(value) {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return Number(value.toPrecision(4)).toExponential().replace("+", "");
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
  const averages = panel.series.map((series) => series.x[1]);
  const xs = wide ? [-0.5, names.length - 0.5] : rows.length ? [1, Math.max(rows.length, ...averages)] : extent(all("x"), panel.x_log);
  const foot = panel.y_log ? [] : [0];  // bars stand on it
  const ys = rows.length ? [rows.length - 0.5, -0.5] : extent([...foot, ...all("y"), ...all("low"), ...all("high")], panel.y_log);
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
  text(panel.title, { x: width / 2, y: 13, "text-anchor": "middle", class: "title" });
  text(panel.x_label, { x: (left + width - RIGHT) / 2, y: height - 6, "text-anchor": "middle" });
  text(panel.y_label, { x: 10, y: (TOP + height - bottom) / 2, "text-anchor": "middle",
    transform: `rotate(-90 10 ${(TOP + height - bottom) / 2})` });
  for (const series of panel.series) drawSeries(svg, series, x, y, panel);
  for (const { label, y: value, category } of panel.levels.filter((level) => level.category !== null)) {
    const line = element("path", { class: "level", d: `M${x(category - 0.45)} ${y(value)}H${x(category + 0.45)}` });
    line.append(element("title", {}, `${label}: ${written(value)}`));
    svg.append(line);
  }
  panel.groups.forEach(([first, last], k) => svg.append(element("path", { class: "group",  // not told apart
    d: `M${width - RIGHT + 4 + 5 * k} ${y(first) - 4}V${y(last) + 4}` })));
  return svg;
}

// Reported values against measured ones, a mark for each: its shape says, as its colour, what came out.
const KINDS = ["open", "good", "bad"];  // those drawn last lie above

function drawCompared({ title, points }) {
  const [low, high] = extent(points.flatMap((point) => point.slice(0, 2)), true), side = WIDTH - LEFT - RIGHT;
  const range = [low / (high / low) ** 0.04, high * (high / low) ** 0.04], foot = TOP + side;
  const x = scale(range, [LEFT, WIDTH - RIGHT], true), y = scale(range, [foot, TOP], true);
  const label = `${title}: ${points.length} reported values, along, and measured ones, up`;
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${foot + BOTTOM}`, role: "img", "aria-label": label });
  for (const value of ticks(range, true)) {
    svg.append(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(element("line", { class: "grid", x1: x(value), x2: x(value), y1: TOP, y2: foot }));
    svg.append(element("text", { x: LEFT - 4, y: y(value) + 3, "text-anchor": "end" }, written(value)));
    svg.append(element("text", { x: x(value), y: foot + 12, "text-anchor": "middle" }, written(value)));
  }
  svg.append(element("path", { class: "equal", d: `M${LEFT} ${foot}L${WIDTH - RIGHT} ${TOP}` }));
  svg.append(element("text", { x: LEFT, y: 13, class: "title" }, title));
  svg.append(element("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: foot + 28, "text-anchor": "middle" }, "reported"));
  svg.append(element("text", { x: 10, y: (TOP + foot) / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${(TOP + foot) / 2})` },
    "measured"));
  for (const kind of KINDS)
    for (const [reported, measured, , words] of points.filter((point) => point[2] === kind)) {
      const mark = kind === "bad"
        ? element("path", { class: kind, d: `M${x(reported) - 3.5} ${y(measured) - 3.5}l7 7m0 -7l-7 7` })
        : element("circle", { class: kind, cx: x(reported), cy: y(measured), r: 3.2, opacity: 0.8 });
      mark.append(element("title", {}, words));
      svg.append(mark);
    }
  return svg;
}

for (const figure of document.querySelectorAll("figure.compared"))
  figure.querySelector(".panels").append(...JSON.parse(figure.dataset.panels).map(drawCompared));

// Tables that are wider than their place say so.
const shade = (held) => held.classList.toggle("wider", held.scrollLeft + held.clientWidth < held.scrollWidth - 1);
const fits = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const held = target.closest(".scroll"), isWider = held.scrollWidth > held.clientWidth + 1;
    held.nextElementSibling.hidden = !isWider;
    shade(held);
  }
});
for (const held of document.querySelectorAll(".scroll")) {
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.textContent = "This table is wider than the page: scroll it sideways →";
  hint.hidden = true;
  held.after(hint);
  held.addEventListener("scroll", () => shade(held));
  fits.observe(held);
  fits.observe(held.firstElementChild);
}

function drawSeries(svg, series, x, y, panel) {
  if (panel.names.length) return drawRank(svg, series, x, y);
  const bars = panel.series.filter((each) => !each.published), width = 0.8 / bars.length;
  const own = bars.findIndex((each) => each.label === (series.about || series.label));
  const base = panel.y_log ? (panel.levels.length ? panel.levels[0].y : null) : 0;
  series.x.forEach((place, i) => {
    const left = place + (own - bars.length / 2) * width, value = series.y[i];
    if (!Number.isFinite(value) || (panel.y_log && value <= 0)) return;
    if (series.published) return svg.append(mark("published", x(left + width / 2), y(value), "var(--ink)"));
    const foot = base === null ? Math.max(...y.range) : Math.min(Math.max(y(base), Math.min(...y.range)), Math.max(...y.range));
    const bar = element("rect", { x: x(left), width: x(left + width) - x(left) - 0.5, y: Math.min(y(value), foot),
      height: Math.abs(foot - y(value)), fill: series.colour });
    bar.append(element("title", {}, `${series.label}: ${written(value)}`));
    svg.append(bar);
    if (series.low.length && series.low[i] !== series.high[i] && (!panel.y_log || series.low[i] > 0))
      svg.append(element("path", { d: `M${x(left + width / 2)} ${y(series.low[i])}V${y(series.high[i])}`, stroke: "var(--ink)" }));
  });
}

// an average rank, at the end of a line from its name
function drawRank(svg, series, x, y) {
  const place = { x: x(series.x[1]), y: y(series.y[1]) };
  svg.append(element("path", { d: `M${Math.min(...x.range)} ${place.y}H${place.x}`, stroke: series.colour, opacity: 0.5 }));
  const point = mark("measured", place.x, place.y, series.colour);
  point.append(element("title", {}, `${series.label}: ${written(series.x[1])}`));
  svg.append(point);
}

function resolved(colour) {
  return getComputedStyle(document.documentElement).getPropertyValue(colour.slice(4, -1)).trim();
}

// published numbers, and the levels that series are to be seen against
function besides(panel, drawn) {
  return (plot) => {
    const { ctx } = plot, size = 4 * devicePixelRatio, { left, width, top, height } = plot.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.strokeStyle = ctx.fillStyle = resolved("var(--dim)");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([]);
    ctx.font = `${10 * devicePixelRatio}px system-ui`;
    ctx.textAlign = "right";
    for (const level of panel.levels) {
      const y = plot.valToPos(level.y, "y", true);
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(left + width, y);
      ctx.stroke();
      ctx.fillText(level.label, left + width - size, y - size);
    }
    ctx.lineWidth = 1.6 * devicePixelRatio;
    drawn.forEach((series, i) => {
      if (!series.published || !plot.series[i + 1].show) return;
      ctx.strokeStyle = resolved(series.colour);
      series.x.forEach((value, place) => {
        const x = plot.valToPos(value, "x", true), y = plot.valToPos(series.y[place], "y", true);
        ctx.beginPath();
        ctx.moveTo(x - size, y - size);
        ctx.lineTo(x + size, y + size);
        ctx.moveTo(x - size, y + size);
        ctx.lineTo(x + size, y - size);
        ctx.stroke();
      });
    });
    ctx.restore();
  };
}

function wider(log, least = 0) {
  return (plot, low, high) => {
    if (low === null) return log ? [1, 10] : [0, 1];
    const [from, to] = extent([Math.max(low, least || low), high], log);
    return log ? [from / 1.2, to * 1.2] : [from, to];
  };
}

// a curve, or what is of its first pass and what is after it
function byPass(series) {
  if (!series.again) return [series];
  const cut = (from, to) => Object.fromEntries(["x", "y", "low", "high"].map((key) => [key, series[key].slice(from, to)]));
  return [{ ...series, ...cut(0, series.again + 1) }, { ...series, ...cut(series.again), dash: DOTS }];
}

// what the legend hides together: the curve of a solver, and what is reported of it
const nameOf = (series) => series.about || series.label;

function drawCurves(panel, hidden, width) {
  const place = document.createElement("div"), read = document.createElement("output"), series = panel.series.flatMap(byPass);
  place.className = "curves";
  place.style.width = `${width}px`;
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", `${panel.title} ${panel.y_label} against ${panel.x_label}`);
  const banded = series.map((each, i) => i).filter((i) => series[i].low.length);
  const data = uPlot.join([
    ...series.map((each) => [each.x, each.y]),
    ...banded.flatMap((i) => [[series[i].x, series[i].high], [series[i].x, series[i].low]]),
  ]);
  const ink = resolved("var(--ink)");
  const axis = (label, log) => {
    const all = (plot, values) => values, grid = { stroke: resolved("var(--line)"), width: 0.5, filter: all };
    const splits = (plot, number, low, high) => ticks([low, high], log);
    return { label, stroke: ink, grid, ticks: { ...grid, size: 4 }, filter: all, splits, labelSize: 18, labelGap: 0, gap: 3, size: 26,
      font: "11px system-ui", labelFont: "11px system-ui", values: (plot, values) => values.map((each) => (each === null ? "" : written(each))) };
  };
  const options = {
    width, height: HEIGHT, title: panel.title, legend: { show: false },
    scales: { x: { time: false, distr: panel.x_log ? 3 : 1, range: wider(panel.x_log, panel.entry) },
      y: { distr: panel.y_log ? 3 : 1, range: panel.limits.length ? () => panel.limits : wider(panel.y_log) } },
    axes: [axis(panel.x_label, panel.x_log), { ...axis(panel.y_label, panel.y_log), size: 50 }],
    cursor: { focus: { prox: 30 }, drag: { x: true, y: true, uni: 20 } },
    focus: { alpha: 0.3 },
    series: [{ label: panel.x_label },
      ...series.map((each) => ({
        label: each.label, stroke: resolved(each.colour), width: each.line ? 1.6 : 0, spanGaps: true, show: !hidden.has(nameOf(each)),
        dash: each.dash ? each.dash.split(" ").map(Number) : undefined,
        points: { show: !each.published && each.dash !== DOTS && (!each.line || each.x.length < 12), size: 6, fill: resolved(each.colour) },
      })),
      ...banded.flatMap((i) => [0, 1].map(() => ({ label: series[i].label, width: 0, spanGaps: true, points: { show: false },
        show: !hidden.has(series[i].label) })))],
    bands: banded.map((i, k) => ({ series: [series.length + 1 + 2 * k, series.length + 2 + 2 * k],
      fill: `${resolved(series[i].colour)}26` })),
    hooks: {
      draw: [besides(panel, series)],
      setCursor: [(plot) => {
        const i = plot.cursor.idx, near = plot.series.findIndex((each, k) => k > 0 && k <= series.length && each._focus);
        const value = i == null || near < 1 ? null : plot.data[near][i];
        read.textContent = value == null ? panel.note : `${series[near - 1].label}: ${written(value)} at ${written(plot.data[0][i])}`;
      }],
    },
  };
  const plot = new uPlot(options, data, place);
  const fit = () => {
    const room = Math.max(NARROW, Math.min(width, place.parentElement ? place.parentElement.clientWidth : width));
    if (room !== plot.width) plot.setSize({ width: room, height: HEIGHT });
  };
  read.textContent = panel.note;
  place.append(read);
  return { place, plot, fit, labels: [null, ...series.map(nameOf), ...banded.flatMap((i) => [series[i].label, series[i].label])] };
}

function sampleOf(series) {
  const { colour, dash } = series, sample = element("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" });
  sample.append(series.line
    ? element("path", { d: "M0 6H28", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash })
    : mark(series.published ? "published" : "measured", 14, 6, colour));
  return sample;
}

function drawFigure(figure, drawn, hidden) {
  const panels = figure.querySelector(".panels"), legend = figure.querySelector(".legend");
  const isCurve = (panel) => !panel.names.length && !panel.categories.length;
  const width = drawn.panels.length > 1 ? WIDTH : ALONE;
  const plots = drawn.panels.filter(isCurve).map((panel) => drawCurves(panel, hidden, width));
  panels.replaceChildren(...(plots.length ? plots.map((each) => each.place) : drawn.panels.map(drawPanel)));
  plots.forEach((each) => each.fit());
  const unnamed = drawn.panels.filter((panel) => !panel.names.length);
  const every = unnamed.flatMap((panel) => panel.series), published = every.find((series) => series.published);
  const entries = new Map(every.filter((series) => !series.published).map((series) => [series.label, series]));
  const band = document.createElement("span"), reported = document.createElement("span");
  if (published) reported.append(sampleOf({ ...published, colour: "var(--ink)" }), "reported");
  band.className = "dim";
  const levels = drawn.panels.flatMap((panel) => panel.levels.filter((level) => level.category !== null));
  band.textContent = [levels.length && `across bars: ${levels[0].label}`, drawn.remarks].filter(Boolean).join("; ");
  legend.replaceChildren(...[...entries].map(([label, series]) => {
    const item = document.createElement(plots.length ? "button" : "span");
    item.append(sampleOf(series), label);
    if (!plots.length) return item;
    item.type = "button";
    item.title = "hide or show";
    item.setAttribute("aria-pressed", String(!hidden.has(label)));
    item.addEventListener("click", () => {
      if (!hidden.delete(label)) hidden.add(label);
      item.setAttribute("aria-pressed", String(!hidden.has(label)));
      for (const { plot, labels } of plots)
        labels.forEach((each, i) => each === label && plot.setSeries(i, { show: !hidden.has(label) }));
    });
    return item;
  }), ...(published ? [reported] : []), band);
  return plots;
}

const held = document.getElementById("figures");
const data = held ? JSON.parse(held.textContent) : {};
const shown = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) entry.target.dispatchEvent(new Event("change"));
}, { rootMargin: "400px" });
const figures = [...document.querySelectorAll("figure.drawn")];
const drawnAgain = [];
for (const figure of figures) {
  const versions = data[figure.dataset.figure], hidden = new Set();
  let plots = [];
  const choose = () => {
    const chosen = figure.querySelector("input:checked");
    const drawn = versions[chosen ? Number(chosen.value) : 0];
    figure.querySelector(".caption").textContent = drawn.caption;
    plots.forEach((each) => each.plot.destroy());
    plots = drawFigure(figure, drawn, hidden);
    shown.unobserve(figure);
  };
  figure.addEventListener("change", choose);
  addEventListener("resize", () => plots.forEach((each) => each.fit()));
  drawnAgain.push(choose);
  shown.observe(figure);
}
const drawAll = () => drawnAgain.forEach((each) => each());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("beforeprint", drawAll);
