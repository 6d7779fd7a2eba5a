"use strict";
// Keys for moving along the rows, and filters that apply immediately; the page also works without this script.
(() => {
  const find = (selector) => document.querySelector(selector);
  const rows = [...document.querySelectorAll("a.run")];
  const typing = () => /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");

  const move = (by) => {
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[next].focus();
    rows[next].closest("tr").scrollIntoView({ block: "nearest" });
  };
  const follow = (selector) => () => find(selector)?.click();
  const search = () => {
    find("#text")?.focus();
    find("#text")?.select();
  };
  const actions = {
    "/": search,
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    t: follow("#trends"),
    r: follow("#runs"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing()) document.activeElement.blur();
    const known = Object.hasOwn(actions, event.key) && (rows.length || !event.key.startsWith("Arrow"));
    if (typing() || !known) return;
    event.preventDefault();
    actions[event.key]();
  });

  const form = find(".filters");
  form?.addEventListener("change", (event) => event.target.tagName === "SELECT" && form.requestSubmit());
  // Empty fields are left out, so that the address is shorter.
  form?.addEventListener("submit", () => {
    for (const field of form.elements) if (!field.value) field.disabled = true;
  });
  addEventListener("pageshow", () => form && [...form.elements].forEach((field) => (field.disabled = false)));
  find("#report")?.focus();
})();
