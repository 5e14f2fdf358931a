// What makes the page quicker to use; without it every link and form still works.
"use strict";
document.documentElement.classList.add("js");
const status = document.getElementById("status");
let asked = 0; // only the answer to the last question is shown
const here = () => location.pathname + location.search;
let shown = here(); // whose content is on the page

function say(words, seen = false) {
  status.textContent = words;
  status.classList.toggle("hidden", !seen);
}

// Fetch a page and put its content in place of this one's.
async function show(address, { push = true, focus = false } = {}) {
  const mine = ++asked;
  document.documentElement.classList.add("busy");
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (mine !== asked) return;
    if (answer.status === 503 && answer.headers.get("Retry-After")) {
      say("This takes a while; trying again.", true);
      const wait = 1000 * Number(answer.headers.get("Retry-After"));
      setTimeout(() => { if (mine === asked) show(address, { push, focus }); }, wait);
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    const main = page.querySelector("main");
    if (!main) { location.href = address; return; }
    const active = document.activeElement;
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    for (const part of ["footer", "link[rel=alternate]"]) {
      const [old, made] = [document.querySelector(part), page.querySelector(part)];
      if (old && made) old.replaceWith(made);
    }
    const clean = answer.ok && main.dataset.address ? main.dataset.address : address;
    if (push) history.pushState(null, "", clean);
    shown = here();
    const again = active && active.name && [...main.querySelectorAll(`[name="${CSS.escape(active.name)}"]`)]
      .find((one) => one.type !== "checkbox" || one.value === active.value);
    if (again && !focus) again.focus();
    const heading = main.querySelector("h1");
    say(heading ? heading.textContent : document.title);
    hide();
  } catch (error) {
    if (mine === asked) location.href = address;
  } finally {
    if (mine === asked) document.documentElement.classList.remove("busy");
  }
}

// Switches act at once; what is left at its standard is not in the address.
function addressOf(form) {
  const given = new URLSearchParams();
  const boxes = [...form.querySelectorAll("[name=rankers]")];
  for (const [name, value] of new FormData(form)) {
    const standard = form.querySelector(`[name="${CSS.escape(name)}"]`).dataset.standard;
    if (name !== "rankers" && value !== "" && value !== standard) given.set(name, value);
  }
  if (boxes.some((box) => !box.checked)) for (const box of boxes) if (box.checked) given.append("rankers", box.value);
  const query = given.toString();
  return form.getAttribute("action") + (query ? `?${query}` : "");
}

document.addEventListener("change", (event) => {
  const form = event.target.closest("form.switches, form.filter");
  if (event.target.id === "picture" && event.target.files.length) send(event.target.files[0]);
  else if (form && event.target.type !== "search" && event.target.reportValidity()) {
    const boxes = [...form.querySelectorAll("[name=rankers]")];
    if (boxes.length && !boxes.some((box) => box.checked)) { event.target.checked = true; say("At least one ranker is needed."); return; }
    show(addressOf(form));
  }
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.switches, form.filter");
  if (!form) return;
  event.preventDefault();
  show(addressOf(form));
});
// A link to a place on the page, such as that which skips to the content, needs nothing new.
addEventListener("popstate", () => { if (here() !== shown) show(location.href, { push: false }); });

// A picture that is chosen, pasted or dropped is sent, and what is like it shown.
async function send(file) {
  if (!document.getElementById("picture")) { say("This collection takes no pictures."); return; }
  document.documentElement.classList.add("busy");
  say("Sending the picture.");
  const form = new FormData();
  form.append("picture", file, "picture");
  try {
    const answer = await fetch("/picture.json", { method: "POST", body: form });
    const data = await answer.json();
    if (data.ok) location.href = data.address; else complain(data.error);
  } catch (error) {
    complain("The picture could not be sent.");
  } finally {
    document.documentElement.classList.remove("busy");
    document.getElementById("picture").value = "";
  }
}
function complain(words) {
  const line = document.createElement("p");
  line.className = "error";
  line.setAttribute("role", "alert");
  line.textContent = words;
  document.querySelectorAll("main > .error").forEach((old) => old.remove());
  document.querySelector("main").prepend(line);
}
document.addEventListener("paste", (event) => {
  const file = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
  if (file) { event.preventDefault(); send(file); }
});
document.addEventListener("dragover", (event) => {
  if ([...event.dataTransfer.types].includes("Files")) { event.preventDefault(); document.documentElement.classList.add("drop"); }
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.documentElement.classList.remove("drop"); });
document.addEventListener("drop", (event) => {
  document.documentElement.classList.remove("drop");
  if (event.dataTransfer.files.length) { event.preventDefault(); send(event.dataTransfer.files[0]); }
});

// Why a result is there, in short, while it is pointed at or has the focus.
const HINTED = 6; // so many of the parts in common are named
let hint = null, timer = null;
const known = new Map();
function hide() {
  clearTimeout(timer);
  if (hint) hint.remove();
  document.querySelectorAll("[aria-describedby=hint]").forEach((one) => one.removeAttribute("aria-describedby"));
  hint = null;
}
function twin(address, more) {
  const url = new URL(address, location.href);
  url.pathname += ".json";
  for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
  return url;
}
async function reason(tile) {
  const address = tile.querySelector("a.why").getAttribute("href");
  if (!known.has(address)) {
    const answer = await fetch(twin(address, { graphs: "false", parts: HINTED }));
    if (!answer.ok) return;
    if (known.size > 500) known.clear();
    known.set(address, await answer.json());
  }
  if (timer === null) return;
  draw(tile, known.get(address));
}
function line(parent, tag, ...texts) {
  const made = document.createElement(tag);
  for (const text of texts) made.append(Object.assign(document.createElement("span"), { textContent: text }));
  parent.append(made);
  return made;
}
function draw(tile, data) {
  hide();
  hint = document.createElement("div");
  hint.id = "hint";
  hint.setAttribute("role", "tooltip");
  line(hint, "b", `${data.choice.comparator.toUpperCase()} similarity ${data.similarity.toFixed(4)}`);
  const list = document.createElement("ul");
  for (const part of data.parts) line(list, "li", `${part.kind} ${part.label}`, part.contribution.toFixed(4));
  if (data.n_parts > data.parts.length) line(list, "li", `and ${data.n_parts - data.parts.length} smaller parts`, "");
  if (!data.parts.length) line(list, "li", "The graphs share no vertex.", "");
  hint.append(list);
  document.body.append(hint);
  tile.querySelector("a.hit").setAttribute("aria-describedby", "hint");
  const box = tile.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - hint.offsetWidth - 8));
  const below = box.bottom + hint.offsetHeight + 8 < innerHeight || box.top < hint.offsetHeight + 8;
  hint.style.left = `${left + scrollX}px`;
  hint.style.top = `${(below ? box.bottom + 6 : box.top - hint.offsetHeight - 6) + scrollY}px`;
}
function point(event) {
  const tile = event.target.closest && event.target.closest(".fused .tile");
  hide();
  timer = tile ? setTimeout(() => reason(tile), 250) : null;
}
document.addEventListener("focusin", point);
document.addEventListener("mouseover", point);
document.documentElement.addEventListener("mouseleave", hide);

// Keys.
function among(tiles, key) {
  const tile = document.activeElement.closest(".tile");
  const place = tiles.indexOf(tile);
  if (place < 0) return tiles[0];
  if (key === "ArrowLeft") return tiles[place - 1];
  if (key === "ArrowRight") return tiles[place + 1];
  const box = tile.getBoundingClientRect();
  const column = tiles.filter((one) => Math.abs(one.getBoundingClientRect().left - box.left) < 4);
  return column[column.indexOf(tile) + (key === "ArrowUp" ? -1 : 1)];
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
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
    const next = among(tiles, event.key);
    if (next) { event.preventDefault(); next.querySelector("a.hit").focus(); next.scrollIntoView({ block: "nearest" }); }
  }
});
document.querySelectorAll("[data-host]").forEach((one) => { one.textContent = location.host; });
