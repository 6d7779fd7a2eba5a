// Zooms and pans the timeline, marks any time named on the page, and hides lanes.
// Shapes are moved one by one, so that texts and strokes keep their size.  The page as written shows the whole
// run; it is restored for print.
(() => {
  const chart = document.querySelector("#timeline");
  const region = chart.parentElement;
  const tools = document.querySelector("#timeline-tools");
  const told = document.querySelector("#timeline-shown");
  const find = (selector) => chart.querySelector(selector);
  const left = Number(chart.dataset.left);
  const width = Number(chart.dataset.width);
  const right = left + width;
  const begin = Number(chart.dataset.beginS);
  const length = Number(chart.dataset.endS) - begin;
  const narrowest = width / Math.max(1, Math.min(400, length / 0.2));
  // In a history without times, a second stands for one operation.
  const isTimed = chart.dataset.timed !== "no";
  const momentText = (seconds, digits) =>
    isTimed ? `${seconds.toFixed(digits)} s` : `operation ${Math.round(seconds)}`;
  const number = (value) => String(Math.round(value * 100) / 100);
  const secondsAt = (place) => begin + ((place - left) / width) * length;
  const placeOf = (seconds) => left + ((seconds - begin) / length) * width;

  // The visible part: from `from` to `to`, as positions on the page as written.
  let from = left;
  let to = right;
  let shapes = null;
  let marked = null;
  let came = null;
  const isZoomed = () => to - from < width - 0.01;
  const scale = () => width / (to - from);
  const map = (place) => left + (place - from) * scale();
  const isShown = (place) => place >= left - 0.5 && place <= right + 0.5;

  const create = (name, attributes, text = "") => {
    const element = document.createElementNS(chart.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };
  const show = (element, shown) => {
    if (shown) element.removeAttribute("display");
    else element.setAttribute("display", "none");
  };

  // Each kind of shape: its selector, its attributes as written, and how it is redrawn.
  const titleOf = (element) =>
    (element.querySelector(":scope > title") || element.parentElement.querySelector(":scope > title")).textContent;
  const fits = (text, room) => text.length * 6.2 + 4 < room;
  const labels = { reign: 11.5, paused: 11.5, exited: 11.5, leader: 9, call: 9, phase: 11 };

  const labelled = (bar, kind) => {
    let next = bar.nextElementSibling;
    if (next?.matches(".stale, .phase-edge")) next = next.nextElementSibling;
    const own = next?.matches(".in, .small") ? next : null;
    const whole = titleOf(bar).split(",")[0];
    const short = kind === "reign" || kind === "leader" ? (whole.match(/\d+/) || [""])[0] : "";
    const written = own && { x: own.getAttribute("x"), text: own.textContent };
    let text = own;
    return {
      draw(begins, ends) {
        const label = [whole, short].find((one) => one && fits(one, ends - begins));
        if (label && !text) {
          text = create("text", { y: labels[kind], class: kind === "phase" ? "small" : "in" });
          bar.after(text);
        }
        if (!text) return;
        show(text, Boolean(label));
        if (label) text.textContent = label;
        text.setAttribute("x", number(kind === "phase" ? begins + 4 : (begins + ends) / 2));
      },
      restore() {
        if (!text) return;
        show(text, Boolean(own));
        if (own) text.setAttribute("x", written.x);
        if (own) text.textContent = written.text;
      },
    };
  };

  const bar = (rect) => {
    const written = { x: rect.getAttribute("x"), width: rect.getAttribute("width") };
    const begins = Number(written.x);
    const ends = begins + Number(rect.dataset.w ?? written.width);
    const kind = Object.keys(labels).find((name) => rect.classList.contains(name));
    const label = kind && labelled(rect, kind);
    const stale = rect.nextElementSibling?.matches(".stale") && rect.nextElementSibling;
    const clear = stale ? Number(stale.getAttribute("x")) : ends;
    return {
      draw() {
        const x = Math.max(map(begins), left);
        const end = Math.min(Math.max(map(ends), map(begins) + 1.5), right);
        show(rect, end > x);
        rect.setAttribute("x", number(x));
        rect.setAttribute("width", number(Math.max(end - x, 0)));
        if (label) label.draw(x, Math.min(map(clear), end));
      },
      restore() {
        show(rect, true);
        for (const key of ["x", "width"]) rect.setAttribute(key, written[key]);
        if (label) label.restore();
      },
    };
  };

  // Current position of a shape; false if it is not visible.  The glyph and name of a fault are at the start of
  // the visible part of its bar.
  const stand = (element, written) => {
    const group = element.matches(".fault-glyph, .fault-label") && element.parentElement;
    if (!group) return () => isShown(map(written)) && map(written);
    const fault = group.querySelector(".fault");
    const begins = Number(fault.getAttribute("x"));
    const ends = begins + Number(fault.dataset.w ?? fault.getAttribute("width"));
    const wide = 24 + 6.2 * group.querySelector(".fault-label").textContent.length;
    const offset = element.matches(".fault-glyph") ? 10 : 19;
    return () =>
      map(ends) >= left && map(begins) <= right && Math.min(Math.max(map(begins), left), right - wide) + offset;
  };
  const shifted = (element) => {
    const written = element.getAttribute("transform");
    const [, x, y] = written.match(/\(([-\d.]+) ([-\d.]+)\)/);
    const at = stand(element, Number(x));
    return {
      draw() {
        const place = at();
        show(element, place !== false);
        if (place !== false) element.setAttribute("transform", `translate(${number(place)} ${y})`);
      },
      restore() {
        show(element, true);
        element.setAttribute("transform", written);
      },
    };
  };
  const placed = (element, keys) => {
    const written = element.getAttribute(keys[0]);
    const at = stand(element, Number(written));
    const set = (value) => keys.forEach((key) => element.setAttribute(key, value));
    return {
      draw() {
        const place = at();
        show(element, place !== false);
        if (place !== false) set(number(place));
      },
      restore() {
        show(element, true);
        set(written);
      },
    };
  };

  // Paths of many marks or lines: where each step moves to, and how long its line is.
  const path = (element) => {
    const written = element.getAttribute("d");
    const steps = [];
    let x = 0;
    let y = 0;
    for (const [, move, across, down, along] of written.matchAll(/([Mm])(-?[\d.]+) ?(-?[\d.]+)(?:h([\d.]+))?/g)) {
      x = move === "M" ? Number(across) : x + Number(across);
      y = move === "M" ? Number(down) : y + Number(down);
      steps.push([x, y, Number(along ?? 0)]);
    }
    const line = element.matches(".busy");
    const end = element.matches(".dots") ? "h0" : "";
    return {
      draw() {
        let drawn = "";
        for (const [at, height, along] of steps) {
          const begins = Math.max(map(at), left);
          const ends = Math.min(Math.max(map(at + along), map(at) + 0.7), right);
          if (line && ends > begins) drawn += `M${number(begins)} ${height}h${number(ends - begins)}`;
          if (!line && isShown(map(at))) drawn += `M${number(map(at))} ${number(height)}${end}`;
        }
        show(element, drawn !== "");
        element.setAttribute("d", drawn || "M0 0");
      },
      restore() {
        show(element, true);
        element.setAttribute("d", written);
      },
    };
  };
  const curve = (element) => {
    const written = element.getAttribute("points");
    const numbers = written.split(/[ ,]+/).map(Number);
    return {
      draw: () =>
        element.setAttribute("points", numbers.map((n, i) => (i % 2 ? n : number(map(n)))).join(" ")),
      restore: () => element.setAttribute("points", written),
    };
  };

  const kinds = [
    ["rect", bar],
    [".plot [transform^='translate']:is(path)", shifted],
    [".plot circle", (element) => placed(element, ["cx"])],
    [".plot use, .plot .fault-label", (element) => placed(element, ["x"])],
    [".phase-edge, .anomaly-line", (element) => placed(element, ["x1", "x2"])],
    [".busy, .dots, .marks", path],
    [".plot polyline", curve],
  ];
  const collect = () =>
    kinds.flatMap(([selector, make]) =>
      [...chart.querySelectorAll(selector)].filter((element) => !element.closest("defs")).map(make),
    );

  // The axis; its lines reach the top of the visible lanes.
  const ticks = find("#ticks");
  const written = [...ticks.childNodes];
  const axis = find("#axis");
  const heightOf = () => axis.transform.baseVal[0].matrix.f;
  const drawTicks = () => {
    if (!isZoomed()) {
      ticks.replaceChildren(...written);
      ticks.querySelectorAll(".grid").forEach((line) => line.setAttribute("y1", -heightOf()));
      return;
    }
    const shown = length / scale();
    const least = shown / 10;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((factor) => power * factor >= least * 0.999999);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    const lines = [];
    for (let i = Math.ceil(secondsAt(from) / step); i * step <= secondsAt(to) + step / 1e6; i += 1) {
      const x = number(map(placeOf(i * step)));
      lines.push(create("line", { x1: x, x2: x, y1: -heightOf(), y2: 4, class: "grid" }));
      lines.push(create("text", { x, y: 15, class: "tick" }, (i * step).toFixed(digits)));
    }
    ticks.replaceChildren(...lines);
  };

  const moment = create("g", { id: "moment", display: "none", "pointer-events": "none" });
  const momentLine = create("line", { y1: 0, class: "moment-line" });
  const momentName = create("text", { class: "moment-time" });
  moment.append(momentLine, momentName);
  find("#cursor").before(moment);
  const drawMoment = () => {
    const x = marked === null ? NaN : map(placeOf(marked));
    show(moment, isShown(x));
    chart.dispatchEvent(new CustomEvent("mark", { detail: marked }));
    if (!isShown(x)) return;
    moment.setAttribute("transform", `translate(${number(x)} 0)`);
    momentLine.setAttribute("y2", heightOf());
    momentName.setAttribute("y", heightOf() + 29);
    momentName.textContent = momentText(marked, 3);
  };

  const tell = () => {
    const digits = length / scale() < 20 ? 2 : 1;
    const part = isTimed
      ? `${secondsAt(from).toFixed(digits)} to ${momentText(secondsAt(to), digits)}`
      : `${momentText(secondsAt(from))} to ${Math.round(secondsAt(to))}`;
    const mark = marked === null ? "" : `, ${momentText(marked, 3)} is marked`;
    told.textContent = (isZoomed() ? part : "the whole run") + mark;
    tools.querySelectorAll("[data-zoomed]").forEach((button) => (button.disabled = !isZoomed()));
  };
  const draw = () => {
    shapes ??= collect();
    chart.classList.toggle("zoomed", isZoomed());
    for (const shape of shapes) isZoomed() ? shape.draw() : shape.restore();
    drawTicks();
    drawMoment();
    tell();
  };
  let asked = false;
  const ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };

  const look = (begins, wide) => {
    const shown = Math.min(Math.max(wide, narrowest), width);
    from = Math.min(Math.max(begins, left), right - shown);
    to = from + shown;
    ask();
  };
  const zoom = (factor, at = (from + to) / 2) => {
    const wide = Math.min(Math.max((to - from) / factor, narrowest), width);
    look(at - ((at - from) / (to - from)) * wide, wide);
  };
  const pan = (share) => look(from + share * (to - from), to - from);
  const reset = () => {
    marked = null;
    look(left, width);
  };
  const acts = {
    in: () => zoom(2),
    out: () => zoom(0.5),
    earlier: () => pan(-0.25),
    later: () => pan(0.25),
    whole: reset,
  };
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "earlier", ArrowRight: "later", 0: "whole" };
  tools.querySelectorAll("[data-act]").forEach((button) => {
    button.addEventListener("click", () => acts[button.dataset.act]());
  });
  region.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    if (event.key.startsWith("Arrow") && !isZoomed()) return;
    event.preventDefault();
    acts[keys[event.key]]();
  });

  const placeUnder = (event) =>
    new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse()).x;
  const isIn = () => region.contains(document.activeElement);
  chart.addEventListener(
    "wheel",
    (event) => {
      // The wheel scrolls the page without focus or Ctrl, and when the timeline can't be zoomed out further.
      if (!isIn() && !event.ctrlKey && !event.metaKey) return;
      const across = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const by = event.deltaX || event.deltaY;
      if (!isZoomed() && (across || event.deltaY >= 0)) return;
      event.preventDefault();
      if (across) return pan(Math.sign(by) * 0.1);
      const at = from + (Math.min(Math.max(placeUnder(event), left), right) - left) / scale();
      zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) / 300), at);
    },
    { passive: false },
  );

  let drag = null;
  chart.addEventListener("pointerdown", (event) => {
    region.focus({ preventScroll: true });
    if (event.button || !isZoomed()) return;
    drag = { at: placeUnder(event), from, moved: false };
  });
  chart.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const by = placeUnder(event) - drag.at;
    if (!drag.moved && Math.abs(by) < 3) return;
    if (!drag.moved) chart.setPointerCapture(event.pointerId);
    drag.moved = true;
    look(drag.from - by / scale(), to - from);
  });
  // A click after a drag follows no link.
  chart.addEventListener(
    "click",
    (event) => {
      if (drag?.moved) event.preventDefault();
      drag = null;
    },
    true,
  );
  for (const name of ["pointerup", "pointercancel"]) {
    chart.addEventListener(name, () => {
      const ended = drag;
      setTimeout(() => (drag = drag === ended ? null : drag));
    });
  }
  chart.addEventListener("dragstart", (event) => event.preventDefault());

  // Functions for the cursor and other scripts.
  chart.secondsUnder = (event) => secondsAt(from + (placeUnder(event) - left) / scale());
  chart.momentText = momentText;
  chart.isOverPlot = (event) => placeUnder(event) >= left && placeUnder(event) <= right;
  chart.mark = (seconds) => {
    marked = Math.min(Math.max(seconds, begin), begin + length);
    const place = placeOf(marked);
    if (place < from || place > to) look(place - (to - from) / 2, to - from);
    else ask();
  };

  // Every element with a time on the timeline becomes a button that marks it; logs may have times outside.
  const back = tools.querySelector("#timeline-back");
  const showMoment = (seconds, origin) => {
    marked = Math.min(Math.max(seconds, begin), begin + length);
    came = origin;
    back.hidden = !origin;
    const wide = (Math.max(2, length / 12) / length) * width;
    look(placeOf(marked) - Math.min(wide, to - from) / 2, Math.min(wide, to - from));
    document.querySelector("#timeline-title").scrollIntoView();
    region.focus({ preventScroll: true });
  };
  document.querySelectorAll("[data-at]").forEach((element) => {
    const seconds = Number(element.dataset.at || element.textContent.replace(/[^\d.]/g, ""));
    if (!element.textContent.trim() || !Number.isFinite(seconds)) return;
    if (seconds < begin - 0.06 || seconds > begin + length + 0.06) return;
    const button = document.createElement("button");
    const time = element.textContent;
    button.type = "button";
    button.className = "show-at";
    button.title = "Show on the timeline";
    button.setAttribute("aria-label", `${time}: show on the timeline`);
    button.append(...element.childNodes);
    if (element.closest(".where")) {
      const offer = document.createElement("span");
      offer.className = "offer";
      offer.textContent = "show on the timeline";
      button.append(offer);
    }
    button.addEventListener("click", () => showMoment(seconds, button));
    element.append(button);
  });
  back.addEventListener("click", () => {
    if (came) {
      came.scrollIntoView({ block: "center" });
      came.focus({ preventScroll: true });
    }
  });

  // Lanes by group; the others take the space of hidden lanes.
  const lanes = [...chart.querySelectorAll(".lane")];
  const tops = lanes.map((lane) => lane.transform.baseVal[0].matrix.f);
  const bottom = heightOf();
  const heights = tops.map((top, i) => (tops[i + 1] ?? bottom) - top);
  const box = chart.viewBox.baseVal;
  const below = box.height - bottom;
  const stack = (isLeftOut) => {
    let y = tops[0] ?? 0;
    lanes.forEach((lane, i) => {
      const out = isLeftOut(lane.dataset.group);
      show(lane, !out);
      if (out) return;
      lane.setAttribute("transform", `translate(0 ${number(y)})`);
      y += heights[i];
    });
    axis.setAttribute("transform", `translate(0 ${number(y)})`);
    chart.setAttribute("viewBox", `0 0 ${number(box.width)} ${number(y + below)}`);
    chart.querySelectorAll(".window").forEach((element) => element.setAttribute("height", number(y)));
    chart.querySelectorAll(":scope > .anomaly-line").forEach((line) => line.setAttribute("y2", number(y)));
    find("#cursor").firstElementChild.setAttribute("y2", number(y));
    find("#cursor").lastElementChild.setAttribute("y", number(y + 29));
    drawTicks();
    drawMoment();
  };
  const boxes = [...new Set(lanes.map((lane) => lane.dataset.group))].map((group) => {
    const label = document.createElement("label");
    const check = document.createElement("input");
    check.type = "checkbox";
    check.checked = true;
    check.value = group;
    check.addEventListener("change", () => stack(leftOut));
    label.append(check, group);
    tools.querySelector("fieldset").append(label);
    return check;
  });
  const leftOut = (group) => boxes.some((check) => check.value === group && !check.checked);

  // Print shows the whole run with all lanes.
  let screen = null;
  addEventListener("beforeprint", () => {
    screen = { from, to, marked };
    [from, to, marked] = [left, right, null];
    stack(() => false);
    if (shapes) draw();
  });
  addEventListener("afterprint", () => {
    if (!screen) return;
    ({ from, to, marked } = screen);
    stack(leftOut);
    if (shapes) draw();
  });

  tools.hidden = false;
  tell();
})();
