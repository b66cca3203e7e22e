// Search: a call by its id, a process by its rank, calls by routine or region; Enter goes on, Shift+Enter back.
function tlSearch({view, panes, show}) {
  const lines = () => panes[0].timeline, node = page.node, input = node("input", {type: "search", placeholder: "search: e12, Recv, region, rank 3", "aria-label": "search a call, routine, region or rank"});
  const note = node("span", {class: "quiet", role: "status"});
  let found = [], at = -1, asked = null;

  function matches(text) {
    const {run} = lines(), small = text.toLowerCase();
    const id = /^e(\d+)$/.exec(small);
    if (id) {
      const row = run.ofId(+id[1]);
      return row < 0 ? [] : [row];
    }
    const ops = run.doc.ops.map((name) => name.toLowerCase().includes(small)), paths = run.regions.map((name) => name.toLowerCase().includes(small));
    const sites = run.doc.sites.map((name) => name.toLowerCase().includes(small)), rows = [];
    for (let k = 0; k < run.count; k++) if (ops[run.op[k]] || paths[run.path[k]] || (run.site && sites[run.site[k]])) rows.push(k);
    const {enter} = lines(), line = lines();
    return rows.length > 300000 ? rows : rows.sort((a, b) => enter[line.at(a)] - enter[line.at(b)] || a - b);
  }

  function go(by) {
    const text = input.value.trim();
    if (!text) { note.textContent = ""; asked = null; return; }
    const rank = /^rank (\d+)$/i.exec(text), {run} = lines();
    if (rank) {
      const place = run.doc.processes.indexOf(+rank[1]);
      note.textContent = place < 0 ? "no such rank" : "";
      if (place >= 0) show({run: view.data.runs.indexOf(run), location: place});
      return;
    }
    if (asked !== text) {
      asked = text;
      found = matches(text);
      at = by > 0 ? -1 : 0;
    }
    if (found.length) {
      at = (at + by + found.length) % found.length;
      show({run: view.data.runs.indexOf(run), call: found[at]});
    }
    note.textContent = found.length ? at + 1 + " of " + found.length : "nothing found";
  }

  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { input.value = ""; go(1); input.blur(); }
  });
  return {box: node("span", {class: "search"}, input, note), focus: () => input.focus()};
}
