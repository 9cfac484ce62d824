"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const closed = (place) => place.closest("details:not([open])");
  const waiting = [...document.querySelectorAll(".plot")].filter((place) => !closed(place));
  const drawn = [];

  // Colors come from the style sheet, so that pictures follow the page into the dark and onto paper.
  function theme(layout) {
    const look = getComputedStyle(document.documentElement);
    const color = (name) => look.getPropertyValue(name).trim();
    const change = { "paper_bgcolor": color("--ground"), "plot_bgcolor": color("--ground"), "font.color": color("--text") };
    for (const key of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      change[key + ".gridcolor"] = color("--grid");
      change[key + ".linecolor"] = color("--rule");
    }
    return change;
  }

  function draw(place) {
    const { data: traces, layout } = data.figures[place.dataset.figure];
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: 12 };
    const ready = Plotly.newPlot(place, traces, layout, data.settings).then(() => Plotly.relayout(place, theme(layout)));
    drawn.push(place);
    return ready;
  }

  // One picture at a time, so that the page can be read and scrolled meanwhile.
  function next() {
    const place = waiting.shift();
    if (!place) {
      document.documentElement.dataset.drawn = "all";
      return;
    }
    draw(place).then(() => setTimeout(next, 0));
  }

  function again() {
    for (const place of drawn) Plotly.relayout(place, theme(data.figures[place.dataset.figure].layout));
  }

  // What is folded away has no width yet: it is drawn when it is opened.
  function unfold(details) {
    for (const place of details.querySelectorAll(".plot")) {
      if (!closed(place) && !drawn.includes(place) && !waiting.includes(place)) draw(place);
    }
  }

  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", () => unfold(details));

  function forPaper() {
    while (waiting.length) draw(waiting.shift());
    for (const details of document.querySelectorAll("details")) {
      details.open = true;
      unfold(details);
    }
    again();
  }

  dark.addEventListener("change", again);
  paper.addEventListener("change", again);
  addEventListener("beforeprint", forPaper);
  addEventListener("afterprint", again);

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };

  function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed.bdata), (letter) => letter.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  }

  // Row and column of a cell: their labels if rows have labels of their own, otherwise positions.
  function at(trace, row, column) {
    const labels = trace.meta.labels;
    return labels ? [labels[0][row], labels[1][column]] : [trace.y0 + row * trace.dy, trace.x0 + column * trace.dx];
  }

  // The same rows as the file beside the printed picture has.
  function behind(figure) {
    const rows = [];
    for (const trace of figure.data) {
      if (trace.type === "heatmap") {
        const [, width] = trace.z.shape.split(",").map(Number);
        unpack(trace.z).forEach((weight, index) => rows.push([
          trace.meta.name, ...at(trace, Math.floor(index / width), index % width), Number.isFinite(weight) ? Number(weight.toPrecision(6)) : null,
        ]));
      } else if (trace.meta) {  // others are areas around a curve
        trace.x.forEach((x, index) => {
          const [low, high] = trace.customdata ? trace.customdata[index] : [null, null];
          if (x !== null && trace.y[index] !== null) rows.push([trace.meta.name, trace.meta.kind, x, trace.y[index], low, high]);
        });
      }
    }
    const heat = figure.data.find((trace) => trace.type === "heatmap");
    rows.unshift(heat ? heat.meta.columns : ["series", "kind", "x", "y", "low", "high"]);
    return rows.map((row) => row.map(field).join(",") + "\n").join("");
  }

  for (const button of document.querySelectorAll("button.download")) {
    button.addEventListener("click", () => {
      if (button.dataset.table) return save(button.dataset.table, data.tables[button.dataset.table]);
      const figure = data.figures[button.dataset.figure];
      return save(figure.name, behind(figure));
    });
  }

  // Numbers by value, texts by alphabet, what is missing last.
  function sort(button) {
    const head = button.closest("th");
    const body = head.closest("table").tBodies[0];
    const column = head.cellIndex;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...body.rows].map((row) => {
      const cell = row.cells[column];
      return { row, text: cell.innerText.trim(), value: "value" in cell.dataset ? Number(cell.dataset.value) : null };
    });
    const numbers = rows.some((item) => item.value !== null);
    const missing = (item) => (numbers ? item.value === null : item.text === "");
    rows.sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      const order = numbers ? a.value - b.value : a.text.localeCompare(b.text, "en", { numeric: true });
      return up ? order : -order;
    });
    body.append(...rows.map((item) => item.row));
  }

  for (const button of document.querySelectorAll("button.sort")) button.addEventListener("click", () => sort(button));
  if (innerWidth < 1152) document.querySelector("nav details").open = false;
  next();
})();
