// A range of time: its mark with a ruler, what the time in it goes to, and the map of all with what is seen of it.
function tlRange(pane, view, size) {
  if (!view.range) return;
  const {context} = pane, [a, b] = view.range.map((moment) => pane.x(moment)), words = page.time((view.range[1] - view.range[0]) * view.data.unit);
  context.fillStyle = context.strokeStyle = view.ink.chosenCss;
  context.globalAlpha = 0.1;
  context.fillRect(a, TL_AXIS, b - a, size.height);
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.strokeRect(Math.round(a) + 0.5, TL_AXIS - 1, Math.max(1, Math.round(b - a)), size.height + 2);
  const wide = context.measureText(words).width, x = Math.max(view.gutter, (a + b - wide) / 2);
  context.fillStyle = view.ink.paperCss;
  context.fillRect(x - 3, TL_AXIS + 2, wide + 6, 15);
  context.fillStyle = view.ink.textCss;
  context.fillText(words, x, TL_AXIS + 10);
}

// What each kind of call takes in a range on all lanes together, how much of it is waiting, and what is computed in which region.
function tlSummed(one, [from, to]) {
  const {run, enter, leave, wait} = one, ops = new Map(), lanes = new Float64Array(run.first.length - 1);
  let total = 0, calls = 0, waiting = 0;
  for (let place = 0; place < lanes.length; place++) {
    const lasts = Math.max(0, Math.min(to, one.end[place]) - Math.max(from, one.begin[place])), end = run.first[place + 1];
    total += lasts;
    for (let k = tlAfter(leave, run.first[place], end, from); k < end && enter[k] < to; k++) {
      const row = one.row(k), a = Math.max(from, enter[k]), b = Math.min(to, leave[k]), time = Math.max(0, b - a);
      const held = wait ? Math.max(0, Math.min(b, enter[k] + wait[row]) - a) : 0, sum = ops.get(run.op[row]) || {count: 0, time: 0, wait: 0};
      sum.count++;
      sum.time += time;
      sum.wait += held;
      ops.set(run.op[row], sum);
      calls += time;
      waiting += held;
      lanes[place] += time;
    }
    lanes[place] = lasts - lanes[place];
  }
  return {ops, total, calls, waiting, lanes, regions: tlOwn(one, from, to)};
}

// Per path of regions, how long they last in a range without those inside them.
function tlOwn(one, from, to) {
  const {location, path} = one.run.bands, {enter, length} = one.bands, own = new Map(), open = [];
  for (let k = 0; k < location.length; k++) {
    const a = Math.max(from, enter[k]), b = Math.min(to, enter[k] + length[k]);
    while (open.length && (location[open[open.length - 1]] !== location[k] || enter[open[open.length - 1]] + length[open[open.length - 1]] <= enter[k])) open.pop();
    if (b > a) {
      own.set(path[k], (own.get(path[k]) || 0) + b - a);
      if (open.length) { const above = path[open[open.length - 1]]; own.set(above, (own.get(above) || 0) - (b - a)); }
    }
    open.push(k);
  }
  return own;
}

// The profile of a range, to stand beside the timeline.
function tlProfile(tl, one, range) {
  const {node, time} = page, {unit} = tl.data, {run} = one, {ops, total, calls, waiting, lanes, regions} = tlSummed(one, range), part = (units) => page.share(units, total);
  const computes = [...lanes.keys()].filter((place) => !run.isStream(place)).sort((a, b) => lanes[b] - lanes[a]), most = computes[0], least = computes[computes.length - 1];
  const rows = [...ops].sort((a, b) => b[1].time - a[1].time).map(([op, sum]) => ({cells: [run.doc.ops[op], String(sum.count), time(sum.time * unit), part(sum.time), time(sum.wait * unit)]}));
  const own = [...regions].filter(([, units]) => units > 0).sort((a, b) => b[1] - a[1]).slice(0, 30)
    .map(([path, units]) => ({cells: [run.regions[path], time(units * unit), part(units)]}));
  return [node("h2", {}, tl.view.range ? "In the range" : "In sight"), page.facts([["of", one.name], ["from", time(range[0] * unit)], ["to", time(range[1] * unit)],
    ["lasts", unit > 1 ? time((range[1] - range[0]) * unit) : time(range[1] - range[0]) + " = " + page.exact(range[1] - range[0])], ["outside of calls", time((total - calls) * unit) + " (" + part(total - calls) + ")"],
    ["in calls", time(calls * unit) + " (" + part(calls) + ")"], ["waiting", time(waiting * unit) + " (" + part(waiting) + ")"],
    ...(computes.length > 1 ? [["computes most", "rank " + run.rank(most) + ", " + time(lanes[most] * unit)], ["least", "rank " + run.rank(least) + ", " + time(lanes[least] * unit)]] : [])]),
    page.table(["call", "number", "time", "", "waiting"], rows, {left: [0], caption: "shares of all lanes together"}),
    own.length ? page.table(["region, without those inside it", "time", ""], own, {left: [0]}) : "",
    node("p", {}, tl.view.range ? tl.button("zoom to it", "show this range", () => tl.bound(...tl.view.range)) : "",
      tl.view.range ? tl.button("\u00d7", "no range (Esc)", () => tl.select(null)) : tl.button("\u00d7", "close", () => tl.select(null)))];
}

// All of the timeline in a line, all lanes together, and what is seen of it: dragging moves that.
function tlMap(tl) {
  const canvas = page.node("canvas", {class: "map", role: "img", "aria-label": "all of the timeline, and what is seen of it"}), context = canvas.getContext("2d");
  let image = null, made = "";

  function paint() {
    const {view, panes, whole} = tl, one = panes[0].timeline, ratio = view.ratio, width = canvas.clientWidth, height = 18;
    if (!width) return;
    const plot = Math.max(1, Math.round((width - view.gutter) * ratio)), tall = Math.round(height * ratio), key = [one.name, one.makespan, whole, plot, view.ink.paper].join();
    if (key !== made) {
      made = key;
      canvas.width = Math.round(width * ratio);
      canvas.height = tall;
      const acc = new Float32Array(plot * TL_KINDS), members = one.run.doc.processes.map((_, k) => k);
      image = context.createImageData(plot, tall);
      const pixels = new Uint32Array(image.data.buffer).fill(view.ink.paper);
      tlShares(one, {kind: "closed", key: "", members}, 0, whole / plot, plot, acc);
      tlBars(pixels, plot, tall, {y: 0, height}, {top: 0, ratio}, acc, tlAlive(one, members, 0, whole / plot, plot), view.ink);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.putImageData(image, Math.round(view.gutter * ratio), 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (moment) => view.gutter + moment / whole * (width - view.gutter), a = x(view.from), b = Math.max(a + 2, x(view.to));
    context.fillStyle = view.ink.paperCss;
    context.globalAlpha = 0.65;
    context.fillRect(view.gutter, 0, a - view.gutter, height);
    context.fillRect(b, 0, width - b, height);
    context.globalAlpha = 1;
    context.strokeStyle = view.ink.chosenCss;
    context.strokeRect(a + 0.5, 0.5, b - a - 1, height - 1);
    context.fillStyle = view.ink.quietCss;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillText("all", 6, height / 2);
  }

  function move(event) {
    const {view, whole} = tl, area = canvas.getBoundingClientRect(), middle = (event.clientX - area.left - view.gutter) / (area.width - view.gutter) * whole, half = (view.to - view.from) / 2;
    tl.bound(middle - half, middle + half);
  }

  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); move(event); });
  canvas.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
  return {canvas, paint};
}
