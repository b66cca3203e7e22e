// Three trees, as in Cube: what is chosen in one says what the next one shows; closed is with all below, open without.
page.panel("states", {async draw(box, data) {
  const {node, time} = page, {metrics, system} = data;
  if (!metrics.length) return void box.append(node("p", {}, "There is nothing to show: no process, no time."));
  const [calls, rows, cells, gains] = await Promise.all([data.tree, data.rows, data.cells, data.gains].map(({names, ...some}) => page.columns(some)));
  const first = stSums(rows.count), from = stSums(rows.cells), count = calls.name.length, spread = new Float64Array(system.row.length);
  const metric = tree("metric", metrics.map((one) => one.parent), (k) => metrics[k].title), call = tree("call path", calls.parent, (k) => data.tree.names[calls.name[k]]);
  const place = tree("process", system.parent, (k) => system.names[k]), said = node("p", {"aria-live": "polite"}), topology = [];
  const owns = metrics.map((_, k) => rows.total.subarray(first[k], first[k + 1]).reduce((a, b) => a + b, 0));
  let mode = 0;

  function tree(name, parent, label) {
    const box = node("div", {role: "tree", class: "tree", "aria-label": name}), end = Array.from(parent, (_, k) => k + 1), depth = [];
    for (let k = end.length - 1; k > 0; k--) if (parent[k] >= 0) end[parent[k]] = Math.max(end[parent[k]], end[k]);
    parent.forEach((up) => depth.push(up < 0 ? 1 : depth[up] + 1));
    const one = {box, parent, label, end, depth, open: new Set([0]), at: 0, shown: []};
    one.kids = (k) => end[k] > k + 1;
    one.closed = (k) => one.kids(k) && !one.open.has(k);
    one.range = (k) => [k, one.closed(k) ? end[k] : k + 1];
    one.top = (k) => { while (parent[k] >= 0) k = parent[k]; return k; };
    one.choose = (k) => { one.at = k; again(); };
    one.turn = (k) => { if (!one.open.delete(k)) one.open.add(k); again(); };
    // Values are exclusive, in depth-first order; what is 0 with all below is left out if `sparse`.
    one.set = (own, sparse) => {
      const sum = stSums(own), any = stSums(Float64Array.from(own, Math.abs));
      one.total = (k) => sum[end[k]] - sum[k];
      one.value = (k) => { const [a, b] = one.range(k); return sum[b] - sum[a]; };
      one.shown = [];
      for (let k = 0; k < own.length;) {
        const none = sparse && k && any[end[k]] === any[k];
        if (!none) one.shown.push(k);
        k = none || one.closed(k) ? end[k] : k + 1;
      }
      while (!one.shown.includes(one.at)) one.at = parent[one.at];
    };
    box.addEventListener("click", (event) => {
      const line = event.target.closest("[role=treeitem]");
      if (line) one[event.target.closest(".turn") ? "turn" : "choose"](+line.dataset.k);
    });
    box.addEventListener("dblclick", () => go(one));
    box.addEventListener("keydown", (event) => {
      const {shown, at} = one, k = shown.indexOf(at), last = shown.length - 1, open = one.kids(at) && one.open.has(at);
      const to = {ArrowDown: k + 1, ArrowUp: k - 1, Home: 0, End: last, PageDown: Math.min(last, k + 10), PageUp: Math.max(0, k - 10),
        ArrowRight: open ? k + 1 : -1, ArrowLeft: open ? -1 : shown.indexOf(parent[at])}[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || (to === undefined && event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      if (event.key === "Enter") go(one);
      else if (event.key === " " || (event.key === "ArrowRight" ? one.closed(at) : event.key === "ArrowLeft" && open)) { if (one.kids(at)) one.turn(at); }
      else if (shown[to] !== undefined) one.choose(shown[to]);
    });
    return one;
  }

  // What the waits of a metric on some call paths are worth, and the most severe call of them; null if nobody asked.
  function gain(m, [low, high]) {
    let best = null;
    if (!low && high === count) high++;
    for (let r = stAfter(gains.metric, m - 1); r < gains.metric.length && gains.metric[r] < metric.end[m]; r++) {
      const exact = gains.metric[r] === m && (gains.node[r] === low || gains.node[r] === count), ns = gains.gain[r];
      if (gains.node[r] >= low && gains.node[r] < high && (!best || ns > best.ns || (ns === best.ns && exact))) best = {ns, exact, call: gains.call[r]};
    }
    return best;
  }

  function number(unit, value) { return unit === "ns" ? time(value) : unit === "bytes" ? page.size(value) : String(value); }

  function list(one, unit, whole, worth) {
    const scale = chScale(), focus = one.box.contains(document.activeElement), scrolled = one.box.scrollTop;
    const most = Math.max(1, ...one.shown.map((k) => Math.abs(one.value(k))));
    const lines = one.shown.map((k) => {
      const value = one.value(k), kids = one.kids(k), chip = node("i", {class: "chip"}), name = node("span", {}), found = worth && worth(k);
      if (value) chip.style.background = scale(Math.abs(value) / (one === metric ? Math.abs(whole(k)) || 1 : most));
      name.style.paddingLeft = 14 * one.depth[k] - 14 + "px";
      name.append(node("span", {class: "turn"}, kids ? (one.closed(k) ? "\u25b8" : "\u25be") : ""), one.label(k));
      return node("div", {role: "treeitem", "aria-level": one.depth[k], "aria-expanded": kids ? String(!one.closed(k)) : null, "aria-selected": String(k === one.at), "data-k": k,
        tabindex: k === one.at ? 0 : -1, class: value ? null : "quiet", title: one === metric ? metrics[k].meaning : null},
        node("span", {class: "num"}, one.missing && !value ? "?" : mode ? page.share(value, whole(k)) : number(unit(k), value)), chip,
        worth && node("span", {class: "num"}, found && found.ns ? (found.exact ? "" : "\u2265 ") + time(found.ns) : ""), name);
    });
    one.box.replaceChildren(...lines);
    one.box.scrollTop = scrolled;
    const line = lines[one.shown.indexOf(one.at)], y = line.offsetTop;
    if (focus) line.focus({preventScroll: true});
    if (one.at && (y < scrolled || y + 22 > scrolled + one.box.clientHeight)) one.box.scrollTop = y - 40;
  }

  function again() {
    metric.set(owns);
    const m = metric.at, unit = () => metrics[m].unit, [low, high] = metric.range(m), own = new Float64Array(count);
    list(metric, (k) => metrics[k].unit, (k) => metric.total(metric.top(k)), (k) => gain(k, [0, count]));
    for (let r = first[low]; r < first[high]; r++) if (rows.node[r]) own[rows.node[r] - 1] += rows.total[r];
    call.set(own, true);
    const all = metric.total(metric.top(m)), chosen = call.value(call.at), [a, b] = call.range(call.at);
    list(call, unit, () => mode > 1 ? metric.value(m) : all, (k) => gain(m, call.range(k)));
    spread.fill(0);
    for (let r = first[low]; r < first[high]; r++) {
      const at = rows.node[r] - 1;
      if (at < 0 ? a || b < count : at < a || at >= b) continue;
      for (let k = from[r]; k < from[r + 1]; k++) spread[cells.place[k]] += cells.value[k];
    }
    place.set(system.place.map((k) => k < 0 ? 0 : spread[k]));
    const missing = place.missing = chosen - place.total(0);
    list(place, unit, () => mode > 1 ? chosen : all);
    const found = gain(m, [a, b]), path = [];
    for (let k = call.at; k > 0; k = call.parent[k]) path.unshift(call.label(k));
    const itself = (one) => one.kids(one.at) && !one.closed(one.at) ? " (itself)" : "";
    said.replaceChildren(node("b", {}, metric.label(m)), itself(metric) + " in " + (path.join("/") || "the program") + itself(call) + ": " + number(unit(), chosen) + " (" + page.share(chosen, all) + " of " +
      metric.label(metric.top(m)) + ")" + (found ? "; if nobody waited there, the run gains " + (found.exact ? "" : "at least ") + time(found.ns) + " (" +
      page.share(found.ns, data.whole) + data.note + ")" : "") + (missing ? "; " + number(unit(), missing) + " of it are not told by process in this page, which keeps the largest call paths" : "") +
      (metrics[m].meaning ? ": " + metrics[m].meaning : "") + ". ", found ? node("button", {type: "button", onclick: () => go(call)}, "show the most severe") : "");
    topology.forEach((one) => one());
  }

  function go(one) {
    const found = gain(metric.at, call.range(call.at)), k = system.place[place.at];
    if (one !== place) { if (found) page.show({call: found.call}); } else if (k >= 0) page.show({location: system.row[k]});
  }

  const head = (title, worth) => node("div", {class: "treehead"}, node("span", {class: "num"}, "value"), worth && node("span", {class: "num"}, "worth"), title);
  const side = (one, title, worth) => node("div", {}, head(title, worth), one.box), right = side(place, "process");
  box.append(said, node("div", {class: "tools flush"}, chSelect("numbers", ["absolute", "% of the whole", "% of what is chosen"], (k) => { mode = k; again(); }),
    node("span", {class: "quiet"}, "closed \u25b8 counts all below, open \u25be only itself; worth: the whole run's gain if nobody waited there; Enter shows it in the timeline" +
      (system.block > 1 ? "; processes are put together in blocks of " + system.block : ""))), node("div", {class: "trees"}, side(metric, "metric", true), side(call, "call path", true), right));
  for (const one of data.topologies) topology.push(stTopology(right, one, await page.column(one.at), (k) => "rank " + data.ranks[k] + ": " + number(metrics[metric.at].unit, spread[k]), spread));
  [[metric, data.start[0]], [call, data.start[1]]].forEach(([one, k]) => { one.at = k; while (k >= 0 && (k = one.parent[k]) >= 0) one.open.add(k); });
  if (system.names.length < 80) system.names.forEach((_, k) => place.open.add(k));
  again();
  page.on("colours", again);
}});

function stSums(values) {
  const out = new Float64Array(values.length + 1);
  for (let k = 0; k < values.length; k++) out[k + 1] = out[k] + values[k];
  return out;
}

function stAfter(values, moment) { return tlAfter(values, 0, values.length, moment); }

// A value per place over a Cartesian topology: the last two dimensions are a picture, those before stand side by side.
function stTopology(box, {name, sizes}, at, said, values) {
  const note = page.node("p", {class: "quiet"}), d = sizes.length, cols = sizes[d - 1], rows = d > 1 ? sizes[d - 2] : 1, slices = sizes.slice(0, -2).reduce((a, b) => a * b, 1);
  const told = "topology " + name + " " + sizes.join(" x ") + (d > 2 ? ", a picture for each of the first" : "") + "; darkest (on black: brightest) is most", n = values.length;
  let w = 1, across = 1;
  const spot = (k) => {
    const where = sizes.map((_, i) => at[i * n + k]), slice = where.slice(0, -2).reduce((sum, c, i) => sum * sizes[i] + c, 0);
    return where.some((c) => c < 0) ? null : [slice % across * (cols * w + 6) + where[d - 1] * w, Math.floor(slice / across) * (rows * w + 6) + (d > 1 ? where[d - 2] * w : 0), where];
  };
  const place = page.node("div", {});
  box.prepend(place, note);
  const picture = chPicture(place, 150, told + "; the numbers stand in the tree of processes", (context, width, height) => {
    const fits = (k) => Math.min(34, (width - 6 * k) / (cols * k), (height - 6 * Math.ceil(slices / k)) / (rows * Math.ceil(slices / k)));
    for (let k = across = 1; k <= slices; k++) if (fits(k) > fits(across)) across = k;
    const scale = chScale(), most = Math.max(1, ...values.map(Math.abs));
    w = fits(across);
    for (let k = 0; k < n; k++) {
      const found = spot(k);
      context.fillStyle = values[k] ? scale(Math.abs(values[k]) / most) : page.colour("--idle");
      if (found) context.fillRect(found[0], found[1], Math.max(1, w - 1), Math.max(1, w - 1));
    }
  });
  picture.addEventListener("pointermove", (event) => {
    let text = told;
    for (let k = 0; k < n; k++) {
      const found = spot(k), x = found && event.offsetX - found[0], y = found && event.offsetY - found[1];
      if (found && x >= 0 && x < w && y >= 0 && y < w) text = said(k) + " at (" + found[2].join(", ") + ")";
    }
    note.textContent = text;
  });
  note.textContent = told;
  return picture.again;
}
