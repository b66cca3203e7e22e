// Search: a call by its id, a process by its rank, calls by routine or region and by how long they last or wait; Enter goes on, Shift+Enter
// back. The first hits are listed beside the timeline, and marked on its axis.
const SEARCH_LISTED = 100, SEARCH_MARKED = 3000;

function tlSearch({view, panes, show}) {
  const lines = () => panes[0].timeline, node = page.node, input = node("input", {type: "search", placeholder: "search: e12, Recv, region, rank 3", "aria-label": "search a call, routine, region or rank",
    title: "also by time: wait>1ms, Recv lasts>2.5us, solve wait<10us; Enter: next"});
  const note = node("span", {class: "quiet", role: "status"}), scale = {s: 1e9, ms: 1e6, us: 1e3, ns: 1};
  let found = [], at = -1, asked = null;

  // Bounds such as wait>1ms, and the text without them.
  function bounds(text) {
    const some = [], rest = text.replace(/\b(wait|waits|last|lasts|time)\s*([<>])\s*([\d.]+)\s*(ns|us|ms|s)\b/gi, (_, what, side, number, unit) => {
      some.push({waits: what.toLowerCase().startsWith("wait"), more: side === ">", than: +number * scale[unit.toLowerCase()] / view.data.unit});
      return "";
    });
    return [some, rest.trim()];
  }

  function matches(text) {
    const {run} = lines(), line = lines(), [some, small] = bounds(text.toLowerCase()), id = /^e(\d+)$/.exec(small);
    if (id) {
      const row = run.ofId(+id[1]);
      return row < 0 ? [] : [row];
    }
    const has = (names) => names.map((name) => !small || name.toLowerCase().includes(small)), rows = [];
    const ops = has(run.doc.ops), paths = has(run.regions), sites = has(run.doc.sites);
    const within = (row) => some.every(({waits, more, than}) => {
      const amount = waits ? (line.wait ? line.wait[row] : 0) : line.leave[line.at(row)] - line.enter[line.at(row)];
      return more ? amount > than : amount < than;
    });
    for (let k = 0; k < run.count; k++) if ((ops[run.op[k]] || paths[run.path[k]] || (run.site && sites[run.site[k]])) && within(k)) rows.push(k);
    return rows.length > 300000 ? rows : rows.sort((a, b) => line.enter[line.at(a)] - line.enter[line.at(b)] || a - b);
  }

  function listed(run) {
    const line = lines(), {unit} = view.data, number = view.data.runs.indexOf(run);
    const rows = found.slice(0, SEARCH_LISTED).map((row) => ({go: () => show({run: number, call: row}), title: "show " + run.label(row), cells: [run.label(row), run.rank(run.location[row]),
      run.doc.ops[run.op[row]], page.time(line.enter[line.at(row)] * unit), page.time((line.leave[line.at(row)] - line.enter[line.at(row)]) * unit), line.wait ? page.time(line.wait[row] * unit) : "-"]}));
    return node("div", {class: "hits"}, page.table(["call", "rank", "routine", "entered", "lasts", "waits"], rows, {left: [0, 2], caption: found.length > rows.length ? "the first " + rows.length + " of " + found.length : ""}));
  }

  function go(by) {
    const text = input.value.trim(), {run} = lines();
    if (!text) { note.textContent = ""; asked = null; view.hits = null; return; }
    const rank = /^rank (\d+)$/i.exec(text);
    if (rank) {
      const place = run.doc.processes.indexOf(+rank[1]);
      note.textContent = place < 0 ? "no such rank" : "";
      if (place >= 0) show({run: view.data.runs.indexOf(run), location: place});
      return;
    }
    const fresh = asked !== text;
    if (fresh) {
      asked = text;
      found = matches(text);
      at = by > 0 ? -1 : 0;
      view.hits = {run, rows: found.slice(0, SEARCH_MARKED)};
    }
    if (found.length) {
      at = (at + by + found.length) % found.length;
      show({run: view.data.runs.indexOf(run), call: found[at]});
      if (found.length > 1) document.getElementById("detail").append(listed(run));
    }
    note.textContent = found.length ? at + 1 + " of " + found.length : "nothing found";
  }

  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { input.value = ""; go(1); input.blur(); }
  });
  return {box: node("span", {class: "search"}, input, note), focus: () => input.focus()};
}
