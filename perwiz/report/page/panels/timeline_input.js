// The innermost region under a point of a lane, or of the stack below its calls that at its depth, as its row of bands, or -1.
function tlBandAt({run, bands}, {row, moment, gutter, y}, top) {
  if (!row || row.kind !== "lane" || gutter) return -1;
  const {location, path} = run.bands, strip = row.bar < row.height ? Math.floor((y - TL_AXIS + top - row.y - row.bar) / TL_STRIP) : -1;
  let best = -1;
  for (let k = 0; k < location.length; k++) {
    if (location[k] !== row.place || bands.enter[k] > moment || moment > bands.enter[k] + bands.length[k]) continue;
    const depth = run.depth[path[k]];
    if (strip >= 0 ? depth === strip : best < 0 || depth >= run.depth[path[best]]) best = k;
  }
  return best;
}

// What is computed under a point of a lane where no call is: the region, and from which call to which.
function tlComputes(tl, timeline, {row, moment}, band) {
  const {run, bands} = timeline, {node} = page, {exactly} = tl, place = row.place, first = run.first[place], end = run.first[place + 1];
  if (band >= 0 && run.isStream(place)) {
    return [node("b", {}, run.regions[run.bands.path[band]]), page.facts([["stream", run.rank(place)], ["instance", run.bands.instance[band]],
      ["begins", exactly(bands.enter[band])], ["lasts", exactly(bands.length[band])]])];
  }
  const next = tlAfter(timeline.enter, first, end, moment), from = next > first ? timeline.leave[next - 1] : timeline.begin[place], to = next < end ? timeline.enter[next] : timeline.end[place];
  const call = (slot) => run.label(timeline.row(slot)) + " " + run.doc.ops[run.op[timeline.row(slot)]];
  return [node("b", {}, band >= 0 ? run.regions[run.bands.path[band]] : "computation"), page.facts([["rank", run.rank(place)],
    ...(band >= 0 ? [["instance", run.bands.instance[band]], ["begins", exactly(bands.enter[band])], ["lasts", exactly(bands.length[band])]] : []),
    ["computes", (next > first ? "from the return of " + call(next - 1) : "from the start") + (next < end ? " to " + call(next) : " to the end")], ["for", exactly(to - from)]])];
}

// Mouse and keys of a pane.
function tlListen(one, tl) {
  const {canvas} = one, {node} = page, {view, data, tip} = tl;

  // What lies under a point of a pane: the row, the moment, and the call if there is one within three dots.
  function under(event) {
    const area = one.canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
    const row = y < TL_AXIS ? null : one.layout.rows.find((some) => y - TL_AXIS + view.top >= some.y && y - TL_AXIS + view.top < some.y + some.height);
    const per = (view.to - view.from) / (area.width - view.gutter), moment = view.from + (x - view.gutter) * per;
    const found = {row, moment, gutter: x < view.gutter, call: -1, x, y};
    if (!row || row.kind !== "lane" || found.gutter) return found;
    const {timeline} = one, {run} = timeline, from = run.first[row.place], end = run.first[row.place + 1];
    const slot = tlAfter(timeline.leave, from, end, moment - 1e-9);
    let best = 3 * per;
    for (const k of [slot - 1, slot, slot + 1]) {
      if (k < from || k >= end) continue;
      const far = Math.max(0, timeline.enter[k] - moment, moment - timeline.leave[k]);
      if (far < best) { best = far; found.call = timeline.row(k); }
    }
    return found;
  }

  function hover(event) {
    const at = under(event), run = data.runs.indexOf(one.timeline.run);
    one.canvas.style.cursor = at.call >= 0 || (at.row && at.row.kind !== "lane" && at.gutter) ? "pointer" : "default";
    const tables = data.runs[run], {timeline} = one, lane = at.row && at.row.kind === "lane" && !at.gutter, stacked = lane && at.y - TL_AXIS + view.top > at.row.y + at.row.bar;
    const alive = lane && at.moment >= timeline.begin[at.row.place] && at.moment <= timeline.end[at.row.place];
    const call = stacked ? -1 : at.call, band = call < 0 && alive ? tlBandAt(timeline, at, view.top) : -1;
    const computes = call < 0 && alive && (band >= 0 || !(timeline.run.isStream(at.row.place) || stacked));
    tip.hidden = call < 0 && !computes && !(at.row && at.row.kind === "closed");
    if (tip.hidden) return;
    tip.replaceChildren(...(call >= 0
      ? [node("b", {}, tables.label(call) + " " + tables.doc.ops[tables.op[call]]), page.facts(tl.facts(run, call, timeline, false))]
      : computes ? tlComputes(tl, timeline, at, band)
      : [node("b", {}, at.row.label), " " + at.row.members.length + (tables.doc.threads ? " lanes" : " processes") + "; click the name to open"]));
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
    tip.style.top = (event.clientY + 18 + height > innerHeight ? Math.max(4, event.clientY - height - 12) : event.clientY + 18) + "px";
  }

  const fingers = new Map();
  let drag = null;

  // Of two fingers: how far they are apart, how far right between them is in what is seen (0 to 1), and the moment there.
  function pinched() {
    const [a, b] = fingers.values(), area = canvas.getBoundingClientRect(), span = view.to - view.from;
    const at = ((a + b) / 2 - area.left - view.gutter) / (area.width - view.gutter);
    return {apart: Math.max(10, Math.abs(a - b)), at, span, moment: view.from + at * span};
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const scale = event.deltaMode === 1 ? 16 : 1, at = under(event);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) tl.pan((event.deltaX || event.deltaY) * scale / canvas.clientWidth);
    else if (event.altKey || at.gutter) { view.top += event.deltaY * scale; tl.again(); }
    else tl.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * scale / 300))), Math.max(view.from, at.moment));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event.clientX);
    drag = {x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top, moved: false, range: event.shiftKey ? under(event).moment : null};
    if (fingers.size === 2) drag.pinch = pinched();
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
    if (drag.pinch && fingers.size === 2) {
      const {apart, at} = pinched(), {pinch} = drag, span = pinch.span * pinch.apart / apart;
      drag.moved = true;
      return tl.bound(pinch.moment - at * span, pinch.moment + (1 - at) * span);
    }
    if (drag.range !== null) {
      drag.moved = true;
      return tl.select(drag.range, Math.max(view.from, under(event).moment));
    }
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (Math.hypot(dx, dy) > 3) drag.moved = true;
    if (!drag.moved) return;
    tip.hidden = true;
    view.top = drag.top - dy;
    const by = -dx * (drag.to - drag.from) / (canvas.clientWidth - view.gutter);
    tl.bound(drag.from + by, drag.to + by);
  });
  canvas.addEventListener("pointerup", (event) => {
    const click = drag && !drag.moved, ranged = drag && drag.range !== null && drag.moved;
    fingers.delete(event.pointerId);
    drag = null;
    if (ranged) tl.profile();
    tip.hidden = true;
    if (!click) return;
    const at = under(event), run = data.runs.indexOf(one.timeline.run);
    if (at.row) view.current = at.row.key;
    if (at.call >= 0) tl.choose({run, call: at.call});
    else if (at.row && at.gutter) tl.toggle(one, at.row);
    tl.again();
  });
  canvas.addEventListener("pointercancel", (event) => { fingers.delete(event.pointerId); drag = null; });
  canvas.addEventListener("dblclick", (event) => { const at = under(event); tl.zoom(0.25, at.moment); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("keydown", press);
  one.press = press;
  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = one.layout.rows, at = Math.max(0, rows.findIndex((row) => row.key === view.current));
    const move = (by) => {
      const row = rows[Math.max(0, Math.min(rows.length - 1, view.current === null ? 0 : at + by))], room = canvas.clientHeight - TL_AXIS;
      view.current = row.key;
      if (row.y < view.top) view.top = row.y;
      if (row.y + row.height > view.top + room) view.top = row.y + row.height - room;
      tl.again();
    };
    const keys = {
      ArrowLeft: () => tl.pan(-0.15), ArrowRight: () => tl.pan(0.15), a: () => tl.pan(-0.15), d: () => tl.pan(0.15),
      ArrowUp: () => move(-1), ArrowDown: () => move(1), PageUp: () => move(-10), PageDown: () => move(10),
      "+": () => tl.zoom(0.5), "=": () => tl.zoom(0.5), w: () => tl.zoom(0.5), "-": () => tl.zoom(2), s: () => tl.zoom(2),
      0: () => tl.bound(0, tl.whole), Home: () => tl.bound(0, view.to - view.from), End: () => tl.bound(tl.whole - view.to + view.from, tl.whole),
      n: () => tl.step(1), p: () => tl.step(-1), Escape: () => { if (view.range) tl.select(null); else tl.choose(null); }, Backspace: tl.back, v: tl.profile, g: tl.groups, Enter: () => tl.toggle(one, rows[at]),
      z: () => view.chosen && tl.show(view.chosen), "/": () => tl.search.focus(),
      "[": () => { view.lane = Math.max(2, (one.layout.rows.find((row) => row.kind === "lane") || {height: 8}).height - 2); tl.again(); },
      "]": () => { view.lane = Math.min(60, (one.layout.rows.find((row) => row.kind === "lane") || {height: 8}).height + 2); tl.again(); },
    };
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(); }
  }
}
