// The cluster at the cursor, or else at the marked time: cut links, dead and paused nodes, leaders.
(() => {
  const panel = document.querySelector("#topology");
  if (!panel) return;
  const chart = document.querySelector("#timeline");
  const told = panel.querySelector("#topology-told");
  const live = panel.querySelector("#topology-marked");
  const begin = Number(chart.dataset.beginS);
  const end = Number(chart.dataset.endS);
  const times = (text) => (text ? text.split(" ").map((one) => one.split("-").map(Number)) : []);
  const at = (spans, seconds) =>
    spans.find(([from, to]) => from <= seconds && (seconds < to || (to >= end - 0.001 && seconds <= to + 0.001)));
  const of = (selector, keys) =>
    [...panel.querySelectorAll(selector)].map((element) => ({
      element,
      ...Object.fromEntries(keys.map((key) => [key, times(element.dataset[key])])),
    }));
  const nodes = of("svg .node", ["dead", "paused", "leads"]);
  const links = of(".link[data-a]", ["cut", "back", "disturbed"]);
  const faults = of("[data-during]", ["during"]);
  const every = [...nodes, ...links, ...faults].flatMap(({ element, ...known }) => Object.values(known).flat());
  const changes = [...new Set(every.flatMap(([from, to]) => [from, to]))]
    .filter((seconds) => seconds >= begin && seconds <= end)
    .sort((a, b) => a - b);

  const named = (what, names) => (names.length ? [`${what}: ${names.join(", ")}`] : []);
  const show = (seconds) => {
    const found = { dead: [], paused: [], leads: [], cut: [], disturbed: [] };
    for (const { element, ...known } of nodes) {
      for (const key of ["dead", "paused", "leads"]) {
        const span = at(known[key], seconds);
        element.classList.toggle(key, Boolean(span));
        if (span) found[key].push(element.dataset.name + (key === "leads" ? ` (epoch ${span[2]})` : ""));
      }
    }
    for (const { element, cut, back, disturbed } of links) {
      const { a, b } = element.dataset;
      const [there, here] = [at(cut, seconds), at(back, seconds)];
      const lossy = !there && !here && at(disturbed, seconds);
      element.classList.toggle("cut", Boolean(there || here));
      element.classList.toggle("disturbed", Boolean(lossy));
      if (there || here) found.cut.push(there && here ? `${a} – ${b}` : there ? `${a} → ${b}` : `${b} → ${a}`);
      if (lossy) found.disturbed.push(`${a} – ${b}`);
    }
    for (const { element, during } of faults) element.hidden = !at(during, seconds);
    const parts = [
      ...named("Leads by its own answer", found.leads),
      ...named("Cut", found.cut),
      ...named("Disturbed", found.disturbed),
      ...named("Dead", found.dead),
      ...named("Paused", found.paused),
    ];
    const calm = parts.length === (found.leads.length ? 1 : 0) ? ["No link is cut, no node is dead or paused"] : [];
    told.textContent = `At ${seconds.toFixed(2)} s. ${[...parts, ...calm].join(". ")}.`;
  };

  let marked = null;
  const rest = () => show(marked ?? begin);
  chart.addEventListener("mark", ({ detail }) => {
    if (detail === marked) return;
    marked = detail;
    rest();
    live.textContent = marked === null ? "" : told.textContent;
  });
  for (const name of ["pointermove", "pointerdown"]) {
    chart.addEventListener(name, (event) => {
      if (chart.isOverPlot(event)) show(chart.secondsUnder(event));
    });
  }
  chart.addEventListener("pointerleave", rest);
  const steps = {
    ".": (from) => changes.find((seconds) => seconds > from + 0.0005),
    ",": (from) => changes.findLast((seconds) => seconds < from - 0.0005),
  };
  chart.parentElement.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const next = steps[event.key](marked ?? begin);
    if (next !== undefined) chart.mark(next);
  });
  panel.hidden = false;
  rest();
})();
