// Puts an interactive chart in the place of the drawn throughput bars. The numbers come from the
// element's data-series attribute, which a refresh of the page replaces: a paused page is a
// paused chart. Needs vendor/uplot; without it the drawn bars stay.

const HEIGHT = 186;
const SERIES = [
  { key: "succeeded", colour: "--state-succeeded" },
  { key: "retried", colour: "--state-retrying", dash: [6, 3] },
  { key: "failed", colour: "--state-failed", dash: [2, 2] },
];
const charts = new Map();

// Custom properties hold light-dark(), which a canvas cannot read; a computed colour it can.
function colour(element, name) {
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function faint(value, share) {
  return value.replace(/^rgb\((.*)\)$/, `rgba($1, ${share})`);
}

// Stacked from the floor: succeeded, then retried, then failed.
function stacked(series) {
  const rows = SERIES.map(() => []);
  series.at.forEach((_, place) => {
    let sum = 0;
    SERIES.forEach(({ key }, line) => {
      sum += series[key][place];
      rows[line].push(sum);
    });
  });
  return [series.at, ...rows];
}

// The zone of the page, in which the server wrote the other times; a name that only the server
// knows leaves the browser's own.
function zoneOf(element) {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: element.dataset.zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

function timeText(seconds, zone) {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone };
  return new Intl.DateTimeFormat("en", options).format(seconds * 1000);
}

function told(series, place, zone) {
  const counts = SERIES.map(({ key }) => `${series[key][place].toLocaleString("en")} ${key}`);
  return `${timeText(series.at[place], zone)}: ${counts.join(", ")}`;
}

function optionsFor(host, series, readout, zone) {
  const muted = colour(host, "--picture-muted");
  const line = colour(host, "--picture-line");
  const axis = {
    stroke: muted,
    font: `11px ${getComputedStyle(host).fontFamily}`,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  };
  const lines = SERIES.map(({ key, colour: name, dash }, place) => {
    const stroke = colour(host, name);
    return { label: key, stroke, width: 1.5, dash, fill: place ? undefined : faint(stroke, 0.22), points: { show: false } };
  });
  const bands = [2, 1].map((upper) => ({
    series: [upper + 1, upper],
    fill: faint(colour(host, SERIES[upper].colour), 0.35),
  }));
  return {
    width: host.clientWidth || 320,
    height: HEIGHT,
    legend: { show: false },
    tzDate: (seconds) => (zone ? uPlot.tzDate(new Date(seconds * 1000), zone) : new Date(seconds * 1000)),
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, highest) => [0, Math.max(1, Math.ceil(highest * 1.05))] } },
    axes: [
      { ...axis, values: (_, splits) => splits.map((split) => timeText(split, zone)), grid: { show: false }, size: 26, space: 64 },
      { ...axis, size: 44, space: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6] },
    ],
    series: [{}, ...lines],
    bands,
    hooks: {
      setCursor: [
        (chart) => {
          const place = chart.cursor.idx;
          readout.textContent = place == null ? "" : told(series, place, zone);
        },
      ],
    },
  };
}

// Left and right step through the minutes; the readout is a polite live region.
function listenToKeys(host, state) {
  host.addEventListener("keydown", (event) => {
    const { chart, series } = state;
    const last = series.at.length - 1;
    const now = chart.cursor.idx ?? last + 1;
    const target = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const place = Math.min(Math.max(target, 0), last);
    chart.setCursor({ left: chart.valToPos(series.at[place], "x"), top: 0 });
  });
}

function mount(element) {
  const series = JSON.parse(element.dataset.series);
  if (series.at.length < 2) return;
  const host = document.createElement("div");
  host.className = "chart-live";
  host.tabIndex = 0;
  host.setAttribute("role", "application");
  host.setAttribute("aria-roledescription", "chart");
  host.setAttribute("aria-label", `${element.dataset.summary} Arrow keys step through the minutes.`);
  const readout = Object.assign(document.createElement("output"), { className: "chart-readout" });
  element.append(host, readout);
  element.classList.add("is-live");
  const state = { host, readout, series, source: element.dataset.series };
  state.chart = new uPlot(optionsFor(host, series, readout, zoneOf(element)), stacked(series), host);
  listenToKeys(host, state);
  state.sizes = new ResizeObserver(() => {
    if (host.clientWidth) state.chart.setSize({ width: host.clientWidth, height: HEIGHT });
  });
  state.sizes.observe(host);
  charts.set(element, state);
}

function unmount(element) {
  const state = charts.get(element);
  state.sizes.disconnect();
  state.chart.destroy();
  state.host.remove();
  state.readout.remove();
  element.classList.remove("is-live");
  charts.delete(element);
}

// After a refresh: removes charts whose element left the page, and redraws the ones that changed or
// lost their canvas.
function attend() {
  for (const [element, state] of [...charts]) {
    const whole = element.isConnected && state.host.parentNode === element && element.classList.contains("is-live");
    if (!whole || state.source !== element.dataset.series) unmount(element);
  }
  for (const element of document.querySelectorAll('.chart[data-chart="throughput"]')) {
    if (!charts.has(element)) mount(element);
  }
}

function redraw() {
  for (const element of [...charts.keys()]) unmount(element);
  attend();
}

if (globalThis.uPlot) {
  attend();
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => !target.closest?.(".chart-live, .chart-readout"))) attend();
  }).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-series"] });
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
