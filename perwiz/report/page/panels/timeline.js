// The timeline: two panes over one axis of time, moved by wheel, drag and keys; what is chosen is told in words beside them.
page.panel("timeline", {async draw(box, doc) {
  const node = page.node, time = page.time, data = await tlLoad(doc), unit = data.unit, lines = data.timelines;
  let whole = Math.max(1, ...lines.map((one) => Math.max(one.span, one.makespan / unit)));
  const layers = {messages: true, functions: true, steps: true, critical: false, domino: true};
  const view = {data, from: data.origin / unit, to: whole, top: 0, gutter: 92, ratio: 1, layers, ink: null, chosen: null, current: null, lane: 0};
  const closed = new Map(data.runs.map((run) => [run, new Set()])), places = new Map(data.runs.map((run) => [run, tlPlaces(run)]));
  for (const run of data.runs) if (run.doc.processes.length > 64) closeAll(run, true);
  const panes = [pane(0), pane(1)];
  const before = [];
  let due = 0, moved = -1e9;
  view.gutter = gutter();

  // Room for the longest name of a row, and some for what stands beside it.
  function gutter() {
    const {context} = panes[0];
    context.font = TL_FONT;
    const named = (kid, depth) => context.measureText((kid.kids ? "\u25b8 " : "") + kid.label).width + 8 * depth;
    const wide = (at, depth) => at.kids.reduce((most, kid) => Math.max(most, named(kid, depth), kid.kids ? wide(kid, depth + 1) : 0), 0);
    return Math.min(150, Math.max(92, ...data.runs.map((run) => Math.ceil(wide(places.get(run), 0)) + 12)));
  }

  function closeAll(run, yes) {
    const set = closed.get(run), walk = (at) => at.kids.forEach((kid) => { if (kid.kids) { if (yes) set.add(kid.key); walk(kid); } });
    set.clear();
    walk(places.get(run));
  }

  // A pane: a choice of timelines, and a canvas.
  function pane(number) {
    const choice = node("select", {"aria-label": "timeline of pane " + (number + 1)});
    if (number) choice.append(node("option", {value: "-1"}, "(no second timeline)"));
    lines.forEach((one, k) => choice.append(node("option", {value: k}, one.name)));
    const note = node("span", {class: "quiet"}), name = node("b", {class: "print", "aria-hidden": "true"}), canvas = node("canvas", {tabindex: "0", role: "application"});
    const made = {canvas, note, name, context: canvas.getContext("2d"), choice, seen: [], timeline: null, rowOf: new Map()};
    made.box = node("div", {class: "pane"}, node("div", {class: "bar"}, choice, name, note), node("div", {class: "area"}, canvas));
    choice.addEventListener("change", () => { set(made, +choice.value); again(); tl.remember(); });
    return made;
  }

  function set(one, index) {
    one.choice.value = index;
    one.timeline = index < 0 ? null : lines[index];
    one.box.classList.toggle("none", index < 0);
    one.name.textContent = index < 0 ? "" : one.timeline.name;
    one.note.textContent = index < 0 ? "" : time(one.timeline.makespan) + differs(one.timeline) + (one.timeline.wait ? "" : "; waits are not computed for it");
    one.canvas.setAttribute("aria-label", index < 0 ? "" : "Timeline " + one.timeline.name + ": " + one.note.textContent +
      ". Arrow keys pan and choose a row, plus and minus zoom, n and p go from call to call; the chosen call is told in words beside it.");
  }

  function differs(one) {
    const gain = lines[0].makespan - one.makespan;
    if (one === lines[0]) return "";
    const part = one.run === lines[0].run ? " (" + page.share(Math.abs(gain)) + ")" : " from the first instant to the last";
    return gain ? ", " + time(Math.abs(gain)) + (gain > 0 ? " shorter" : " longer") + part : ", equally long";
  }

  const tip = node("div", {id: "tip", hidden: true}), detail = node("aside", {id: "detail", "aria-live": "polite"});
  const button = (label, title, action) => node("button", {type: "button", title, "aria-label": title, onclick: action}, label);
  const tl = {view, data, lines, panes, tip, button, set, show, choose, bound, zoom, pan, again, step, groups, toggle, back, select, profile, get whole() { return whole; }};
  tl.search = tlSearch(tl);
  tl.map = tlMap(tl);
  Object.assign(tl, tlTeller(tl), tlLink(tl));
  // A timeline that a panel makes of the first run: a copy of the recorded one, to be written over.
  const copy = (name) => tlCopy(lines[0], name);
  const add = (one) => {
    const index = lines.push(one) - 1;
    panes.forEach((some) => some.choice.append(node("option", {value: index}, one.name)));
    set(panes[1], index);
    return one;
  };
  const changed = (one, name) => {
    one.name = name;
    one.levels.clear();
    const index = lines.indexOf(one);
    for (const some of panes) {
      some.choice.querySelector(`[value="${index}"]`).textContent = name;
      if (some.timeline === one) set(some, index);
    }
    whole = Math.max(whole, one.span, one.makespan / unit);
    const mine = panes.filter((some) => some.timeline === one);
    if (one.painted && view.ink && !due) mine.forEach((some) => tlPaint(some, view)); else paint();
    one.painted = mine.length > 0 && panes.every((some) => some.timeline !== one || some.canvas.width > 0);
    clearTimeout(one.later);
    one.later = setTimeout(tlIdle, 400, one, tlJobs(tlPlaces(one.run)), one.version = {});
  };
  const help = () => detail.replaceChildren(node("h2", {}, "Mouse and keys"), page.facts([["wheel", "zoom at the pointer"], ["shift + wheel", "pan"],
    ["alt + wheel", "other rows"], ["drag", "pan"], ["click", "choose a call, open or close a group"], ["\u2190 \u2192", "pan"], ["\u2191 \u2193", "other row"],
    ["+ \u2212 0", "zoom in, out, all"], ["n p", "next call, call before"], ["z", "zoom to the call"], ["Enter g", "open or close a group, all groups"],
    ["[ ]", "thinner, thicker rows"], ["shift + drag", "a range of time: its profile"], ["v", "profile of what is seen"], ["Backspace", "what was seen before"], ["/", "search"], ["Esc", "choose nothing"]]));
  const regions = data.runs.some((run) => run.bands.path.length), steps = data.runs.some((run) => run.parallel.some(Boolean));
  const sends = data.runs.some((run) => run.messages.send.length), links = sends || data.runs.some((run) => run.links) ? [["messages", sends ? "messages" : "links"]] : [];
  const toggles = [...links, ...(regions ? [["functions", "functions"]] : []), ...(steps ? [["steps", "parallel steps"]] : []), ["critical", "critical path"],
    ...(data.path.length ? [["domino", "domino path"]] : [])].map(([name, text]) => {
      const input = node("input", {type: "checkbox", onchange: () => { layers[name] = input.checked; again(); }});
      input.checked = layers[name];
      return node("label", {}, input, text);
    });
  const used = new Set(data.runs.flatMap((run) => run.doc.op_groups));
  const legend = node("ul", {class: "legend"}, node("li", {}, node("i", {class: "wait"}), "waiting"),
    ...data.groups.map((name, k) => used.has(k) ? node("li", {}, node("i", {class: TL_COLOURS[k]}), name) : null).filter(Boolean),
    node("li", {}, node("i", {class: "idle"}), "computation"));
  box.append(node("div", {class: "tools"}, tl.search.box, button("\u2212", "zoom out (-)", () => zoom(2)), button("+", "zoom in (+)", () => zoom(0.5)),
    button("back", "what was seen before (Backspace)", () => tl.back()), button("profile", "what the time in sight, or in the range chosen with shift and drag, goes to (v)", () => tl.profile()), button("all", "show all of the timeline (0)", () => show({from: 0, to: whole * unit})),
    data.runs.some((run) => places.get(run).kids.some((kid) => kid.kids)) ?
      button("groups", "close or open all groups (g)", groups) : null,
    data.runs.some((run) => new Set(run.doc.processes).size > 8) ? button("alike", "group processes that behave alike, or as they are placed", alike) : null, ...toggles, button("?", "mouse and keys", help)),
    tl.map.canvas, node("div", {class: "stage"}, node("div", {class: "panes"}, panes[0].box, panes[1].box), detail), node("div", {class: "foot"}, legend,
      node("span", {class: "quiet"}, tlLeft(data))), tip);
  panes.forEach((one, k) => set(one, doc.panes[k]));

  function groups() {
    const any = [...closed.values()].some((set) => set.size);
    data.runs.forEach((run) => closeAll(run, !any));
    view.top = 0;
    again();
  }

  // Groups of processes that behave alike, or again those of their places.
  function alike() {
    const yes = !view.alike;
    view.alike = yes;
    for (const run of data.runs) {
      const line = lines.find((some) => some.run === run), top = tlPlaces(run, yes ? tlAlike(line, run === data.runs[0] ? data.origin / unit : 0) : undefined);
      places.set(run, top);
      closeAll(run, true);
      for (const some of lines) if (some.run === run) setTimeout(tlIdle, 50, some, tlJobs(top).filter(({key}) => !some.levels.has(key)), some.version);
    }
    view.top = 0;
    view.gutter = gutter();
    again();
  }

  // As wide as paper, and as high as the rows need: painted at once, for what is printed is what is there.
  function paper(yes) {
    view.paper = yes;
    box.classList.toggle("paper", yes);
    for (const one of panes) {
      const rows = one.timeline ? one.layout.rows : [], lanes = rows.filter((row) => row.kind !== "open").length, stacked = rows.some((row) => row.bar < row.height);
      const needs = TL_AXIS + 4 + TL_HEAD * (rows.length - lanes) + lanes * Math.max(5, Math.min(stacked ? 44 : 18, 200 / lanes));
      one.canvas.parentNode.style.flex = yes && lanes ? "none" : "";
      one.canvas.parentNode.style.height = yes && lanes ? Math.ceil(needs) + "px" : "";
    }
    paint();
  }

  // Taller than its share where else ranks, or the outer functions, would be out of sight; some of the panels stay in it.
  function grow() {
    const shown = panes.filter((one) => one.timeline), whole = box.parentNode.clientHeight, now = box.clientHeight, lies = getComputedStyle(box).resize === "vertical";
    const lack = Math.max(...shown.map(({timeline: {run}, canvas}) => {
      const stack = stacked(run), {height} = tlRows(places.get(run), closed.get(run), stack ? 20 + 2 * TL_STRIP : 2, stack);
      return Math.min(height, 240) + TL_AXIS + 4 - canvas.clientHeight;
    }));
    const stand = shown[0].box.parentNode;
    if (!lies && lack > 0) stand.style.height = stand.clientHeight + shown.length * lack + "px";
    if (!lies) return;
    const tall = Math.min(whole - 150, now + shown.length * lack);
    if (tall > now) box.style.height = 100 * tall / whole + "%";
  }

  const stacked = (run) => layers.functions && run.bands.path.length > 0;

  function layout(one) {
    const top = places.get(one.timeline.run), shut = closed.get(one.timeline.run), room = one.canvas.clientHeight - TL_AXIS - 4;
    const {run} = one.timeline, stack = stacked(run), deepest = stack ? Math.min(5, Math.max(...run.depth) + 1) : 0;
    const {rows} = tlRows(top, shut, 1), count = rows.filter((row) => row.kind !== "open").length, heads = TL_HEAD * (rows.length - count);
    const plain = stack ? rows.filter((row) => row.plain).length : 0, free = room - Math.min(heads, room / 3), each = free / Math.max(1, count);
    const most = each > TL_PLAIN ? (free - TL_PLAIN * plain) / Math.max(1, count - plain) : each;
    const fit = Math.max(2, Math.min(stack ? 20 + TL_STRIP * Math.max(2, deepest) : 36, Math.floor(most)));
    one.layout = tlRows(top, shut, view.lane || fit, stack);
  }

  function again() {
    if (!due) due = requestAnimationFrame(paint);
  }

  function paint() {
    due = 0;
    const began = performance.now(), ratio = Math.max(window.devicePixelRatio || 1, view.paper ? 2 : 1);
    view.ratio = ratio;
    view.ink = view.ink || tlInk();
    const shown = panes.filter((one) => one.timeline);
    for (const one of shown) {
      const area = one.canvas.parentNode, width = Math.round(area.clientWidth * ratio), height = Math.round(area.clientHeight * ratio);
      if (one.canvas.width !== width || one.canvas.height !== height) { one.canvas.width = width; one.canvas.height = height; }
      layout(one);
    }
    const most = Math.max(...shown.map((one) => one.layout.height - one.canvas.clientHeight + TL_AXIS + 4));
    view.top = Math.max(0, Math.min(view.top, most));
    shown.forEach((one) => tlPaint(one, view));
    tl.map.paint();
    box.dataset.paint = (performance.now() - began).toFixed(1);
  }

  view.rows = () => panes[0].layout.rows;
  view.callIn = (timeline) => {
    const {chosen} = view;
    if (!chosen) return -1;
    const run = data.runs.indexOf(timeline.run);
    if (chosen.run === run) return chosen.call;
    const first = chosen.run ? data.twins[chosen.run].from[chosen.call] : chosen.call;
    return first < 0 || !run ? first : data.twins[run].to[first];
  };

  function bound(from, to) {
    keep();
    const span = Math.max(Math.min(20, whole), Math.min(to - from, whole * 1.02)), middle = (from + to) / 2;
    view.from = Math.max(-0.01 * whole, Math.min(middle - span / 2, whole * 1.01 - span));
    view.to = view.from + span;
    again();
    tl.remember();
  }

  // What was seen before: kept where nothing moved for a while.
  function keep() {
    const now = performance.now();
    if (now - moved > 500) before.push([view.from, view.to]);
    if (before.length > 100) before.shift();
    moved = now;
  }

  function back() {
    const last = before.pop();
    moved = performance.now();
    if (last) bound(...last);
  }

  // A range of time, chosen by dragging with shift; its profile is told beside.
  function select(a, b) {
    view.range = a === null ? null : [Math.min(a, b), Math.max(a, b)];
    if (a === null) page.tell("select", view.chosen);
    again();
  }

  function profile() { detail.replaceChildren(...tlProfile(tl, panes[0].timeline, view.range || [Math.max(0, view.from), view.to])); }

  function zoom(factor, at) {
    const middle = at === undefined ? (view.from + view.to) / 2 : at;
    bound(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
  }

  function pan(part) { const by = part * (view.to - view.from); bound(view.from + by, view.to + by); }

  // place: {timeline, call: row of calls, from, to in ns, run, location}
  function show(place) {
    if (place.timeline !== undefined) set(panes[0], place.timeline);
    if (place.other !== undefined) set(panes[1], lines.indexOf(lines.filter((one) => one.run === data.runs[0] && !one.copied).at(place.other)));
    const run = place.run || 0;
    if (place.call !== undefined && place.call >= 0) {
      const line = (panes.find((one) => one.timeline && one.timeline.run === data.runs[run]) || panes[0]).timeline;
      choose({run, call: place.call});
      if (line.run !== data.runs[run]) return;
      const slot = line.at(place.call), length = line.leave[slot] - line.enter[slot], middle = (line.enter[slot] + line.leave[slot]) / 2;
      const span = Math.max(length * 6, Math.min(whole, 40 * line.span / Math.max(40, line.run.count / line.begin.length)));
      bound(middle - span / 2, middle + span / 2);
      reveal(line.run, line.run.location[place.call]);
    } else if (place.from !== undefined) bound(place.from / unit, place.to / unit);
    if (place.location !== undefined) reveal(data.runs[run], place.location);
  }

  function reveal(run, location) {
    const shut = closed.get(run), path = [];
    const walk = (at) => at.kids.some((kid) => (kid.place === location || (kid.kids && walk(kid))) && path.push(kid));
    walk(places.get(run));
    path.forEach((kid) => shut.delete(kid.key));
    const one = panes.find((some) => some.timeline && some.timeline.run === run);
    if (!one) return;
    layout(one);
    const row = one.layout.rows.find((some) => some.place === location), room = one.canvas.clientHeight - TL_AXIS;
    if (row && (row.y < view.top || row.y + row.height > view.top + room)) view.top = Math.max(0, row.y - room / 2);
    if (row) view.current = row.key;
    again();
  }

  function choose(value) {
    page.tell("select", value && {...value, id: data.runs[value.run].id ? data.runs[value.run].id[value.call] : value.call});
  }

  page.on("select", (value) => {
    view.chosen = value;
    detail.replaceChildren(...(value ? tl.told(value) : [node("p", {class: "quiet"}, "Choose a call: click it, search for it, or press n.")]));
    again();
    tl.remember();
  });
  page.on("show", (place) => { show(place.call === undefined ? place : {...place, call: data.runs[place.run || 0].ofId(place.call)}); });
  page.on("paper", paper);
  page.on("colours", () => { view.ink = null; again(); });

  function step(by) {
    const run = view.chosen ? view.chosen.run : 0, line = panes.map((one) => one.timeline).find((one) => one && one.run === data.runs[run]) || lines[0];
    if (!view.chosen) {
      const row = panes[0].layout.rows.find((one) => one.key === view.current && one.kind === "lane");
      const place = row ? row.place : (panes[0].seen.find((one) => one.kind === "lane") || {place: 0}).place;
      const slot = tlAfter(line.leave, line.run.first[place], line.run.first[place + 1], view.from);
      if (slot < line.run.first[place + 1]) choose({run, call: line.row(slot)});
      return;
    }
    const place = line.run.location[view.chosen.call], slot = line.at(view.chosen.call) + by;
    if (slot < line.run.first[place] || slot >= line.run.first[place + 1]) return;
    const call = line.row(slot);
    choose({run, call});
    if (line.enter[slot] < view.from || line.leave[slot] > view.to) {
      const half = (view.to - view.from) / 2, middle = (line.enter[slot] + line.leave[slot]) / 2;
      bound(middle - half, middle + half);
    }
  }

  function toggle(one, row) {
    const shut = closed.get(one.timeline.run);
    if (row.kind === "lane") return;
    if (shut.has(row.key)) shut.delete(row.key); else shut.add(row.key);
    again();
  }

  panes.forEach((one) => tlListen(one, tl));
  const observer = new ResizeObserver(again);
  panes.forEach((one) => observer.observe(one.canvas.parentNode));
  window.addEventListener("hashchange", tl.recall);
  // A key that nothing else takes: a panel with the focus takes those that scroll it.
  const free = ({target, key}) => target === document.body || (target.role === "tabpanel" && !/^(Arrow|Page|Home|End| )/.test(key));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); tl.search.focus(); }
    else if (free(event) && !event.defaultPrevented) panes[0].press(event);
  });
  page.view = view;
  // The timeline that a server answers, in place of a copy.
  const replace = async (one, doc, name) => {
    const fresh = tlTimeline(doc, await tlColumns(doc), data.runs[0], lines);
    for (const key of ["enter", "leave", "wait", "partner", "begin", "end", "bands", "span", "makespan", "order", "slot"]) one[key] = fresh[key];
    fresh.version = {};
    changed(one, name);
  };
  page.answering({unit, run: data.runs[0], line: lines[0], copy, add, changed, replace});
  page.tell("select", null);
  tl.recall();
  grow();
  paint();
}});
