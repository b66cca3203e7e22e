// The page: data in, elements out, what is chosen, and the tabs. The contract with panels stands at the top of html.py.
const page = window.perwiz = (function () {
  const panels = {}, listeners = {}, drawn = new Set(), resizers = [];
  let base = 0, answering;
  const timeline = new Promise((done) => { answering = done; });
  const FEW = 8, LONG = 24;  // rows that need no filter, letters of a cell that paper may break anywhere
  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
  const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

  function data(id) {
    const found = document.getElementById("data-" + id);
    return found ? JSON.parse(found.textContent) : null;
  }

  async function inflated(text) {
    const letters = atob(text), raw = new Uint8Array(letters.length);
    for (let k = 0; k < raw.length; k++) raw[k] = letters.charCodeAt(k);
    return new Uint8Array(await new Response(new Response(raw).body.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
  }

  async function column(c) {
    const bytes = await inflated(c.deflated), n = c.rows, small = c.planes < 4, out = new Float64Array(n), raw = small ? new Int32Array(n) : out;
    for (let k = c.planes - 1; k >= 0; k--) {
      const at = k * n;
      if (small) for (let i = 0; i < n; i++) raw[i] = raw[i] << 8 | bytes[at + i];
      else for (let i = 0; i < n; i++) raw[i] = raw[i] * 256 + bytes[at + i];
    }
    if (c.signed && small) for (let i = 0; i < n; i++) raw[i] = raw[i] >>> 1 ^ -(raw[i] & 1);
    else if (c.signed) for (let i = 0; i < n; i++) raw[i] = raw[i] % 2 ? -(raw[i] + 1) / 2 : raw[i] / 2;
    if (c.running) for (let i = 0, sum = 0; i < n; i++) out[i] = sum += raw[i];
    else if (small) out.set(raw);
    return out;
  }

  async function columns(some) {
    const names = Object.keys(some), values = await Promise.all(names.map((name) => some[name] && column(some[name])));
    return Object.fromEntries(names.map((name, k) => [name, values[k]]));
  }

  function node(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  // An amount in the unit that fits it, four digits or more, half to even: as words.py writes it.
  function scaled(value, units) {
    let whole = Math.round(Math.abs(value));
    const digits = Math.min(String(whole).length - 4, String(units[0][0]).length - 1), step = 10 ** Math.max(0, digits), rest = whole % step;
    whole += 2 * rest > step || (2 * rest === step && (whole - rest) / step % 2) ? step - rest : -rest;
    const [unit, name] = units.find((pair) => whole >= pair[0]) || units[units.length - 1];
    const text = unit === 1 ? whole : (whole / unit).toFixed(Math.max(0, 4 - String(Math.floor(whole / unit)).length));
    return (value < 0 && whole ? "-" : "") + text + " " + name;
  }

  const time = (ns) => scaled(ns, UNITS), size = (bytes) => scaled(bytes, SIZES);

  // To the nanosecond, in groups of three digits.
  const exact = (ns) => String(Math.round(ns)).replace(/\B(?=(\d{3})+$)/g, "\u202f") + " ns";

  // Of the whole that all of the page is of, if no other is given.
  function share(part, whole = base) {
    const percent = 100 * part / whole;
    return !whole ? "-" : percent > 0 && percent < 0.05 ? "<0.1 %" : percent.toFixed(1) + " %";
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // What a cell sorts by: an amount with its unit, a share, the number of a call; else its text.
  function sortable(text) {
    const found = /^[<>]?\s*(-?[\d.]+(?:e[+-]?\d+)?)\s*(s|ms|us|ns|%|B|kB|MB|GB|TB|to .*)?\b/.exec(text.trim()), call = /^e(\d+)$/.exec(text.trim());
    if (call) return +call[1];
    if (!found) return text.trim() === "-" || !text.trim() ? -Infinity : text;
    const unit = [...UNITS, ...SIZES].find(([, name]) => name === found[2]);
    return +found[1] * (unit ? unit[0] : 1);
  }

  // A head that sorts its column, largest first and then smallest first.
  function sorting(body, head, k) {
    const go = () => {
      const down = head.getAttribute("aria-sort") !== "descending", rows = [...body.children];
      head.parentNode.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keys = new Map(rows.map((row) => [row, sortable(row.children[k].textContent)]));
      const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? 1 : -1;
      rows.sort((a, b) => order(keys.get(a), keys.get(b)) * (down ? -1 : 1));
      body.append(...rows);
    };
    head.tabIndex = 0;
    head.addEventListener("click", go);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); } });
  }

  // head: texts; rows: {cells: [text or node], go: f, title: text}; options: {left: [columns], caption: text, stacked: whether a narrow
  // screen, and paper, has the cells behind the fifth below each other}. Heads sort; what has more
  // than FEW rows has a field that filters them; a table is copied as lines of cells with tabs between.
  function table(head, rows, options) {
    const left = new Set((options || {}).left || [0]), side = (k) => left.has(k) ? "left" : "";
    const body = node("tbody", {});
    for (const row of rows) {
      const line = node("tr", row.go ? {tabindex: "0", class: "go", title: row.title} : {title: row.title});
      row.cells.forEach((cell, k) => {
        const made = node("td", {class: side(k)}, cell);
        made.classList.toggle("long", made.textContent.length > LONG);
        line.append(made);
      });
      if (row.go) {
        const go = () => {
          body.querySelectorAll("[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
          line.setAttribute("aria-current", "true");
          row.go();
        };
        line.addEventListener("click", go);
        line.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); }
          const next = {ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling}[event.key];
          if (next) { event.preventDefault(); next.focus(); }
        });
      }
      body.append(line);
    }
    const caption = (options || {}).caption, heads = node("tr", {}, ...head.map((text, k) => text ? node("th", {scope: "col", class: side(k), title: "sort"}, text) : node("td", {})));
    [...heads.children].forEach((one, k) => { if (head[k] && rows.length > 1) sorting(body, one, k); });
    const made = node("table", {class: (options || {}).stacked ? "stacked" : null}, caption || rows.length > 2 ? node("caption", {}, caption || "", tools()) : null, node("thead", {}, heads), body);
    return made;

    function tools() {
      if (rows.length < 3) return "";
      const shown = () => [...body.children].filter((row) => !row.hidden), written = (row) => [...row.children].map((cell) => cell.textContent.trim()).join("\t");
      const filter = node("input", {type: "search", class: "filter", placeholder: "filter", "aria-label": "filter the rows of this table", oninput: () => {
        const asked = filter.value.toLowerCase();
        for (const row of body.children) row.hidden = !row.textContent.toLowerCase().includes(asked);
      }});
      return node("span", {class: "tabletools"}, " ", rows.length > FEW ? filter : null, copying(() => [heads, ...shown()].map(written).join("\n")));
    }
  }

  function facts(pairs) {
    return node("dl", {}, ...pairs.flatMap(([label, text]) => [node("dt", {}, label), node("dd", {}, text)]));
  }

  // A button that copies a text.
  function copying(text, label = "copy") {
    const button = node("button", {type: "button", onclick: async () => {
      const area = node("textarea", {class: "away"}, text());
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      button.textContent = done ? "copied" : "not copied";
      setTimeout(() => { button.textContent = label; }, 1200);
    }}, label);
    return button;
  }

  function canvas(box, height, paint) {
    const picture = node("canvas", {}), context = picture.getContext("2d");
    box.append(picture);
    const again = () => {
      const ratio = window.devicePixelRatio || 1, width = box.clientWidth;
      if (!width) return;
      picture.width = Math.round(width * ratio);
      picture.height = Math.round(height * ratio);
      picture.style.width = width + "px";
      picture.style.height = height + "px";
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint(context, width, height);
    };
    new ResizeObserver(again).observe(box);
    resizers.push(again);
    return picture;
  }

  function on(name, listener) { (listeners[name] = listeners[name] || []).push(listener); }
  function tell(name, value) { (listeners[name] || []).forEach((listener) => listener(value)); }

  async function open(id) {
    for (const tab of document.querySelectorAll("#tabs [role=tab]")) {
      const mine = tab.id === "tab-" + id;
      tab.setAttribute("aria-selected", mine);
      tab.tabIndex = mine ? 0 : -1;
      document.getElementById("panel-" + tab.id.slice(4)).hidden = !mine;
    }
    await draw(id);
    resized(id);
    tell("open", id);
  }

  async function draw(id) {
    if (drawn.has(id)) return;
    drawn.add(id);
    await panels[id].draw(document.getElementById("panel-" + id), data(id));
  }

  function resized(id) { if (panels[id].resized) panels[id].resized(); }

  function headline(head) {
    document.getElementById("old").remove();
    const asked = head.asked.length > 0, answer = node("p", {class: "answer"}, node("b", {}, time(head.recorded)), " recorded" + (head.part ? " in " + head.part : ""));
    const compared = head.comparison;
    if (compared && !asked) answer.append(" \u2192 ", node("b", {}, time(compared.whole)), " re-measured, ", ...differs(compared));
    else if (head.predicted !== null) {
      const gain = head.recorded - head.predicted, told = node("b", {class: "gain"}, time(Math.abs(gain)) + " (" + share(Math.abs(gain)) + ")");
      if (!asked && head.untold) answer.append("; ", head.untold, ": ", told, " may be waiting for what is missing");
      else if (!asked && !head.by) answer.append("; no change that pays was found, there is ", told, " to gain at best");
      else answer.append(" \u2192 ", node("b", {}, time(head.predicted)), " predicted, ", gain < 0 ? "loss " : "gain ", told, asked ? "" : " " + head.by);
    }
    if (compared && asked) answer.append("; re-measured ", node("b", {}, time(compared.whole)), ", ", ...differs(compared));
    const many = (number, one, all) => number + " " + (number === 1 ? one : all);
    const told = [head.lanes, many(head.calls, head.noun, head.noun + "s"), ...(head.messages ? [many(head.messages, "message", "messages")] : []),
      "waiting " + time(head.waiting) + " in all"];
    if (head.span) told.unshift(head.span);
    told.push(...head.shares);
    const box = document.getElementById("head");
    if (head.incomplete) {
      box.append(node("p", {class: "warning", role: "status"}, node("b", {}, "INCOMPLETE trace. "),
        head.holes.length ? "What is left out or missing waits for nobody here and delays nobody: " + head.holes.join("; ") + ". " : "",
        head.repairs.length ? "Inferred, and may be otherwise: " + head.repairs.join("; ") + "." : ""));
    }
    for (const [label, doubt] of head.doubts) {
      box.append(node("p", {class: "warning", role: "status"}, node("b", {}, label ? label + ": " : ""), doubt + "."));
    }
    box.append(node("h1", {}, head.trace), answer, node("p", {class: "sub"}, told.join(" \u00b7 ")));
    if (asked) box.append(node("p", {class: "sub"}, "asked: ", node("code", {}, head.asked.join("; "))));
    box.append(facts(head.best));
    if (head.sure.length) box.append(node("details", {}, node("summary", {}, "how sure"), facts(head.sure)));
  }

  // How far a measured run is from the predicted one, or from the recorded one, and whether that may be chance.
  function differs({off, of, reference, asked, from, chance, unasked}) {
    const told = (asked ? "predicted too " + (off < 0 ? "short" : "long") : off < 0 ? "longer" : "shorter") + " by ";
    return [...(off ? [told, node("b", {}, time(Math.abs(off)) + " (" + share(Math.abs(off), of) + ")"), asked ? " of the " + reference : ""] : ["exactly as " + (asked ? "predicted" : "recorded")]),
      from === "start" ? "" : " from " + (from === "init" ? "the end of MPI_Init" : from) + " on", chance ? ", " + chance : "", unasked ? node("b", {}, "; but " + unasked) : ""];
  }

  function failed(error) {
    document.getElementById("head").prepend(node("p", {class: "warning", role: "alert"}, node("b", {}, "This page cannot be drawn here: "),
      window.DecompressionStream ? String(error) : "the browser is too old (it has no DecompressionStream)"));
    throw error;
  }

  async function start() {
    const head = data("head"), tabs = document.getElementById("tabs"), place = document.getElementById("panels");
    base = head.shares_of;
    window.perwiz.served = head.served;
    headline(head);
    const listed = head.panels.filter((panel) => panel.id !== "timeline" && panels[panel.id]);
    for (const {id, title} of listed) {
      tabs.append(node("button", {role: "tab", id: "tab-" + id, "aria-controls": "panel-" + id, onclick: () => { open(id); place.scrollIntoView({block: "nearest"}); }}, title));
      place.append(node("section", {role: "tabpanel", id: "panel-" + id, "aria-labelledby": "tab-" + id, hidden: true},
        node("h2", {class: "print"}, title)));
    }
    tabs.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      const all = [...tabs.querySelectorAll("[role=tab]")], next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
      next.focus();
      next.click();
    });
    const again = () => listed.forEach(({id}) => drawn.has(id) && resized(id)) || resizers.forEach((one) => one());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { tell("colours"); again(); });
    const whole = async () => {
      listed.forEach(({id}) => { document.getElementById("panel-" + id).hidden = false; });
      await Promise.all(listed.map(({id}) => draw(id)));
      window.print();
    };
    tabs.append(node("button", {type: "button", class: "printing", title: "draw all panels, then print", onclick: whole}, "print all"));
    // Chosen from a menu, printing shows what is drawn by then: by its keys it draws all first.
    window.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "p") { event.preventDefault(); whole(); }
    });
    const shut = [];
    window.addEventListener("beforeprint", () => {
      listed.forEach(({id}) => { document.getElementById("panel-" + id).hidden = false; draw(id); });
      shut.push(...document.querySelectorAll("details:not([open])"));
      shut.forEach((one) => { one.open = true; });
      place.classList.add("paper");
      tell("paper", true);
      again();
    });
    window.addEventListener("afterprint", () => {
      shut.splice(0).forEach((one) => { one.open = false; });
      place.classList.remove("paper");
      tell("paper", false);
      open((tabs.querySelector("[aria-selected=true]") || {id: "tab-" + listed[0].id}).id.slice(4));
    });
    const first = listed.length ? open(listed[0].id) : null;
    if (panels.timeline) await panels.timeline.draw(document.getElementById("timeline"), data("timeline"));
    await first;
    // Panels are drawn before they are opened, so that all of the page prints.
    setTimeout(() => listed.reduce((before, {id}) => before.then(() => draw(id)), Promise.resolve()), 2000);
    document.documentElement.dataset.ready = Math.round(performance.now());
    tell("ready");
  }

  return {panel: (id, one) => { panels[id] = one; }, column, columns, node, time, exact, share, size, colour, table, facts, canvas, on, tell, copying, timeline, answering: (found) => answering(found),
    open, start: () => start().catch(failed), show: (place) => tell("show", place)};
})();
