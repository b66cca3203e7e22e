// The weighted graph of a run, and its sweep: `graph.layout`, `kernels.weigh.split`, `loggps.weigh.reweigh`, `whatif.hypotheses` in the
// page. Times are whole ns since the first instant, exact as floats up to 2^53. Vertices are numbered along the program, see live_graph.py.
const LIVE_MESSAGE = 1, LIVE_RENDEZVOUS = 2, LIVE_PROBE = 4, LIVE_GAP = 10, LIVE_TRANSFER = 11;  // kinds of edges

async function liveLoad(doc, run, line) {
  const names = ["source", "target", "kind", "lag", "probed", "unbound", "done", "posted", "waits", "row"];
  const cols = await page.columns(Object.fromEntries(names.map((name) => [name, doc[name]])));
  const graph = liveVertices(doc, run, line);
  graph.doc = doc;
  graph.message = cols;
  graph.sizes = liveSizes(run.messages, cols);
  liveEdges(graph, cols);
  liveOrder(graph);
  graph.costs = liveCosts(doc.model, {});
  graph.lag = liveLags(graph, graph.costs, cols);
  liveSplit(graph);
  graph.network = doc.network.why ? null : await liveNetwork(doc.network);
  return graph;
}

// Messages that cost the same: of each the number `of` of its row of costs, size and whether it waits.
function liveSizes({bytes}, {row, waits}) {
  const of = new Int32Array(bytes.length), all = [], known = new Map();
  for (let k = 0; k < of.length; k++) {
    const key = 2 * row[k] + (waits[k] ? 1 : 0);
    let same = known.get(key);
    if (!same) known.set(key, same = new Map());
    let number = same.get(bytes[k]);
    if (number === undefined) same.set(bytes[k], number = all.push([row[k], bytes[k], waits[k]]) - 1);
    of[k] = number;
  }
  return {of, all};
}

// What each of the sizes costs.
function livePriced({all}, costs, posted) {
  const per = (price) => Float64Array.from(all, ([row, bytes, waits]) => price(row, bytes, waits));
  return {ready: per((row, bytes, waits) => costs.ready(row, bytes, waits && !posted)), request: per(costs.request), send: per(costs.send), receive: per(costs.receive)};
}

async function liveNetwork(doc) {
  const cols = await page.columns({member: doc.member, group: doc.group, gapRow: doc.gap_row, gapBytes: doc.gap_bytes});
  return {...cols, groups: doc.groups, sums: await page.columns(doc.sums)};
}

// Numbers of vertices, and their recorded times.
function liveVertices(doc, run, line) {
  const {first} = run, places = first.length - 1, calls = run.count, chain = 2 * (calls + places) + 1;
  const entered = new Int32Array(calls), time = new Float64Array(chain + doc.hubs), begun = new Int32Array(places), ended = new Int32Array(places);
  for (let place = 0; place < places; place++) {
    begun[place] = 2 * first[place] + 2 * place + 1;
    ended[place] = 2 * first[place + 1] + 2 * place + 2;
    time[begun[place]] = line.begin[place];
    time[ended[place]] = line.end[place];
    for (let call = first[place]; call < first[place + 1]; call++) {
      entered[call] = 2 * call + 2 * place + 2;
      time[entered[call]] = line.enter[call];
      time[entered[call] + 1] = line.leave[call];
    }
  }
  return {run, line, places, calls, chain, size: chain + doc.hubs, hubs: doc.hubs, entered, begun, ended, recorded: time};
}

// Edges that are not local, those of messages and then the others, put into slots by the vertex they lead into: slots start[v] to
// start[v + 1] - 1. `slot` per edge, -1 where there is none.
function liveEdges(graph, cols) {
  const {messages} = graph.run, count = messages.send.length, all = count + cols.source.length, none = new Set(cols.unbound);
  const target = new Int32Array(all), start = new Int32Array(graph.size + 2), slot = new Int32Array(all).fill(-1);
  for (let k = 0; k < count; k++) target[k] = none.has(k) ? -1 : graph.entered[messages.receive[k]] + 1;
  target.set(cols.target, count);
  for (let k = 0; k < all; k++) if (target[k] >= 0) start[target[k] + 2]++;
  for (let v = 2; v < start.length; v++) start[v] += start[v - 1];
  for (let k = 0; k < all; k++) if (target[k] >= 0) slot[k] = start[target[k] + 1]++;
  const edges = start[graph.size], source = new Int32Array(edges), kind = new Uint8Array(edges);
  for (let k = 0; k < all; k++) {
    if (slot[k] < 0) continue;
    source[slot[k]] = k < count ? graph.entered[messages.send[k]] : cols.source[k - count];
    kind[slot[k]] = k < count ? LIVE_MESSAGE : cols.kind[k - count];
  }
  Object.assign(graph, {source, kind, start, slot, edges});
}

// An order in which every vertex stands behind what leads into it.
function liveOrder(graph) {
  const {size, chain, source, start, edges} = graph, out = new Int32Array(size + 2), to = new Int32Array(edges), waiting = new Int32Array(size);
  for (let v = 1; v < size; v++) waiting[v] = start[v + 1] - start[v];
  for (let k = 0; k < edges; k++) out[source[k] + 2]++;
  for (let v = 2; v < out.length; v++) out[v] += out[v - 1];
  for (let v = 1; v < size; v++) for (let k = start[v]; k < start[v + 1]; k++) to[out[source[k] + 1]++] = v;
  const first = new Uint8Array(size), last = new Uint8Array(size), order = new Int32Array(size - 1), stack = [];
  for (const v of graph.begun) first[v] = 1;
  for (const v of graph.ended) last[v] = 1;
  for (let v = 1; v < chain; v++) if (!last[v]) waiting[v + 1]++;
  for (let v = size - 1; v > 0; v--) if (!waiting[v]) stack.push(v);
  let done = 0;
  while (stack.length) {
    const v = stack.pop();
    order[done++] = v;
    for (let k = out[v]; k < out[v + 1]; k++) if (!--waiting[to[k]]) stack.push(to[k]);
    if (v < chain && !last[v] && !--waiting[v + 1]) stack.push(v + 1);
  }
  if (done < size - 1) throw new Error("the graph in this page has a cycle");
  Object.assign(graph, {order, first});
}

// What the model says of each edge, -Infinity where it binds nobody; `own` per call that of its own request.
function liveLags(graph, costs, cols, network) {
  const {slot} = graph, {messages} = graph.run, {posted} = graph.doc.model, count = messages.send.length, lag = new Float64Array(graph.edges);
  const own = new Float64Array(graph.calls), {of} = graph.sizes, {ready, request} = livePriced(graph.sizes, costs, posted);
  for (let k = 0; k < count; k++) {
    if (slot[k] >= 0) lag[slot[k]] = ready[of[k]];
    if (cols.waits[k] && !cols.done[k]) own[messages.send[k]] = request[of[k]];
    if (posted && !cols.posted[k]) own[messages.receive[k]] = Math.max(own[messages.receive[k]], request[of[k]]);
  }
  let probe = 0, gap = 0;
  for (let k = 0; k < cols.lag.length; k++) {
    const at = slot[count + k];
    lag[at] = cols.lag[k] < 0 ? -Infinity : cols.lag[k];
    if (cols.kind[k] === LIVE_PROBE) lag[at] = ready[of[cols.probed[probe++]]];
    if (cols.kind[k] === LIVE_GAP && network) lag[at] = costs.gap(network.gapRow[gap], network.gapBytes[gap++]);
  }
  return {lag, own};
}

// Splits the recorded times into the weights of edges and what is left, `rest`: a sweep of these gives the recorded times back.
function liveSplit(graph) {
  const {recorded: time, source, kind, start, first, entered, calls, chain, size} = graph, weight = graph.lag.lag.slice();
  for (let v = chain; v < size; v++) for (let k = start[v]; k < start[v + 1]; k++) time[v] = Math.max(time[v], time[source[k]] + weight[k]);
  const own = new Float64Array(calls), rest = new Float64Array(calls), local = new Float64Array(size);
  for (let v = 1; v < chain; v++) local[v] = first[v] ? time[v] : time[v] - time[v - 1];
  for (let call = 0; call < calls; call++) {
    const v = entered[call] + 1;
    own[call] = Math.min(graph.lag.own[call], local[v]);
    let ready = time[v - 1] + own[call];
    for (let k = start[v]; k < start[v + 1]; k++) {
      const slack = time[v] - time[source[k]];
      if ((kind[k] === LIVE_RENDEZVOUS || kind[k] === LIVE_PROBE) && slack < 0) weight[k] = -Infinity;
      if (weight[k] > slack) weight[k] = slack;
      if (kind[k] !== LIVE_GAP && time[source[k]] + weight[k] > ready) ready = time[source[k]] + weight[k];
    }
    rest[call] = time[v] - ready;
    local[v] = own[call] + rest[call];
    for (let k = start[v]; k < start[v + 1]; k++) if (kind[k] !== LIVE_GAP) weight[k] += rest[call];
  }
  Object.assign(graph, {weight, own, rest, local});
}

// Per call, what the model explains of its work.
function liveWork(graph, costs, collectives) {
  const {messages} = graph.run, {done, posted, waits, row} = graph.message, work = new Float64Array(graph.calls);
  const sends = new Float64Array(graph.calls), receives = new Float64Array(graph.calls), {of} = graph.sizes, price = livePriced(graph.sizes, costs, graph.doc.model.posted);
  for (let k = 0; k < messages.send.length; k++) {
    const send = messages.send[k], receive = messages.receive[k], completes = waits[k] && done[k] >= 0;
    work[completes ? send + done[k] : send] += price.send[of[k]];
    work[receive] += price.receive[of[k]];
    if (completes && done[k]) sends[send] = Math.max(sends[send], costs.postSend(row[k]));
    if (posted[k]) receives[receive - posted[k]] = Math.max(receives[receive - posted[k]], costs.postReceive(row[k]));
  }
  const {member, group} = graph.network;
  for (let k = 0; k < member.length; k++) work[member[k]] += collectives[group[k]];
  for (let call = 0; call < graph.calls; call++) work[call] += sends[call] + receives[call];
  return work;
}

// The weights on another network, of edges and of what is local per vertex; kept for the one asked last.
function liveReweighed(graph, {L, G}) {
  const {network, calls, entered, start, kind} = graph, made = graph.reweighed;
  if (made && made.L === L && made.G === G) return made;
  const costs = liveCosts(graph.doc.model, {L, G});
  graph.work = graph.work || liveWork(graph, graph.costs, network.groups.now);
  graph.before = graph.before || liveLags(graph, graph.costs, graph.message, network);
  const old = graph.before, now = liveLags(graph, costs, graph.message, network), weight = graph.weight.slice(), local = graph.local.slice();
  const work = liveWork(graph, costs, liveCollectives(costs, network));
  for (let call = 0; call < calls; call++) {
    const behind = graph.rest[call], explained = Math.min(behind, graph.work[call]), v = entered[call] + 1;
    const rest = behind + liveScaled(explained, graph.work[call], work[call]) - explained;
    local[v] = liveScaled(graph.own[call], old.own[call], now.own[call]) + rest;
    for (let k = start[v]; k < start[v + 1]; k++) {
      if (weight[k] === -Infinity) continue;
      const gap = kind[k] === LIVE_GAP, lag = gap ? weight[k] : weight[k] - behind;
      if (old.lag[k] === now.lag[k]) {
        if (!gap) weight[k] += rest - behind;
        continue;
      }
      weight[k] = (gap ? 0 : rest) + liveScaled(Math.max(lag, 0), old.lag[k], now.lag[k]) + Math.min(lag, 0);
    }
  }
  return graph.reweighed = {L, G, weight, local};
}

// Computation in segments between the boundaries of regions: per vertex that ends some (entered, ended) the boundaries cuts[at[v]] to
// cuts[at[v + 1]] - 1 before it, as ns since the vertex before; `bands` and `sides` say whose they are, sides 1 where one begins.
function liveSegments(graph) {
  const {run, line, recorded: time, chain, begun, ended} = graph, {location} = run.bands, {enter, length} = line.bands, count = location.length;
  const rows = Array.from({length: 2 * count}, (_, k) => k), moment = (k) => k < count ? enter[k] : enter[k - count] + length[k - count];
  const where = (k) => location[k < count ? k : k - count];
  rows.sort((a, b) => where(a) - where(b) || moment(a) - moment(b));
  const at = new Int32Array(chain + 2), cuts = new Float64Array(2 * count), bands = new Int32Array(2 * count), sides = new Int8Array(2 * count);
  let next = 0;
  for (let place = 0; place < graph.places; place++) {
    for (let v = begun[place] + 1; v <= ended[place]; v += 2) {
      at[v] = next;
      while (next < rows.length && where(rows[next]) === place && (v === ended[place] || moment(rows[next]) <= time[v])) {
        cuts[next] = moment(rows[next]) - time[v - 1];
        bands[next] = rows[next] % count;
        sides[next] = rows[next] < count ? 1 : -1;
        next++;
      }
      at[v + 1] = next;
    }
  }
  return {at, cuts, bands, sides};
}

// The lengths of computation under speeds of ranks and scales of regions, in their order: gap per vertex, moved per boundary.
function liveComputed(graph, {speeds, scales}) {
  const key = JSON.stringify([speeds, scales]), made = graph.computed;
  if (made && made.key === key) return made;
  const {run, local, begun, ended, places, doc} = graph, gap = local.slice();
  const parts = graph.segments = graph.segments || liveSegments(graph), {at, cuts, bands, sides} = parts, moved = cuts.slice();
  const scaled = scales.map(({row, rank, factor}) => ({within: liveWithin(run, row), there: (place) => rank === undefined || run.doc.processes[place] === rank, factor})), deep = new Int32Array(scaled.length);
  const ranks = speeds.map(({rank, factor}) => ({places: liveProcessors(run, rank), by: 1 / factor}));
  for (let place = 0; place < places; place++) {
    const own = ranks.filter((one) => one.places.has(place)).map((one) => one.by);
    const here = scaled.filter(({there}) => there(place));
    if (!own.length && !here.length) continue;
    deep.fill(0);
    for (let v = begun[place] + 1; v <= ended[place]; v += 2) {
      const behind = v === ended[place] ? run.first[place + 1] : (v - 2 * place - 2) / 2, whole = local[v];
      const program = behind > doc.begins[place] && behind <= doc.ends[place];
      let from = 0, total = 0;
      for (let k = at[v]; k <= at[v + 1]; k++) {
        const until = k < at[v + 1] ? Math.max(0, Math.min(cuts[k], whole)) : whole;
        let length = until - from;
        if (length && program) for (const by of own) length = liveRound(length * by);
        if (length) for (let i = 0; i < here.length; i++) if (deep[i]) length = liveRound(length * here[i].factor);
        total += length;
        from = until;
        if (k === at[v + 1]) break;
        if (cuts[k] >= 0) moved[k] = total;
        for (let i = 0; i < here.length; i++) deep[i] += here[i].within[run.bands.path[bands[k]]] * sides[k];
      }
      gap[v] = total;
    }
  }
  return graph.computed = {key, gap, moved};
}

// Which paths are those of a region, a row of names: where a region of that name begins and ends.
function liveWithin(run, row) { return Uint8Array.from(run.doc.path_names, (name) => name === row ? 1 : 0); }

// The locations of a rank that a speed is about: not its streams, unless there is nothing else.
function liveProcessors(run, rank) {
  const all = run.doc.processes.map((process, k) => process === rank ? k : -1).filter((k) => k >= 0);
  return new Set(all.length > 1 ? all.filter((k) => !run.isStream(k)) : all);
}

// The run under {waits: calls that do not wait (mask or null), speeds: [{rank, factor}], scales: [{row, rank, factor}], L, G}: times per vertex,
// the weights, and where region boundaries move.
function liveSwept(graph, asked) {
  const {order, chain, size, source, kind, start, first, calls, entered} = graph, time = new Float64Array(size), free = new Uint8Array(size);
  const {weight, local: base} = asked.L !== undefined || asked.G !== undefined ? liveReweighed(graph, asked) : graph;
  const computed = asked.speeds.length || asked.scales.length ? liveComputed(graph, asked) : null;
  const local = computed ? base.slice() : base;
  if (computed) for (let place = 0; place < graph.places; place++) for (let v = graph.begun[place] + 1; v <= graph.ended[place]; v += 2) local[v] = computed.gap[v];
  for (let call = 0; asked.waits && call < calls; call++) free[entered[call] + 1] = asked.waits[call];
  for (let i = 0; i < order.length; i++) {
    const v = order[i], end = start[v + 1];
    let best = v < chain && !first[v] ? time[v - 1] + local[v] : local[v];
    if (best < 0) best = 0;
    for (let k = start[v]; k < end; k++) {
      const t = time[source[k]] + weight[k];
      if (t > best && !(free[v] && kind[k] < LIVE_GAP)) best = t;
    }
    time[v] = best;
  }
  return {time, weight, local, free, computed};
}

function liveMakespan(graph, time) {
  let begin = Infinity, end = 0;
  for (let place = 0; place < graph.places; place++) {
    begin = Math.min(begin, time[graph.begun[place]]);
    end = Math.max(end, time[graph.ended[place]]);
  }
  return graph.places ? end - begin : 0;
}

// Writes what was swept into a timeline: calls, waits and for whom, locations, bands.
function liveShow(graph, swept, line) {
  const {entered, calls, begun, ended} = graph, {time} = swept;
  for (let call = 0; call < calls; call++) {
    line.enter[call] = time[entered[call]];
    line.leave[call] = time[entered[call] + 1];
  }
  let latest = 1;
  for (let place = 0; place < graph.places; place++) {
    line.begin[place] = time[begun[place]];
    line.end[place] = time[ended[place]];
    latest = Math.max(latest, line.end[place]);
  }
  line.span = latest;
  line.makespan = liveMakespan(graph, time);
  liveWaits(graph, swept, line);
  liveBands(graph, swept, line);
}

// How long partners keep each call beyond its own work: `whatif.waits`.
function liveWaits(graph, {time, weight, local, free}, line) {
  const {entered, calls, start, source, kind, chain, size} = graph, owner = graph.owner = graph.owner || liveOwners(graph), {wait, partner} = line;
  for (let v = chain; v < size; v++) {
    let best = -1, latest = -1;
    for (let k = start[v]; k < start[v + 1]; k++) if (owner[source[k]] >= 0 && time[source[k]] > latest) { best = owner[source[k]]; latest = time[source[k]]; }
    owner[v] = best;
  }
  for (let call = 0; call < calls; call++) {
    const v = entered[call] + 1, end = start[v + 1];
    let ready = time[v - 1] + local[v], most = 0, by = -1;
    for (let k = start[v]; k < end; k++) if (kind[k] >= LIVE_TRANSFER) ready = Math.max(ready, time[source[k]] + weight[k]);
    for (let k = start[v]; k < end && !free[v]; k++) {
      const t = time[source[k]] + weight[k];
      if (kind[k] < LIVE_GAP && t - ready > most) { most = t - ready; by = owner[source[k]]; }
    }
    wait[call] = most;
    partner[call] = by;
  }
}

function liveOwners(graph) {
  const owner = new Int32Array(graph.size).fill(-1);
  for (let call = 0; call < graph.calls; call++) owner[graph.entered[call]] = call;
  return owner;
}

// A region boundary keeps its distance to the vertex before it, unless computation there changed, and comes not behind the next one.
function liveBands(graph, {time, computed}, line) {
  const parts = graph.segments = graph.segments || liveSegments(graph), {at, cuts, bands, sides} = parts, end = new Float64Array(line.bands.enter.length);
  for (let place = 0; place < graph.places; place++) {
    for (let v = graph.begun[place] + 1; v <= graph.ended[place]; v += 2) {
      for (let k = at[v]; k < at[v + 1]; k++) {
        const moment = Math.min(time[v], time[v - 1] + (computed ? computed.moved[k] : cuts[k]));
        if (sides[k] > 0) line.bands.enter[bands[k]] = moment; else end[bands[k]] = moment;
      }
    }
  }
  for (let k = 0; k < end.length; k++) line.bands.length[k] = Math.max(0, end[k] - line.bands.enter[k]);
}
