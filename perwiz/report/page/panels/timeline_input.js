// The region of a stream under a point, as its row of bands, or -1.
function tlKernel({run, bands}, {row, moment, gutter}) {
  if (!row || row.kind !== "lane" || gutter || !run.isStream(row.place)) return -1;
  return run.bands.location.findIndex((place, k) => place === row.place && bands.enter[k] <= moment && moment <= bands.enter[k] + bands.length[k]);
}

function tlKernelTold({run, bands}, k, unit) {
  const {time, node} = page;
  return [node("b", {}, run.regions[run.bands.path[k]]), page.facts([["stream", run.rank(run.bands.location[k])], ["instance", run.bands.instance[k]],
    ["begins", time(bands.enter[k] * unit)], ["lasts", time(bands.length[k] * unit)]])];
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
    const tables = data.runs[run], kernel = at.call < 0 ? tlKernel(one.timeline, at) : -1;
    tip.hidden = at.call < 0 && kernel < 0 && !(at.row && at.row.kind === "closed");
    if (tip.hidden) return;
    tip.replaceChildren(...(at.call >= 0
      ? [node("b", {}, tables.label(at.call) + " " + tables.doc.ops[tables.op[at.call]]), page.facts(tl.facts(run, at.call, one.timeline, false))]
      : kernel >= 0 ? tlKernelTold(one.timeline, kernel, data.unit)
      : [node("b", {}, at.row.label), " " + at.row.members.length + (tables.doc.threads ? " lanes" : " processes") + "; click the name to open"]));
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
    tip.style.top = (event.clientY + 18 + height > innerHeight ? Math.max(4, event.clientY - height - 12) : event.clientY + 18) + "px";
  }

  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const scale = event.deltaMode === 1 ? 16 : 1, at = under(event);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) tl.pan((event.deltaX || event.deltaY) * scale / canvas.clientWidth);
    else if (event.altKey || at.gutter) { view.top += event.deltaY * scale; tl.again(); }
    else tl.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * scale / 300))), Math.max(view.from, at.moment));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    drag = {x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (Math.hypot(dx, dy) > 3) drag.moved = true;
    if (!drag.moved) return;
    tip.hidden = true;
    view.top = drag.top - dy;
    const by = -dx * (drag.to - drag.from) / (canvas.clientWidth - view.gutter);
    tl.bound(drag.from + by, drag.to + by);
  });
  canvas.addEventListener("pointerup", (event) => {
    const click = drag && !drag.moved;
    drag = null;
    tip.hidden = true;
    if (!click) return;
    const at = under(event), run = data.runs.indexOf(one.timeline.run);
    if (at.row) view.current = at.row.key;
    if (at.call >= 0) tl.choose({run, call: at.call});
    else if (at.row && at.gutter) tl.toggle(one, at.row);
    tl.again();
  });
  canvas.addEventListener("dblclick", (event) => { const at = under(event); tl.zoom(0.25, at.moment); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("keydown", (event) => {
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
      n: () => tl.step(1), p: () => tl.step(-1), Escape: () => tl.choose(null), g: tl.groups, Enter: () => tl.toggle(one, rows[at]),
      z: () => view.chosen && tl.show(view.chosen), "/": () => tl.search.focus(),
      "[": () => { view.lane = Math.max(2, (one.layout.rows.find((row) => row.kind === "lane") || {height: 8}).height - 2); tl.again(); },
      "]": () => { view.lane = Math.min(60, (one.layout.rows.find((row) => row.kind === "lane") || {height: 8}).height + 2); tl.again(); },
    };
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
}
