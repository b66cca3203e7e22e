// Paints a pane of the timeline: bars as pixels, whatever the zoom; over them bands, messages, paths, names and marks as lines.
const TL_AXIS = 20, TL_HEAD = 16, TL_LABEL = 13, TL_STRIP = 12, TL_STACKED = 26, TL_PLAIN = 14, TL_FONT = "11px system-ui, sans-serif", TL_COLOURS = ["send", "receive", "both", "complete", "collective", "other", "unused", "wait"];

function tlPixel(name) {
  const [r, g, b] = page.colour(name).match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

function tlInk() {
  const ink = {kinds: Uint32Array.from(TL_COLOURS, (name) => tlPixel("--" + name)), idle: tlPixel("--idle"), edge: tlPixel("--edge"), paper: tlPixel("--paper")};
  ink.on = [...ink.kinds].map((c) => (c & 255) * 0.3 + (c >> 8 & 255) * 0.59 + (c >> 16 & 255) * 0.11 > 125 ? "#000" : "#fff");
  for (const name of ["text", "quiet", "line", "paper", "band", "message", "path", "chosen"]) ink[name + "Css"] = page.colour("--" + name);
  return ink;
}

// Rows from top to bottom: lanes, closed groups, and the heads of open ones. `bar` is how much of its height the calls of a lane take:
// with `stack` user functions stand below them, and lanes that have none are no higher than TL_PLAIN.
function tlRows(top, closed, height, stack) {
  const rows = [];
  let y = 0;
  const add = (row, tall) => { rows.push({...row, y, height: tall, bar: row.kind === "lane" && tall >= TL_STACKED && !row.stream && !row.plain && stack ? Math.max(9, Math.min(20, tall - 2 * TL_STRIP)) : tall}); y += tall; };
  const walk = (at, depth) => {
    for (const kid of at.kids) {
      if (kid.place !== undefined) add({...kid, kind: "lane", depth}, stack && kid.plain ? Math.min(height, TL_PLAIN) : height);
      else if (closed.has(kid.key)) add({...kid, kind: "closed", depth}, Math.max(height, TL_LABEL));
      else { add({...kid, kind: "open", depth}, TL_HEAD); walk(kid, depth + 1); }
    }
  };
  walk(top, 0);
  return {rows, height: y};
}

function tlPaint(pane, view) {
  const {canvas, context, timeline, layout} = pane, ratio = view.ratio, ink = view.ink;
  const width = canvas.width, height = canvas.height, gutter = Math.round(view.gutter * ratio), plot = width - gutter;
  if (plot < 10 || height < 10) return;
  const dt = (view.to - view.from) / plot, axis = Math.round(TL_AXIS * ratio);
  const image = context.createImageData(plot, Math.max(1, height - axis)), pixels = new Uint32Array(image.data.buffer);
  pixels.fill(ink.paper);
  const acc = new Float32Array(plot * TL_KINDS);
  pane.seen = layout.rows.filter((row) => row.y + row.height > view.top && row.y < view.top + height / ratio - TL_AXIS);
  for (const row of pane.seen) {
    if (row.kind === "open") continue;
    acc.fill(0);
    tlShares(timeline, row, view.from, dt, plot, acc);
    tlBars(pixels, plot, image.height, row.bar < row.height ? {...row, height: row.bar} : row, view, acc, tlAlive(timeline, row.members, view.from, dt, plot), ink);
  }
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = ink.paperCss;
  context.fillRect(0, 0, width, height);
  context.putImageData(image, gutter, axis);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  tlOver(pane, view, {width: width / ratio, height: height / ratio, plot: plot / ratio, dt: dt * ratio});
}

// First and last column in which any of some locations is there.
function tlAlive(timeline, members, t0, dt, width) {
  const begin = Math.min(...members.map((k) => timeline.begin[k])), end = Math.max(...members.map((k) => timeline.end[k]));
  return [Math.max(0, Math.floor((begin - t0) / dt)), Math.min(width, Math.ceil((end - t0) / dt))];
}

// The bars of a row. Computation is light, so that calls stand out of it, and has an outline that is seen on the paper.
function tlBars(pixels, width, height, row, view, acc, alive, ink) {
  const gap = row.height >= 8 ? 2 : row.height >= 4 ? 1 : 0;
  const top = Math.round((row.y - view.top) * view.ratio), tall = Math.max(1, Math.round((row.height - gap) * view.ratio));
  const outlined = tall >= 4 * view.ratio, edges = new Int32Array(TL_KINDS), low = Math.max(0, top + tall - height), high = Math.min(tall, top + tall);
  for (let x = alive[0]; x < alive[1]; x++) {
    let sum = 0, best = 0;
    for (let kind = 0; kind < TL_KINDS; kind++) {
      const share = acc[x * TL_KINDS + kind];
      sum += share;
      if (share > acc[x * TL_KINDS + best]) best = kind;
    }
    let cover = 0;
    for (let k = 0; k < TL_KINDS; k++) {
      const kind = k ? k - 1 : TL_WAIT;
      cover += acc[x * TL_KINDS + kind];
      edges[kind] = Math.round(Math.min(1, cover) * tall);
    }
    let y = low, at = (top + tall - 1 - y) * width + x;
    const up = (until, colour) => { for (const end = Math.min(until, high); y < end; y++, at -= width) pixels[at] = colour; };
    if (sum > 0 && edges[TL_WAIT - 1] === 0) up(1, ink.kinds[best]);
    up(edges[TL_WAIT], ink.kinds[TL_WAIT]);
    for (let kind = 0; kind <= TL_IDLE; kind++) up(edges[kind], ink.kinds[kind]);
    if (outlined) up(1, ink.edge);
    up(outlined ? tall - 1 : tall, (x === alive[0] && x) || (x === alive[1] - 1 && x < width - 1) ? ink.edge : ink.idle);
    up(tall, ink.edge);
  }
}

function tlOver(pane, view, size) {
  const {context} = pane, ink = view.ink;
  pane.x = (moment) => view.gutter + (moment - view.from) / size.dt;
  pane.y = (row) => TL_AXIS + row.y - view.top;
  pane.rowOf = new Map();
  for (const row of pane.layout.rows) for (const place of row.kind === "open" ? [] : row.members) pane.rowOf.set(place, row);
  context.font = TL_FONT;
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(view.gutter, TL_AXIS, size.plot, size.height - TL_AXIS);
  context.clip();
  tlBands(pane, view, size);
  if (view.layers.messages) tlMessages(pane, view, size);
  tlCalls(pane, view, size, (row, slot) => tlName(pane, view, size, row, slot));
  if (view.layers.critical && pane.timeline === view.data.timelines[0]) tlCritical(pane, view, size);
  if (view.layers.domino && pane.timeline.run === view.data.runs[0]) tlDomino(pane, view);
  tlChosen(pane, view);
  tlRange(pane, view, size);
  const end = pane.x(pane.timeline.makespan / view.data.unit);
  context.fillStyle = ink.textCss;
  context.fillRect(Math.round(end), TL_AXIS, 1, Math.min(size.height, pane.layout.height - view.top + TL_AXIS));
  context.restore();
  tlLabels(pane, view, size);
  tlAxis(pane, view, size);
}

// Kernels of streams and parallel steps, and user functions as a stack below the calls of their lane.
function tlBands(pane, view, size) {
  const {context, timeline} = pane, {run} = timeline, {enter, length} = timeline.bands, {location, path, instance} = run.bands, last = new Map();
  context.strokeStyle = view.ink.bandCss;
  for (let k = 0; k < enter.length; k++) {
    if (enter[k] > view.to || enter[k] + length[k] < view.from) continue;
    const row = pane.rowOf.get(location[k]);
    if (!row || row.kind !== "lane" || row.height < 5) continue;
    const y = pane.y(row), a = Math.round(pane.x(enter[k])), b = Math.round(pane.x(enter[k] + length[k]));
    if (y < 0 || y > size.height) continue;
    const kernel = run.isStream(location[k]), step = run.parallel[path[k]] && view.layers.steps;
    if (row.bar < row.height) tlStrip(pane, view, row, k, a, b, last);
    if (!(kernel || step) || b - a < 3 || last.get(row) === a) continue;
    last.set(row, a);
    context.fillStyle = view.ink.quietCss;
    context.globalAlpha = 0.12;
    if (instance[k] % 2) context.fillRect(a, y - 1, b - a, row.bar);
    context.globalAlpha = 1;
    context.strokeRect(a + 0.5, y - 0.5, b - a, row.bar - 1);
    const text = run.regions[path[k]].split("/").pop() + " " + instance[k];
    if ((kernel ? row.height >= 12 : row === pane.seen[0] && row.bar === row.height) && b - a > 60) context.fillText(text, Math.max(a, view.gutter) + 4, y + row.bar / 2, b - a - 8);
  }
}

// A user function, at its depth below the calls; of those narrower than a dot one.
function tlStrip(pane, view, row, k, a, b, last) {
  const {context, timeline} = pane, {run} = timeline, path = run.bands.path[k], depth = run.depth[path], y = pane.y(row) + row.bar + TL_STRIP * depth, key = row.key + "|" + depth;
  if (row.bar + TL_STRIP * (depth + 1) > row.height || (b - a < 1 && last.get(key) === a)) return;
  last.set(key, a);
  const left = Math.max(a, view.gutter), wide = Math.max(1, b - left);
  context.fillStyle = view.ink.bandCss;
  context.globalAlpha = path % 2 ? 0.55 : 0.38;
  context.fillRect(left, y, Math.max(1, wide - (wide > 3 ? 1 : 0)), TL_STRIP - 1);
  context.globalAlpha = 1;
  if (wide < 30) return;
  context.fillStyle = view.ink.textCss;
  let text = run.regions[path].split("/").pop();
  while (text.length > 2 && context.measureText(text).width > wide - 6) text = text.slice(0, -2) + "\u2026";
  if (text.length > 2) context.fillText(text, left + 3, y + TL_STRIP / 2);
}

// Goes through the calls in sight of the lanes that show few enough to tell them apart.
function tlCalls(pane, view, size, see) {
  const {timeline} = pane, {first} = timeline.run;
  let count = 0;
  for (const row of pane.seen) {
    if (row.kind !== "lane" || row.height < 5) continue;
    const from = tlAfter(timeline.leave, first[row.place], first[row.place + 1], view.from);
    const end = tlAfter(timeline.enter, from, first[row.place + 1], view.to);
    if (end - from > size.plot / 4 || count > 4000) continue;
    count += end - from;
    for (let slot = from; slot < end; slot++) see(row, slot);
  }
}

// The name of a call, as much of it as there is room for.
function tlName(pane, view, size, row, slot) {
  const {context, timeline} = pane, {ink} = view, {run} = timeline, call = timeline.row(slot);
  const a = Math.max(view.gutter, pane.x(timeline.enter[slot])), b = Math.min(size.width, pane.x(timeline.leave[slot]));
  if (b - a < 3) return;
  context.fillStyle = ink.paperCss;
  context.fillRect(b - 0.5, pane.y(row), 0.5, row.bar - 2);
  if (b - a < 34 || row.bar < 12 || run.group[call] === TL_IDLE) return;
  const waits = timeline.wait && run.group[call] !== TL_IDLE && pane.x(timeline.enter[slot] + timeline.wait[call]) - a > 24;
  const name = run.doc.ops[run.op[call]].replace("MPI_", "");
  const text = [name + " " + run.label(call), name].find((words) => context.measureText(words).width < b - a - 8);
  context.fillStyle = ink.on[waits ? TL_WAIT : run.group[call]];
  if (text) context.fillText(text, a + 4, pane.y(row) + row.bar / 2);
}

// Messages, and dotted the links of threads and devices, of the calls in sight, where there are few.
function tlMessages(pane, view, size) {
  const {context, timeline} = pane, {run} = timeline, calls = [];
  tlCalls(pane, view, size, (row, slot) => calls.push(timeline.row(slot)));
  if (!calls.length) return;
  tlLines(pane, view, size, calls, tlMessagesOf(run), run.messages.send, run.messages.receive);
  if (!run.links) return;
  context.setLineDash([1.5, 2.5]);
  tlLines(pane, view, size, calls, tlLinksOf(run), run.links.cause, run.links.effect);
  context.setLineDash([]);
}

function tlLines(pane, view, size, calls, {start, list}, from, to) {
  const {context} = pane, rows = new Set();
  for (const call of calls) for (let k = start[call]; k < start[call + 1]; k++) rows.add(list[k]);
  if (rows.size > size.plot / 4) return;
  context.strokeStyle = context.fillStyle = view.ink.messageCss;
  context.globalAlpha = 0.7;
  for (const k of rows) tlArrow(pane, from[k], to[k], 1);
  context.globalAlpha = 1;
}

function tlArrow(pane, from, to, width) {
  const {context, timeline} = pane, location = timeline.run.location;
  const one = pane.rowOf.get(location[from]), other = pane.rowOf.get(location[to]);
  if (!one || !other || one === other) return;
  const down = other.y > one.y, a = pane.x(timeline.enter[timeline.at(from)]), b = pane.x(timeline.leave[timeline.at(to)]);
  const y0 = pane.y(one) + (down ? one.bar - 2 : 0), y1 = pane.y(other) + (down ? 0 : other.bar - 2);
  const length = Math.hypot(b - a, y1 - y0) || 1, u = (b - a) / length * 6, v = (y1 - y0) / length * 6;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(a, y0);
  context.lineTo(b, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(b, y1);
  context.lineTo(b - u - v / 2.5, y1 - v + u / 2.5);
  context.lineTo(b - u + v / 2.5, y1 - v - u / 2.5);
  context.fill();
}

function tlCritical(pane, view, size) {
  const {location, begin, length} = view.data.critical, {context} = pane, unit = view.data.unit;
  let k = Math.max(0, tlAfter(begin, 0, begin.length, view.from * unit) - 2), lastX = -9, lastRow = null;
  context.beginPath();
  for (; k < begin.length && begin[k] / unit < view.to; k++) {
    const row = pane.rowOf.get(location[k]);
    if (!row) continue;
    const a = pane.x(begin[k] / unit), b = pane.x((begin[k] + length[k]) / unit);
    if (row === lastRow && b - lastX < 1) continue;
    const y = pane.y(row) + row.bar - Math.min(5, row.bar / 2);
    if (lastRow) context.lineTo(a, y); else context.moveTo(a, y);
    context.lineTo(b, y);
    lastX = b;
    lastRow = row;
  }
  for (const [colour, width] of [[view.ink.paperCss, 4.5], [view.ink.pathCss, 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }
}

function tlDomino(pane, view) {
  const {context, timeline} = pane, steps = [];
  view.data.path.forEach((call, k) => {
    const row = call < 0 ? null : pane.rowOf.get(timeline.run.location[call]), slot = row ? timeline.at(call) : 0;
    if (row) steps.push({x: pane.x((timeline.enter[slot] + timeline.leave[slot]) / 2), y: pane.y(row) + row.bar / 2 - 1, number: k + 1});
  });
  context.strokeStyle = view.ink.chosenCss;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.beginPath();
  for (const {x, y} of steps) context.lineTo(x, y);
  context.stroke();
  context.setLineDash([]);
  for (const {x, y, number} of steps) {
    context.beginPath();
    context.arc(x, y, 7.5, 0, 7);
    context.fillStyle = view.ink.paperCss;
    context.fill();
    context.stroke();
    context.fillStyle = view.ink.textCss;
    context.textAlign = "center";
    context.fillText(number, x, y + 0.5);
    context.textAlign = "left";
  }
}

function tlChosen(pane, view) {
  const {context, timeline} = pane, call = view.callIn(timeline);
  if (call < 0) return;
  const {start, list} = tlMessagesOf(timeline.run), {send, receive} = timeline.run.messages;
  const row = pane.rowOf.get(timeline.run.location[call]), slot = timeline.at(call);
  context.strokeStyle = context.fillStyle = view.ink.chosenCss;
  for (let k = start[call]; k < start[call + 1]; k++) tlArrow(pane, send[list[k]], receive[list[k]], 2);
  if (!row) return;
  const a = pane.x(timeline.enter[slot]), b = pane.x(timeline.leave[slot]);
  context.lineWidth = 2;
  context.strokeRect(a - 1, pane.y(row) - 1, Math.max(2, b - a + 2), row.bar);
}

function tlLabels(pane, view, size) {
  const {context} = pane;
  let free = 0;
  context.fillStyle = view.ink.paperCss;
  context.fillRect(0, TL_AXIS, view.gutter - 2, size.height);
  const place = (row) => Math.max(TL_AXIS + 6, pane.y(row) + row.bar / 2 - 1), marked = pane.seen.find((row) => row.key === view.current);
  for (const row of pane.seen) {
    const y = place(row), current = row === marked;
    if (current) {
      context.fillStyle = view.ink.chosenCss;
      context.fillRect(0, pane.y(row), 3, Math.max(2, row.height - 2));
    }
    if (!current && (y < free || (marked && Math.abs(y - place(marked)) < TL_LABEL))) continue;
    free = Math.max(free, y + TL_LABEL - 0.5);
    const sign = row.kind === "closed" ? "\u25b8 " : row.kind === "open" ? "\u25be " : "";
    context.fillStyle = row.kind === "lane" && !current ? view.ink.quietCss : view.ink.textCss;
    const left = 6 + 8 * row.depth;
    let text = sign + row.label;
    while (text.length > 4 && context.measureText(text).width > view.gutter - left - 4) text = text.slice(0, -2) + "\u2026";
    context.fillText(text, left, y);
  }
}

function tlAxis(pane, view, size) {
  const {context} = pane, unit = view.data.unit, span = (view.to - view.from) * unit;
  const rough = span / Math.max(2, size.plot / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  context.fillStyle = view.ink.paperCss;
  context.fillRect(0, 0, size.width, TL_AXIS);
  const scale = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]].find(([ns]) => view.to * unit >= ns) || [1, "ns"];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / scale[0]) + 1e-9)));
  for (let at = Math.ceil(view.from * unit / step) * step; at <= view.to * unit; at += step) {
    const x = Math.round(pane.x(at / unit));
    context.fillStyle = view.ink.lineCss;
    context.fillRect(x, TL_AXIS - 4, 1, 4);
    context.fillStyle = view.ink.quietCss;
    const text = (at / scale[0]).toFixed(digits) + " " + scale[1];
    if (x + 4 + context.measureText(text).width < size.width) context.fillText(text, x + 4, 9);
  }
  context.fillStyle = view.ink.chosenCss;
  if (view.hits && view.hits.run === pane.timeline.run) {
    for (const row of view.hits.rows) {
      const x = Math.round(pane.x(pane.timeline.enter[pane.timeline.at(row)]));
      if (x >= view.gutter && x <= size.width) context.fillRect(x - 1, TL_AXIS - 6, 2, 5);
    }
  }
  context.fillStyle = view.ink.lineCss;
  context.fillRect(view.gutter, TL_AXIS - 1, size.plot, 1);
  const room = size.height - TL_AXIS, all = pane.layout.height;
  context.fillStyle = view.ink.quietCss;
  if (all > room + 4) context.fillRect(size.width - 5, TL_AXIS + view.top / all * room, 4, room / all * room);
}
