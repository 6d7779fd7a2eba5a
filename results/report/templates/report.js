"use strict";
// Keys and buttons for the next and previous anomaly, a copy button, and a cursor on the timeline.
(() => {
  const find = (selector) => document.querySelector(selector);
  const anomalies = [...document.querySelectorAll("article.anomaly")];
  const keys = find("#keys");
  let current = -1;

  const show = (position) => {
    current = position;
    const anomaly = anomalies[position];
    const folded = anomaly.closest("details");
    if (folded) folded.open = true;
    anomalies.forEach((other) => other.classList.toggle("current", other === anomaly));
    anomaly.focus({ preventScroll: true });
    anomaly.scrollIntoView({ block: "start" });
    find("#position").textContent = `${position + 1} of ${anomalies.length}`;
  };
  const step = (by) => {
    if (!anomalies.length) return;
    const first = by > 0 ? 0 : anomalies.length - 1;
    show(current < 0 ? first : (current + by + anomalies.length) % anomalies.length);
  };
  const toggleKeys = () => (keys.open ? keys.close() : keys.showModal());
  const actions = {
    n: () => step(1),
    j: () => step(1),
    p: () => step(-1),
    k: () => step(-1),
    t: () => find("#timeline-title").scrollIntoView(),
    "?": toggleKeys,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys.open && event.key !== "?") return;
    const act = Object.hasOwn(actions, event.key) && actions[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
  const follow = () => {
    const target = anomalies.findIndex((anomaly) => `#${anomaly.id}` === location.hash);
    if (target >= 0) show(target);
  };
  addEventListener("hashchange", follow);
  document.querySelectorAll("[data-step]").forEach((button) => {
    button.addEventListener("click", () => step(Number(button.dataset.step)));
  });
  find("#help").addEventListener("click", toggleKeys);
  keys.addEventListener("click", (event) => event.target === keys && keys.close());
  find("nav.jump").hidden = false;

  const copy = find("#copy");
  if (copy) {
    const line = find("#reproduce");
    const copied = () => {
      copy.textContent = "Copied";
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    };
    const select = () => getSelection().selectAllChildren(line);
    copy.hidden = false;
    copy.addEventListener("click", () => navigator.clipboard.writeText(line.textContent).then(copied, select));
  }

  const chart = find("#timeline");
  const cursor = find("#cursor");
  chart.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    const left = Number(chart.dataset.left);
    const share = (at.x - left) / Number(chart.dataset.width);
    cursor.setAttribute("visibility", share >= 0 && share <= 1 ? "visible" : "hidden");
    cursor.setAttribute("transform", `translate(${at.x.toFixed(1)} 0)`);
    cursor.lastElementChild.textContent = chart.momentText(chart.secondsUnder(event), chart.matches(".zoomed") ? 3 : 2);
  });
  chart.addEventListener("pointerleave", () => cursor.setAttribute("visibility", "hidden"));

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  follow();
})();
