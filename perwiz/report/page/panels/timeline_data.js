// The timeline's columns as arrays, the tables that make any zoom quick, and what can be asked of them. Times are in units of the page.
const TL_KINDS = 8, TL_IDLE = 6, TL_WAIT = 7;  // routine groups 0 to 5, idle threads and devices, and waiting
const TL_STREAM = 2;  // a kind of locations

async function tlLoad(doc) {
  const runs = await Promise.all(doc.runs.map(tlRun));
  const made = await Promise.all(doc.timelines.map((one) => tlColumns(one)));
  const timelines = [];
  doc.timelines.forEach((one, k) => timelines.push(tlTimeline(one, made[k], runs[one.run], timelines)));
  const loaded = {unit: doc.unit, groups: doc.groups, runs, timelines, path: doc.path, origin: doc.origin, critical: null, worth: new Map(), twins: []};
  if (doc.critical) loaded.critical = await page.columns(doc.critical);
  if (doc.worth) {
    const {call, gain} = await page.columns(doc.worth);
    call.forEach((row, k) => loaded.worth.set(row, gain[k]));
  }
  for (let k = 1; k < runs.length; k++) {
    const {first, second} = await page.columns(doc.pairs[k]), to = new Int32Array(runs[0].count).fill(-1), from = new Int32Array(runs[k].count).fill(-1);
    first.forEach((row, at) => { to[row] = second[at]; from[second[at]] = row; });
    loaded.twins[k] = {to, from};
  }
  return loaded;
}

async function tlRun(doc) {
  const cols = await page.columns({id: doc.id, op: doc.op, path: doc.path, site: doc.site});
  const messages = await page.columns({send: doc.messages.send, receive: doc.messages.receive, bytes: doc.messages.bytes});
  const links = doc.links && await page.columns({kind: doc.links.kind, cause: doc.links.cause, effect: doc.links.effect});
  const bands = await page.columns({location: doc.bands.location, path: doc.bands.path, instance: doc.bands.instance, begins: doc.bands.begins, ends: doc.bands.inside});
  for (let k = 0; k < bands.ends.length; k++) bands.ends[k] += bands.begins[k];
  const first = new Int32Array(doc.counts.length + 1), location = new Int32Array(cols.op.length);
  doc.counts.forEach((count, k) => { first[k + 1] = first[k] + count; location.fill(k, first[k], first[k + 1]); });
  const names = doc.path_names.map((name) => doc.names[name]);
  doc.path_parents.forEach((parent, k) => { if (parent >= 0) names[k] = names[parent] + "/" + names[k]; });
  const depth = doc.path_parents.map(() => 0), steps = new Set(doc.parallel), parallel = doc.path_names.map((name) => steps.has(name));
  doc.path_parents.forEach((parent, k) => { if (parent >= 0) depth[k] = depth[parent] + 1; });
  const op = new Uint8Array(cols.op), group = new Uint8Array(op.length);
  for (let k = 0; k < op.length; k++) group[k] = doc.op_groups[op[k]];
  const run = {doc, first, location, op, group, path: cols.path, id: cols.id, site: cols.site, messages, links, bands, depth, parallel, regions: names, count: op.length};
  run.label = (row) => "e" + (run.id ? run.id[row] : row);
  run.isStream = (k) => doc.kinds !== null && doc.kinds[k] === TL_STREAM;
  run.rank = (k) => doc.processes[k] + (doc.threads && doc.threads[k] ? "." + doc.threads[k] : "");
  run.ofId = (id) => {
    if (!run.id) return id < run.count ? id : -1;
    const row = tlAfter(run.id, 0, run.count, id - 1);
    return run.id[row] === id ? row : -1;
  };
  return run;
}

// Per call the messages, or links, that begin or end in it: rows list[start[call]] to list[start[call + 1]] - 1. Made when first asked for.
function tlMessagesOf(run) { return run.touching = run.touching || tlTouching(run.messages.send, run.messages.receive, run.count); }

function tlLinksOf(run) { return run.tied = run.tied || tlTouching(run.links.cause, run.links.effect, run.count); }

function tlTouching(from, to, count) {
  const start = new Int32Array(count + 2), list = new Int32Array(2 * from.length);
  for (const ends of [from, to]) for (let k = 0; k < ends.length; k++) start[ends[k] + 2]++;
  for (let k = 2; k < start.length; k++) start[k] += start[k - 1];
  for (const ends of [from, to]) for (let k = 0; k < ends.length; k++) list[start[ends[k] + 1]++] = k;
  return {start, list};
}

async function tlColumns(one) {
  const own = await page.columns({gap: one.gap, length: one.length, order: one.order});
  own.behind = await page.columns(one.bands);
  own.waits = one.waits && await page.columns(one.waits);
  return own;
}

function tlTimeline(doc, own, run, before) {
  const {gap, length} = own, n = run.count, enter = new Float64Array(n), leave = new Float64Array(n);
  if (doc.relative) {
    const base = before.find((one) => one.run === run && !one.order);
    for (let k = 0; k < n; k++) { gap[k] += base.gap[k]; length[k] += base.length[k]; }
  }
  for (let place = 0; place < doc.enter.length; place++) {
    let now = doc.enter[place];
    for (let k = run.first[place]; k < run.first[place + 1]; k++) {
      enter[k] = now += gap[k];
      leave[k] = now += length[k];
    }
  }
  const base = before.find((one) => one.run === run);
  for (let k = 0; base && k < own.behind.enter.length; k++) { own.behind.enter[k] += base.behind.enter[k]; own.behind.leave[k] += base.behind.leave[k]; }
  const first = before.find((one) => one.run === run && one.wait), wait = own.waits && (first ? first.wait.slice() : new Float64Array(n));
  const partner = own.waits && (first ? first.partner.slice() : new Int32Array(n).fill(-1));
  for (let k = 0; wait && k < own.waits.call.length; k++) {
    wait[own.waits.call[k]] = own.waits.time[k];
    partner[own.waits.call[k]] = own.waits.partner[k];
  }
  const slot = own.order ? new Int32Array(n) : null;
  if (slot) own.order.forEach((row, k) => { slot[row] = k; });
  const bands = tlBandTimes(run, own.behind, (call) => leave[slot ? slot[call] : call], doc.enter);
  const made = {name: doc.name, makespan: doc.makespan, run, gap, length, enter, leave, wait, partner, order: own.order, slot,
    begin: doc.enter, end: doc.leave, behind: own.behind, bands, span: Math.max(1, ...doc.leave)};
  made.row = function (k) { return this.order ? this.order[k] : k; };
  made.at = function (row) { return this.slot ? this.slot[row] : row; };
  made.levels = new Map();
  setTimeout(tlIdle, 50, made, tlJobs(tlPlaces(run)));
  return made;
}

// When regions begin and how long they last, from how far that is behind the end of the call before, or the first instant of the location;
// of a region without calls the end from its begin.
function tlBandTimes({first, bands: {location, begins, ends}}, behind, left, begun) {
  const enter = new Float64Array(location.length), length = new Float64Array(location.length);
  const before = (calls, place) => calls > first[place] ? left(calls - 1) : begun[place];
  for (let k = 0; k < location.length; k++) {
    enter[k] = before(begins[k], location[k]) + behind.enter[k];
    length[k] = behind.leave[k] + (ends[k] > begins[k] ? before(ends[k], location[k]) - enter[k] : 0);
  }
  return {enter, length};
}

function tlCopy(one, name) {
  const same = (some) => some && some.slice();
  const made = {...one, name, copied: true, enter: same(one.enter), leave: same(one.leave), wait: same(one.wait), partner: same(one.partner),
    begin: same(one.begin), end: same(one.end), bands: {enter: same(one.bands.enter), length: same(one.bands.length)}, levels: new Map()};
  return made;
}

// Levels of detail of locations and of groups of them: shares of every kind (0 to 255) per bin, halved in number from level to level.
// Made when the page is idle; until then all calls are looked at.
function tlIdle(one, jobs, version) {
  if (version !== one.version) return;
  const until = performance.now() + 8;
  while (jobs.length && performance.now() < until) {
    const {key, members} = jobs.pop();
    one.levels.set(key, tlLevels(one, members));
  }
  if (jobs.length) setTimeout(tlIdle, 12, one, jobs, version);
}

// What needs levels, the largest last: they are made first.
function tlJobs(at) {
  const below = at.kids ? at.kids.flatMap(tlJobs) : [];
  return at.key === "" ? below : [...below, {key: at.place === undefined ? at.key : at.place, members: at.members}];
}

function tlLevels(one, members) {
  const {first} = one.run, calls = members.reduce((sum, place) => sum + first[place + 1] - first[place], 0);
  if (calls < 512) return null;
  let bins = 256;
  while (bins < calls / 4 && bins < 16384) bins *= 2;
  const acc = new Float32Array(bins * TL_KINDS), levels = [];
  let table = new Uint8Array(acc.length);
  for (const place of members) tlExact(one, first[place], first[place + 1], 0, one.span / bins, bins, acc, 255 / members.length);
  for (let k = 0; k < acc.length; k++) table[k] = Math.min(255, acc[k] + 0.999);
  while (table.length > 16 * TL_KINDS) {
    levels.push(table);
    const half = new Uint8Array(table.length / 2);
    for (let k = 0, at = 0; k < half.length; at += TL_KINDS) {
      for (let kind = 0; kind < TL_KINDS; kind++, at++) half[k++] = (table[at] + table[at + TL_KINDS] + 1) >> 1;
    }
    table = half;
  }
  return levels;
}

// First of the ascending values from..end that is larger than a moment.
function tlAfter(values, from, end, moment) {
  while (from < end) {
    const middle = (from + end) >> 1;
    if (values[middle] > moment) end = middle; else from = middle + 1;
  }
  return from;
}

// Adds the shares of every kind in each of `width` columns of dt from t0 on, of a lane or a closed group.
function tlShares(one, row, t0, dt, width, acc) {
  if (row.kind !== "lane" && tlCoarse(one, row.key, t0, dt, width, acc, 1)) return;
  for (const place of row.members) {
    const end = one.run.first[place + 1], from = tlAfter(one.leave, one.run.first[place], end, t0 - dt);
    const behind = tlAfter(one.enter, from, end, t0 + dt * width), weight = 1 / row.members.length;
    if (behind - from < 4 * width || !tlCoarse(one, place, t0, dt, width, acc, weight)) tlExact(one, from, behind, t0, dt, width, acc, weight);
  }
}

// The same from the levels, if there are some that are fine enough.
function tlCoarse(one, key, t0, dt, width, acc, weight) {
  const levels = one.levels.get(key);
  if (!levels) return false;
  let bin = one.span / (levels[0].length / TL_KINDS), level = 0;
  if (bin > dt) return false;
  while (level + 1 < levels.length && 2 * bin <= dt) { bin *= 2; level++; }
  tlBinned(levels[level], bin, t0, dt, width, acc, weight / 255);
  return true;
}

function tlBinned(table, bin, t0, dt, width, acc, weight) {
  const bins = table.length / TL_KINDS;
  for (let x = 0; x < width; x++) {
    const a = (t0 + x * dt) / bin, b = a + dt / bin;
    for (let k = Math.max(0, Math.floor(a)); k < Math.min(bins, b); k++) {
      const part = (Math.min(b, k + 1) - Math.max(a, k)) / (b - a) * weight;
      for (let kind = 0; kind < TL_KINDS; kind++) acc[x * TL_KINDS + kind] += part * table[k * TL_KINDS + kind];
    }
  }
}

function tlExact(one, from, end, t0, dt, width, acc, weight) {
  const {enter, leave, wait, order, run} = one, group = run.group;
  for (let k = from; k < end; k++) {
    const row = order ? order[k] : k, ready = wait && group[row] !== TL_IDLE ? enter[k] + Math.min(wait[row], leave[k] - enter[k]) : enter[k];
    if (ready > enter[k]) tlFill((enter[k] - t0) / dt, (ready - t0) / dt, width, acc, TL_WAIT, weight);
    if (leave[k] > ready || ready === enter[k]) tlFill((ready - t0) / dt, (leave[k] - t0) / dt, width, acc, group[row], weight);
  }
}

function tlFill(a, b, width, acc, kind, weight) {
  if (b < 0 || a >= width) return;
  if (a < 0) a = 0;
  if (b > width) b = width;
  const first = Math.floor(a), last = Math.min(width - 1, Math.floor(b));
  if (first === last) {
    acc[first * TL_KINDS + kind] += Math.max(1e-5, b - a) * weight;
    return;
  }
  acc[first * TL_KINDS + kind] += (first + 1 - a) * weight;
  for (let x = first + 1; x < last; x++) acc[x * TL_KINDS + kind] += weight;
  acc[last * TL_KINDS + kind] += (b - last) * weight;
}

// The tree of places: metahosts and nodes where there are several, blocks of ranks where many processes have no node, and processes that
// have threads or streams.
function tlPlaces(run, alike) {
  const {doc} = run, order = doc.processes.map((_, k) => k);
  order.sort((a, b) => doc.processes[a] - doc.processes[b] || (doc.threads ? doc.threads[a] - doc.threads[b] : 0));
  const several = (values) => new Set(values).size > 1, inside = new Set(run.bands.location), keys = [];
  if (alike) keys.push((k) => alike[doc.processes[k]]);
  else if (several(doc.metahosts)) keys.push((k) => doc.metahost_names[doc.metahosts[k]] || "metahost " + doc.metahosts[k]);
  if (!alike && several(doc.nodes)) keys.push((k) => doc.nodes[k] < 0 ? "node unknown" : doc.node_names[doc.nodes[k]] || "node " + doc.nodes[k]);
  const top = {label: "", key: "", kids: [], members: order};
  const ranks = [...new Set(order.map((k) => doc.processes[k]))];
  if (!keys.length && ranks.length > 64) {
    const block = 2 ** Math.ceil(Math.log2(ranks.length / 16)), place = new Map(ranks.map((rank, at) => [rank, Math.floor(at / block)]));
    keys.push((k) => {
      const mine = ranks.slice(place.get(doc.processes[k]) * block, (place.get(doc.processes[k]) + 1) * block);
      return "ranks " + mine[0] + "\u2013" + mine[mine.length - 1];
    });
  }
  if (ranks.length < order.length) keys.push((k) => "process " + doc.processes[k]);
  for (const k of order) {
    let at = top;
    for (const name of keys) {
      const label = name(k), key = at.key + "/" + label;
      let kid = at.kids.find((one) => one.key === key);
      if (!kid) at.kids.push(kid = {label, key, kids: [], members: []});
      kid.members.push(k);
      at = kid;
    }
    at.kids.push({label: (run.isStream(k) ? "stream " : "rank ") + run.rank(k), key: at.key + "/" + k, place: k, members: [k], stream: run.isStream(k), plain: !inside.has(k)});
  }
  return top;
}

// Names of groups of processes that behave alike, by rank: shares of calls, waiting and computation in parts of the run, gathered around
// processes that are far from each other; as few groups as tell them apart, at most TL_GROUPS.
const TL_GROUPS = 10, TL_PARTS = 12, TL_NEAR = 0.1;

function tlAlike(one, from) {
  const {run} = one, {processes} = run.doc, ranks = [...new Set(processes)], length = TL_PARTS * TL_KINDS, dt = (one.span - from) / TL_PARTS;
  const shares = ranks.map((rank) => {
    const acc = new Float32Array(length), place = processes.indexOf(rank);
    tlExact(one, run.first[place], run.first[place + 1], from, dt, TL_PARTS, acc, 1);
    return acc;
  });
  const far = (a, b) => { let sum = 0; for (let k = 0; k < length; k++) sum += Math.abs(a[k] - b[k]); return sum / TL_PARTS; };
  let centres = [shares[0]], of = [];
  const gather = () => { of = shares.map((some) => { const away = centres.map((one) => far(some, one)); return away.indexOf(Math.min(...away)); }); };
  for (gather(); centres.length < Math.min(TL_GROUPS, ranks.length); gather()) {
    const away = shares.map((some, k) => far(some, centres[of[k]])), most = Math.max(...away);
    if (most < TL_NEAR) break;
    centres.push(shares[away.indexOf(most)]);
  }
  for (let turn = 0; turn < 4; turn++) {
    centres = centres.map((old, group) => {
      const mean = new Float32Array(length), mine = shares.filter((_, k) => of[k] === group);
      for (const some of mine) for (let k = 0; k < length; k++) mean[k] += some[k] / mine.length;
      return mine.length ? mean : old;
    });
    gather();
  }
  const names = centres.map((centre, group) => {
    const mine = ranks.map((_, k) => k).filter((k) => of[k] === group), nearest = mine.reduce((best, k) => best < 0 || far(shares[k], centre) < far(shares[best], centre) ? k : best, -1);
    return mine.length + (mine.length === 1 ? ": rank " : " \u2248 rank ") + (nearest < 0 ? "" : ranks[nearest]);
  });
  return Object.fromEntries(ranks.map((rank, k) => [rank, names[of[k]]]));
}
