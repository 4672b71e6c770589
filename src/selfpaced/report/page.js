// Moves what the sliders move. The numbers are said as words.py says them.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const slider = document.getElementById("threshold");
  const costs = ["cost-false-alarm", "cost-missed"].map((id) => document.getElementById(id));
  const places = document.querySelectorAll("[data-show]");
  const Z = 1.644854;

  const withCommas = (text) => text.replace(/^\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ","));
  const whole = (number) => withCommas(String(number));
  const amount = (value) => withCommas(value.toFixed(value >= 100 || Number.isInteger(value) ? 0 : 2));
  const isOrAre = (number) => (number === "1" || number === "fewer than 1" ? "is" : "are");
  const ratio = (part, all) => (all === 0 ? 0 : part / all);

  function percent(share) {
    const value = 100 * share;
    const edge = Math.min(value, 100 - value);
    if (edge <= 0) return `${value.toFixed(0)}%`;
    return `${value.toFixed(edge >= 1 ? 1 : Math.min(7, 1 - Math.floor(Math.log10(edge))))}%`;
  }

  function ofHundred(share) {
    if (share > 0 && share < 0.005) return "fewer than 1";
    if (share > 0.995 && share < 1) return "more than 99";
    return (100 * share).toFixed(0);
  }

  function interval(part, all) {
    if (all === 0) return `${percent(0)} to ${percent(1)}`;
    const share = part / all;
    const z2 = (Z * Z) / all;
    const middle = share + z2 / 2;
    const reach = Z * Math.sqrt((share * (1 - share)) / all + z2 / (4 * all));
    const ends = [Math.max(0, (middle - reach) / (1 + z2)), Math.min(1, (middle + reach) / (1 + z2))];
    return ends.map(percent).join(" to ");
  }

  function countsAt(place) {
    const found = data.found[place];
    const falseAlarms = data.falseAlarms[place];
    return { found, falseAlarms, missed: data.cases - found, alerts: found + falseAlarms };
  }

  const f1At = (place) => ratio(2 * data.found[place], countsAt(place).alerts + data.cases);

  function costAt(place) {
    const [falseAlarm, missed] = costs.map((input) => Math.max(0, Number(input.value) || 0));
    const at = countsAt(place);
    return at.falseAlarms * falseAlarm + at.missed * missed;
  }

  function textsAt(place) {
    const at = countsAt(place);
    const precision = ratio(at.found, at.alerts);
    const recall = at.found / data.cases;
    const promised = (place === data.suggested && data.promised) || {};
    const right = ofHundred(precision);
    const hit = ofHundred(recall);
    return {
      sentence: at.alerts
        ? `Of 100 alerts, ${right} ${isOrAre(right)} right; ${hit} of 100 cases ${isOrAre(hit)} found.`
        : "No row scores as high: there are no alerts.",
      threshold: data.said[place],
      found: whole(at.found),
      "false-alarms": whole(at.falseAlarms),
      missed: whole(at.missed),
      "left-alone": whole(data.others - at.falseAlarms),
      alerts: whole(at.alerts),
      precision: percent(precision),
      "precision-interval": promised.precision ?? interval(at.found, at.alerts),
      recall: percent(recall),
      "recall-interval": promised.recall ?? interval(at.found, data.cases),
      f1: f1At(place).toFixed(3),
      "per-thousand": ((1000 * at.alerts) / (data.cases + data.others)).toFixed(2),
      cost: amount(costAt(place)),
      "cost-without": amount(data.cases * Math.max(0, Number(costs[1].value) || 0)),
    };
  }

  function moveMarker(id, x, y) {
    const svg = document.getElementById(id);
    const { x0, x1, y0, y1 } = svg.dataset;
    const at = [Number(x0) + x * (x1 - x0), Number(y0) + y * (y1 - y0)];
    const set = (selector, values) =>
      Object.entries(values).forEach(([name, value]) => svg.querySelector(selector).setAttribute(name, value));
    set(".marker", { cx: at[0], cy: at[1] });
    set(".drop-x", { x1: at[0], x2: at[0], y2: at[1] });
    set(".drop-y", { y1: at[1], x2: at[0], y2: at[1] });
  }

  function show() {
    const place = Number(slider.value);
    const texts = textsAt(place);
    const at = countsAt(place);
    places.forEach((element) => (element.textContent = texts[element.dataset.show]));
    slider.setAttribute("aria-valuetext", texts.threshold);
    moveMarker("precision-recall", at.found / data.cases, ratio(at.found, at.alerts));
    moveMarker("roc", at.falseAlarms / data.others, at.found / data.cases);
  }

  function best(better) {
    return data.values.reduce((place, _, other) => (better(other, place) ? other : place), 0);
  }

  const presets = {
    suggested: () => data.suggested,
    f1: () => best((other, place) => f1At(other) >= f1At(place)),
    cost: () => best((other, place) => costAt(other) <= costAt(place)),
  };

  slider.addEventListener("input", show);
  costs.forEach((input) => input.addEventListener("input", show));
  document.querySelectorAll("[data-preset]").forEach((button) =>
    button.addEventListener("click", () => {
      slider.value = presets[button.dataset.preset]();
      show();
    }),
  );

  const round = document.getElementById("round");
  round?.addEventListener("input", () => {
    document.querySelectorAll("[data-frame]").forEach((frame) => (frame.hidden = frame.dataset.frame !== round.value));
  });
})();
