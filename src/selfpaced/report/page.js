// Shows what Python computed at each threshold. Only costs are computed here, because the reader can change them.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const slider = document.getElementById("threshold");
  const inputs = ["cost-false-alarm", "cost-missed"].map((id) => document.getElementById(id));

  const costs = () => inputs.map((input) => Math.max(0, Number(input.value) || 0));

  function costAt(place) {
    const [falseAlarm, missed] = costs();
    return data.falseAlarms[place] * falseAlarm + (data.cases - data.found[place]) * missed;
  }

  // As cost_text in Python: whole if it is large or whole, with two decimals otherwise.
  function costText(cost) {
    const digits = cost >= 100 || Number.isInteger(cost) ? 0 : 2;
    return cost.toFixed(digits).replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
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
    const found = data.found[place];
    const alerts = found + data.falseAlarms[place];
    const costTexts = { cost: costText(costAt(place)), "cost-without": costText(data.cases * costs()[1]) };
    document.querySelectorAll("[data-show]").forEach((element) => {
      const name = element.dataset.show;
      element.textContent = costTexts[name] ?? data.texts[name][place];
    });
    slider.setAttribute("aria-valuetext", data.texts.threshold[place]);
    moveMarker("precision-recall", found / data.cases, alerts ? found / alerts : 0);
    moveMarker("roc", data.falseAlarms[place] / data.others, found / data.cases);
  }

  const cheapest = () => data.found.reduce((best, _, place) => (costAt(place) <= costAt(best) ? place : best), 0);
  const presets = { suggested: () => data.suggested, f1: () => data.bestF1, cost: cheapest };

  slider.addEventListener("input", show);
  inputs.forEach((input) => input.addEventListener("input", show));
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
