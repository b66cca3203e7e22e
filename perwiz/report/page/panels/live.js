// What-ifs: ticks and sliders make a question, the page sweeps its graph and shows the run that it gives, and how to ask perwiz the same.
page.panel("live", {draw(box, data) {
  return data.why && !(page.served && data.sites) ? liveNone(box, data, data.why) : livePanel(box, data);
}});

function liveNone(box, data, why) {
  box.append(page.node("p", {}, "This page does not answer further questions itself: " + why + ". ", page.node("code", {}, liveServe(data)), " does."));
  if (data.changes.length) box.append(liveChanges(data.changes));
}

function liveServe(data) { return data.command.replace(/^perwiz predict/, "perwiz report") + " --serve"; }

// As shlex.quote of Python has it.
function liveQuoted(text) { return /^[A-Za-z0-9@%+=:,.\/_-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\"'\"'") + "'"; }

// Runs predicted already: each is a timeline of the page.
function liveChanges(changes) {
  const {node, time, share} = page;
  return node("div", {}, node("h3", {}, "Predicted already"), page.table(["change", "gain", "", "makespan"], changes.map((row) => ({title: "show this run below the recorded one",
    go: () => page.show({other: row.timeline}), cells: [node("code", {class: "change"}, row.option), time(row.gain), share(row.gain), time(row.makespan)]})), {left: [0]}));
}

// A question: what does not wait, how fast ranks compute, what regions take, and the network.
function liveQuestion(data, run) {
  const ticked = {sites: new Set(), regions: new Set(), ranks: new Set(), calls: new Set()}, speeds = new Map(), scales = new Map(), network = {};
  // Hypotheses, as `perwiz predict` takes them behind its shell.
  const texts = () => {
    const changes = [...(network.L === undefined ? [] : ["L_ns=" + network.L]), ...(network.G === undefined ? [] : ["G_ns_per_byte=" + network.G])], out = [];
    if (changes.length) out.push("network " + changes.join(","));
    for (const [rank, factor] of [...speeds].sort((a, b) => a[0] - b[0])) out.push("speed rank:" + rank + "=" + factor);
    for (const [row, factor] of scales) out.push("scale " + row.text + "=" + factor);
    for (const row of ticked.sites) out.push("zero-wait site:" + row.text);
    for (const row of ticked.regions) out.push("zero-wait region:" + row.text);
    for (const rank of ticked.ranks) out.push("zero-wait rank:" + rank);
    for (const call of ticked.calls) out.push("zero-wait e" + call);
    return out.concat(made.further.split(";").map((text) => text.trim().replace(/^--/, "")).filter(Boolean));
  };
  const options = () => texts().map((text) => {
    const word = text.split(" ", 1)[0];
    return "--" + word + " " + liveQuoted(text.slice(word.length).trim());
  });
  const waits = () => {
    if (!Object.values(ticked).some((some) => some.size)) return null;
    const mask = liveMask(run, data, ticked);
    for (const call of ticked.calls) mask[call] = 1;
    return mask;
  };
  const asked = () => ({waits: waits(), speeds: [...speeds].sort((a, b) => a[0] - b[0]).map(([rank, factor]) => ({rank, factor})),
    scales: [...scales].map(([row, factor]) => ({row: row.row, rank: row.rank, factor})), ...network});
  const clear = () => {
    Object.values(ticked).forEach((some) => some.clear());
    speeds.clear();
    scales.clear();
    delete network.L;
    delete network.G;
    made.further = "";
  };
  const made = {further: "", ticked, speeds, scales, network, texts, options, asked, clear};
  return made;
}

// Per call 1 if it does not wait: its site is one of these, or its rank, or it is made inside one of these regions, at any depth.
function liveMask(run, data, {sites = [], regions = [], ranks = []}) {
  const {doc, count, location, path} = run, {siteOf} = data, mask = new Uint8Array(count), rows = new Set(Array.from(regions, (one) => one.row)), some = new Set(ranks);
  const bySite = new Uint8Array(data.sites.length + 1), byPath = new Uint8Array(doc.path_names.length + 1), byPlace = Uint8Array.from(doc.processes, (rank) => some.has(rank) ? 1 : 0);
  for (const {number} of sites) bySite[number] = 1;
  doc.path_parents.forEach((parent, k) => { byPath[k + 1] = rows.has(doc.path_names[k]) || byPath[parent + 1] ? 1 : 0; });
  for (let call = 0; call < count; call++) mask[call] = bySite[siteOf[call]] | byPlace[location[call]] | byPath[path[call] + 1];
  return mask;
}

async function livePanel(box, data) {
  const {node, time, share} = page, {unit, run, line, copy: copied, add, changed, replace} = await page.timeline;
  if (unit !== 1 && !page.served) return liveNone(box, data, "its times had to be rounded to fit into it");
  data.siteOf = await page.column(data.site_of);
  data.sites.forEach((row, k) => { row.number = k + 1; });
  if (!page.served) data.bounded = data.bounded && run.bands.path.length === run.doc.bands.all;
  const graph = data.graph && unit === 1 ? await liveLoad(data.graph, run, line) : null, question = liveQuestion(data, run), {ticked} = question;
  const answer = node("p", {class: "answer", "aria-live": "polite"}), code = node("code", {class: "command"}), matches = node("p", {class: "quiet matches"}), widgets = [], chosen = node("span", {});
  const more = page.served ? node("input", {type: "search", class: "further", placeholder: "balance-time all", "aria-label": "another question",
    title: "what perwiz predict asks with an option, without the two dashes; several with ; between", onchange: () => { question.further = more.value; soon(); }}) : null;
  let mine = null, due = 0, asking = 0;
  const spare = copied("predicted here"), second = () => mine = mine || add(spare);  // rehearsed in until it is shown

  const update = () => {
    due = 0;
    const options = question.options(), began = performance.now();
    if (!graph || question.further || (page.served && data.keep && options.length)) return ask(options, began);
    asking++;
    const swept = liveSwept(graph, question.asked()), makespan = liveMakespan(graph, swept.time);
    if (options.length || mine) {
      liveShow(graph, swept, second());
      changed(mine, named(options));
    }
    return told(options, makespan, began, data.keep);
  };

  const named = (options) => options.length ? "predicted: " + options.join(" ") : "predicted: nothing is changed";

  // Asks who serves the page; only what was asked last is shown.
  const ask = async (options, began) => {
    const turn = ++asking, reply = await fetch("ask", {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(question.texts())});
    const {error, makespan, timeline, note} = await reply.json();
    if (turn !== asking) return;
    if (error) return void answer.replaceChildren(node("span", {role: "alert"}, error));
    if (options.length || mine) {
      await replace(second(), timeline, named(options));
    }
    told(options, makespan, began, note);
  };

  // `note`: what receives take that could take other messages.
  const told = (options, makespan, began, note) => {
    const gain = line.makespan - makespan;
    answer.replaceChildren(node("b", {}, time(line.makespan)), " recorded", ...(options.length ? [" \u2192 ", node("b", {}, time(makespan)), " predicted, ",
      gain < 0 ? "loss " : "gain ", node("b", {}, time(Math.abs(gain)) + " (" + share(Math.abs(gain)) + ")")] : [node("span", {class: "screen"}, ": tick what is not to wait, or drag")]));
    code.textContent = options.length ? [data.command, ...options].join(" ") + (page.served || !data.keep ? "" : " --keep-matches") : "";
    matches.textContent = options.length ? note : "";
    copy.hidden = nothing.hidden = !options.length;
    box.dataset.makespan = makespan;
    box.dataset.tick = (performance.now() - began).toFixed(1);
  };
  const soon = () => { if (!due) due = requestAnimationFrame(update); };  // one sweep a frame, however often a slider tells
  const copy = page.copying(() => code.textContent), nothing = node("button", {type: "button", onclick: () => { question.clear(); widgets.forEach((reset) => reset()); update(); }}, "nothing");

  const tick = (some, what, label) => {
    const input = node("input", {type: "checkbox", "aria-label": label, onchange: () => { if (input.checked) some.add(what); else some.delete(what); soon(); }});
    widgets.push(() => { input.checked = some.has(what); });
    input.checked = some.has(what);
    return input;
  };
  // A slider of powers of two about 1; `set` is told the factor, undefined where it stands in the middle.
  const slider = (label, words, set) => {
    const note = node("output", {}, words(undefined)), input = node("input", {type: "range", min: -4, max: 4, step: 0.25, value: 0, "aria-label": label, oninput: () => {
      const factor = +input.value ? 2 ** +input.value : undefined;
      set(factor);
      note.textContent = words(factor);
      soon();
    }});
    widgets.push(() => { input.value = 0; note.textContent = words(undefined); });
    return node("span", {class: "slider"}, input, note);
  };
  const list = (title, said, rows) => rows.length ? node("section", {}, node("h3", {}, title), node("p", {class: "quiet"}, said), node("div", {class: "ticks"}, ...rows)) : null;
  const short = (factor) => +factor.toPrecision(3);
  const row = (...cells) => node("div", {}, ...cells);
  const later = liveLater(), alone = graph ? liveAlone(graph, run, data, later) : () => null;
  let rehearsing = 1;
  if (graph) [...liveRehearsed(graph, run, data, spare).map((one) => () => mine || one()), () => { rehearsing = 0; }].forEach(later);

  const sites = data.sites.map((one) => row(node("label", {}, tick(ticked.sites, one, one.name + " does not wait"), one.name),
    node("span", {class: "quiet"}, one.calls + (one.calls === 1 ? " call waits " : " calls wait ") + time(one.waits) + " in all"), alone(one)));
  const regions = data.regions.map((one) => row(node("label", {}, tick(ticked.regions, one, "calls in " + one.name + " do not wait"), one.name),
    node("span", {class: "quiet"}, time(one.waits) + " waiting")));
  const ranks = data.ranks.map((rank) => row(node("label", {}, tick(ticked.ranks, rank, "rank " + rank + " does not wait"), "rank " + rank),
    data.bounded ? slider("speed of rank " + rank, (factor) => factor ? "computes " + short(factor) + " times as fast" : "as recorded",
      (factor) => { if (factor) question.speeds.set(rank, short(factor)); else question.speeds.delete(rank); }) : null));
  const scales = data.bounded ? data.computing.map((one) => row(node("span", {}, one.name), slider("time of " + one.name, (factor) => factor ? "takes " + short(factor) + " of its time" : "as recorded",
    (factor) => { if (factor) question.scales.set(one, short(factor)); else question.scales.delete(one); }))) : [];
  if (more) widgets.push(() => { more.value = question.further; });
  box.append(...[data.unrecorded ? node("p", {class: "warning", role: "status"}, data.unrecorded + ".") : null, node("div", {class: "asked"}, answer, matches, node("p", {}, code, " ", copy, " ", nothing)), node("p", {}, chosen),
    more ? node("p", {}, node("label", {}, "another question ", more)) : null,
    node("div", {class: "whatifs"}, list("Calls that do not wait", "They go on as if their partners had come; the partners come when they did.", sites),
      list("Inside a region nothing waits", "Calls made in it, at any depth.", regions),
      list("Ranks", data.bounded ? "Tick: none of its calls waits. Drag: it computes faster or slower." : "Tick: none of its calls waits.", ranks),
      list("Computation of a region", "What is computed inside it; calls keep theirs.", scales), data.graph ? liveNetworkPart(data, slider, question, list, row) : null,
      data.changes.length ? liveChanges(data.changes) : null)].filter(Boolean));
  page.on("select", (value) => {
    chosen.replaceChildren();
    if (value && value.run === 0) chosen.append(node("label", {}, tick(ticked.calls, value.id, "e" + value.id + " does not wait"), " e" + value.id + ", the chosen call, does not wait"));
  });
  page.on("tick", ({call}) => { ticked.calls.add(call); widgets.forEach((reset) => reset()); update(); });
  page.live = {graph, question, update, quoted: liveQuoted, rehearsed: () => !rehearsing, ask: (asked) => liveSwept(graph, asked), show: (swept, one) => liveShow(graph, swept, one)};
  update();
}

// Does one job after the other when nothing else is to be done.
function liveLater() {
  const jobs = [];
  const next = () => {
    const job = jobs.shift();
    if (!job) return;
    job();
    setTimeout(next, 20);
  };
  setTimeout(next, 20);
  return (job) => jobs.push(job);
}

// Ticks and drags before the first one: what is kept between sweeps is made, and the browser has compiled what it runs often.
function liveRehearsed(graph, run, data, line) {
  const nothing = {speeds: [], scales: []}, asked = [() => ({...nothing, waits: liveMask(run, data, {})})];
  if (data.bounded) asked.push(() => ({...nothing, speeds: [{rank: data.ranks[0], factor: 2}]}));
  if (!data.graph.network.why) asked.push(() => ({...nothing, G: 1}));
  return [...asked, ...asked, ...asked].map((one) => () => liveShow(graph, liveSwept(graph, one()), line));
}

// What each site gains alone.
function liveAlone(graph, run, data, later) {
  const {node, time} = page;
  return (one) => {
    const out = node("span", {class: "quiet"}, "");
    later(() => {
      const gain = graph.line.makespan - liveMakespan(graph, liveSwept(graph, {waits: liveMask(run, data, {sites: [one]}), speeds: [], scales: []}).time);
      out.textContent = gain > 0 ? "alone gains " + time(gain) : "alone gains nothing";
    });
    return out;
  };
}

function liveNetworkPart(data, slider, question, list, row) {
  const {node, time} = page, {why, latency} = data.graph.network, costs = data.graph.model.costs;
  if (why) return list("Network", why, [row("")]);
  const most = (k) => Math.max(...costs.map((one) => one[k])), L = most(LIVE_L) || 1000, G = most(LIVE_G) || 0.1, {network} = question;
  const rate = (g) => (1 / g).toPrecision(3) + " GB/s", told = (now, k) => (most(k) ? now : "none found;") + (costs.some((other) => other[k] !== costs[0][k]) ? " at most, as recorded" : " as recorded");
  return list("Network", "A value dragged to is that of all messages.", [
    latency ? row(node("span", {}, "latency L"), slider("latency", (factor) => factor ? time(Math.round(L * factor)) : told(time(L), LIVE_L),
      (factor) => { if (factor) network.L = Math.round(L * factor); else delete network.L; }))
      : row(node("span", {class: "quiet"}, "latency L: what lets messages move here depends on it; perwiz predict --network L_ns=... answers")),
    row(node("span", {}, "bandwidth 1/G"), slider("bandwidth", (factor) => factor ? rate(+(G / factor).toPrecision(4)) : told(rate(G), LIVE_G),
      (factor) => { if (factor) network.G = +(G / factor).toPrecision(4); else delete network.G; }))]);
}
