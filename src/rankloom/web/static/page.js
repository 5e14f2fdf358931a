// Makes the page quicker to use; every link and form works without it.
"use strict";
document.documentElement.classList.add("js");
const status = document.getElementById("status");
let latest = 0; // number of the latest request: only its response is shown
const current = () => location.pathname + location.search;
let shown = current(); // URL of the content on the page

function announce(text, visible = false) {
  status.textContent = text;
  status.classList.toggle("hidden", !visible);
}

// Fetch a page and replace the content of this one with it.
async function show(url, { push = true, focus = false } = {}) {
  const request = ++latest;
  document.documentElement.classList.add("busy");
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" } });
    if (request !== latest) return;
    if (response.status === 503 && response.headers.get("Retry-After")) {
      announce("This takes a while; trying again.", true);
      const delay = 1000 * Number(response.headers.get("Retry-After"));
      setTimeout(() => { if (request === latest) show(url, { push, focus }); }, delay);
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (request !== latest) return;
    const main = page.querySelector("main");
    if (!main) { location.href = url; return; }
    const active = document.activeElement;
    const [before, after] = [document.querySelector(".options"), main.querySelector(".options")];
    if (before && after) after.open = before.open;
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    for (const selector of ["footer", "link[rel=alternate]"]) {
      const [before, after] = [document.querySelector(selector), page.querySelector(selector)];
      if (before && after) before.replaceWith(after);
    }
    const clean = response.ok && main.dataset.url ? main.dataset.url : url;
    if (push) history.pushState(null, "", clean);
    shown = current();
    const same = active && active.name && [...main.querySelectorAll(`[name="${CSS.escape(active.name)}"]`)]
      .find((one) => one.type !== "checkbox" || one.value === active.value);
    if (same && !focus) same.focus();
    const heading = main.querySelector("h1");
    announce(heading ? heading.textContent : document.title);
    hideHint();
  } catch (error) {
    if (request === latest) location.href = url;
  } finally {
    if (request === latest) document.documentElement.classList.remove("busy");
  }
}

// Controls take effect at once; default values are left out of the URL.
function urlOf(form) {
  const given = new URLSearchParams();
  const boxes = [...form.querySelectorAll("[type=checkbox]")];
  const entries = new FormData(form);
  for (const [name, value] of entries) {
    const byDefault = form.querySelector(`[name="${CSS.escape(name)}"]`).dataset.default;
    if (name !== "rankers" && value !== "" && value !== byDefault) given.set(name, value);
  }
  if (boxes.some((box) => !box.checked)) for (const name of entries.getAll("rankers")) given.append("rankers", name);
  const query = given.toString();
  return form.getAttribute("action") + (query ? `?${query}` : "");
}

document.addEventListener("change", (event) => {
  const form = event.target.closest("form.controls, form.filter");
  if (event.target.id === "image" && event.target.files.length) upload(event.target.files[0]);
  else if (form && event.target.type !== "search" && event.target.reportValidity()) {
    const boxes = [...form.querySelectorAll("[type=checkbox]")];
    if (boxes.length && !boxes.some((box) => box.checked)) { event.target.checked = true; announce("Choose at least one ranker."); return; }
    show(urlOf(form));
  }
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.controls, form.filter");
  if (!form) return;
  event.preventDefault();
  show(urlOf(form));
});
// Links within the page, such as "Skip to content", need no new content.
addEventListener("popstate", () => { if (current() !== shown) show(location.href, { push: false }); });

// Upload an image that was chosen, pasted or dropped, and show the results.
async function upload(file) {
  const input = document.getElementById("image");
  if (!input) { announce("This collection does not accept images."); return; }
  document.documentElement.classList.add("busy");
  announce("Uploading the image.");
  const form = new FormData();
  form.append("image", file, "image");
  try {
    const response = await fetch("/upload.json", { method: "POST", body: form });
    const data = await response.json();
    if (data.ok) location.href = data.url; else showError(data.error);
  } catch (error) {
    showError("The image could not be uploaded.");
  } finally {
    document.documentElement.classList.remove("busy");
    input.value = "";
  }
}
function showError(text) {
  const line = document.createElement("p");
  line.className = "error";
  line.setAttribute("role", "alert");
  line.textContent = text;
  document.querySelectorAll("main > .error").forEach((old) => old.remove());
  document.querySelector("main").prepend(line);
}
document.addEventListener("paste", (event) => {
  const file = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
  if (file) { event.preventDefault(); upload(file); }
});
document.addEventListener("dragover", (event) => {
  if ([...event.dataTransfer.types].includes("Files")) { event.preventDefault(); document.documentElement.classList.add("drop"); }
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.documentElement.classList.remove("drop"); });
document.addEventListener("drop", (event) => {
  document.documentElement.classList.remove("drop");
  if (event.dataTransfer.files.length) { event.preventDefault(); upload(event.dataTransfer.files[0]); }
});

// A short explanation of the result under the pointer or with the focus.
const MAX_HINT_PARTS = 6;
let hint = null, timer = null;
const explanations = new Map(); // by URL
function hideHint() {
  clearTimeout(timer);
  if (hint) hint.remove();
  document.querySelectorAll("[aria-describedby=hint]").forEach((one) => one.removeAttribute("aria-describedby"));
  hint = null;
}
function jsonUrl(href, parameters) {
  const url = new URL(href, location.href);
  url.pathname += ".json";
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}
async function explain(tile) {
  const url = tile.querySelector("a.why").getAttribute("href");
  if (!explanations.has(url)) {
    const response = await fetch(jsonUrl(url, { graphs: "false", parts: MAX_HINT_PARTS }));
    if (!response.ok) return;
    if (explanations.size > 500) explanations.clear();
    explanations.set(url, await response.json());
  }
  if (timer === null) return;
  showHint(tile, explanations.get(url));
}
function addLine(parent, tag, ...texts) {
  const line = document.createElement(tag);
  for (const text of texts) line.append(Object.assign(document.createElement("span"), { textContent: text }));
  parent.append(line);
}
function showHint(tile, data) {
  hideHint();
  hint = document.createElement("div");
  hint.id = "hint";
  hint.setAttribute("role", "tooltip");
  // Parts of the score, if the method has any; else what the fusion graphs have in common.
  const { parts, n_parts } = data.explanation || data;
  if (data.explanation) addLine(hint, "b", `${data.method} score ${data.explanation.score.toFixed(4)}`);
  else addLine(hint, "b", `${data.choice.comparator.toUpperCase()} similarity ${data.similarity.toFixed(4)}`);
  const list = document.createElement("ul");
  for (const part of parts) addLine(list, "li", part.label + (part.ranker && part.kind !== "vote" ? ` (${part.ranker})` : ""), part.contribution.toFixed(4));
  if (n_parts > parts.length) addLine(list, "li", `and ${n_parts - parts.length} smaller ones`, "");
  if (!parts.length) addLine(list, "li", data.explanation ? "Nothing in common." : "The graphs share no vertex.", "");
  hint.append(list);
  document.body.append(hint);
  tile.querySelector("a.hit").setAttribute("aria-describedby", "hint");
  const box = tile.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - hint.offsetWidth - 8));
  const below = box.bottom + hint.offsetHeight + 8 < innerHeight || box.top < hint.offsetHeight + 8;
  hint.style.left = `${left + scrollX}px`;
  hint.style.top = `${(below ? box.bottom + 6 : box.top - hint.offsetHeight - 6) + scrollY}px`;
}
function schedule(event) {
  const tile = event.target.closest && event.target.closest(".fused .tile");
  hideHint();
  timer = tile ? setTimeout(() => explain(tile), 250) : null;
}
document.addEventListener("focusin", schedule);
document.addEventListener("mouseover", schedule);
document.documentElement.addEventListener("mouseleave", hideHint);

// Keyboard shortcuts.
function neighbor(tiles, key) {
  const tile = document.activeElement.closest(".tile");
  const index = tiles.indexOf(tile);
  if (index < 0) return tiles[0];
  if (key === "ArrowLeft") return tiles[index - 1];
  if (key === "ArrowRight") return tiles[index + 1];
  const box = tile.getBoundingClientRect();
  const column = tiles.filter((one) => Math.abs(one.getBoundingClientRect().left - box.left) < 4);
  return column[column.indexOf(tile) + (key === "ArrowUp" ? -1 : 1)];
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideHint();
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (document.querySelector("dialog[open]")) return;
  const search = document.getElementById("q");
  if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
  else if (event.key === "?") document.getElementById("keys").showModal();
  else if (event.key === "w") {
    const link = document.activeElement.closest(".tile") && document.activeElement.closest(".tile").querySelector("a.why");
    if (link) link.click();
  } else if (event.key.startsWith("Arrow")) {
    const inside = document.activeElement.closest(".tile");
    const tiles = [...document.querySelectorAll(".tiles .tile")];
    if (!tiles.length || (!inside && event.key !== "ArrowRight" && event.key !== "ArrowDown")) return;
    if (!inside && document.activeElement !== document.body && !document.activeElement.matches("main")) return;
    const next = neighbor(tiles, event.key);
    if (next) { event.preventDefault(); next.querySelector("a.hit").focus(); next.scrollIntoView({ block: "nearest" }); }
  }
});
document.querySelectorAll("[data-host]").forEach((one) => { one.textContent = location.host; });
