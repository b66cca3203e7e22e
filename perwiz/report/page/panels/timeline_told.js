// What is said in words: what the page leaves out, and all of a call.
function tlLeft(data) {
  const said = [], {unit} = data;
  data.runs.forEach((run) => {
    const {doc} = run, gone = doc.calls - run.count;
    if (gone) said.push(gone + " of " + doc.calls + " calls, the shortest, are left out");
    const lost = doc.messages.all - run.messages.send.length, bands = doc.bands.all - run.bands.path.length;
    if (lost) said.push(lost + " of " + doc.messages.all + " messages, whose calls are left out, too");
    if (bands) said.push(bands + " of " + doc.bands.all + " regions, the shortest, are left out");
  });
  if (data.origin) said.push("the view begins where the last process has left MPI_Init");
  if (unit > 1) said.push("times here are rounded to " + page.time(unit) + "; figures in the panels are exact");
  said.push("the height of a colour is its share of the time");
  return said.join("; ");
}

// facts(run, call, timeline, links): what there is to say of a call, label by label; with `links` the other calls can be chosen.
// told(chosen): the same for all timelines, to stand beside them.
function tlTeller(tl) {
  const {node, time} = page, {data, lines, button} = tl, {unit} = data;
  const told = (units) => unit > 1 || units < 1000 ? time(units * unit) : time(units) + " = " + page.exact(units);

  function facts(run, call, timeline, links) {
    const tables = data.runs[run], slot = timeline.at(call), place = tables.location[call], said = [];
    const name = (row) => tables.label(row) + " " + tables.doc.ops[tables.op[row]] + ", rank " + tables.rank(tables.location[row]);
    const link = (row) => links ? node("button", {class: "link", onclick: () => tl.show({run, call: row})}, name(row)) : name(row);
    said.push([tables.isStream(place) ? "stream" : "rank", tables.rank(place)]);
    if (tables.path[call] >= 0) said.push(["region", tables.regions[tables.path[call]]]);
    if (tables.site && tables.site[call] >= 0) said.push(["source", tables.doc.sites[tables.site[call]]]);
    said.push(["entered", told(timeline.enter[slot])], ["lasts", told(timeline.leave[slot] - timeline.enter[slot])]);
    if (timeline.wait) {
      said.push(["waits", timeline.wait[call] ? told(timeline.wait[call]) : "not"]);
      if (timeline.partner[call] >= 0) said.push(["for", link(timeline.partner[call])]);
    }
    if (!run) {
      const gain = data.worth.get(call);
      if (lines[0].wait[call] || gain) {
        said.push(["without wait", gain ? "the run gains " + time(gain) + " (" + page.share(gain) + ")" : "the run gains nothing"]);
      }
      if (data.path.includes(call)) said.push(["domino path", "step " + (data.path.indexOf(call) + 1) + " of " + data.path.length]);
    }
    const {start, list} = tlMessagesOf(tables), {send, receive, bytes} = tables.messages;
    for (let k = start[call]; k < Math.min(start[call] + (links ? 6 : 2), start[call + 1]); k++) {
      const mine = send[list[k]] === call, other = mine ? receive[list[k]] : send[list[k]];
      said.push([mine ? "sends" : "receives", node("span", {}, page.size(bytes[list[k]]) + (mine ? " to " : " from "), link(other))]);
    }
    if (links && tables.links) {
      const {kind, cause, effect} = tables.links, {start, list} = tlLinksOf(tables);
      for (let k = start[call]; k < Math.min(start[call] + 6, start[call + 1]); k++) {
        const mine = cause[list[k]] === call, name = tables.doc.links.kinds[kind[list[k]]];
        said.push([name + (mine ? " to" : " by"), link(mine ? effect[list[k]] : cause[list[k]])]);
      }
    }
    return said;
  }

  function whole({run, call}) {
    const tables = data.runs[run], out = [node("h2", {}, tables.label(call) + " " + tables.doc.ops[tables.op[call]])];
    const first = lines.find((one) => one.run === tables);
    out.push(page.facts(facts(run, call, first, true)));
    for (const one of lines) {
      const row = tl.view.callIn(one);
      if (one === first || row < 0) continue;
      const slot = one.at(row);
      out.push(node("h3", {}, one.name), page.facts([["call", one.run.label(row)], ["entered", told(one.enter[slot])],
        ["lasts", told(one.leave[slot] - one.enter[slot])], ...(one.wait ? [["waits", one.wait[row] ? told(one.wait[row]) : "not"]] : [])]));
    }
    if (!run && page.live) out.push(node("p", {}, button("what if it does not wait", "asked in the panel What if", () => { page.open("live"); page.tell("tick", {call: tables.id ? tables.id[call] : call}); })));
    out.push(node("p", {}, button("\u2190", "call before (p)", () => tl.step(-1)), button("\u2192", "next call (n)", () => tl.step(1)),
      button("zoom to it", "zoom to the call (z)", () => tl.show({run, call})), button("\u00d7", "choose nothing (Esc)", () => tl.choose(null))));
    return out;
  }

  return {facts, told: whole, exactly: told};
}
