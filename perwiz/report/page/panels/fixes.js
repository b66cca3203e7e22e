// The ranked list of fixes: what each change is worth, and where it is; the domino path step by step.
page.panel("fixes", {draw(box, data) {
  const {node, time, share, table} = page;
  const bar = (gain) => {
    const most = Math.max(...data.changes.concat(data.ranked, data.at_best).map((row) => row.gain), 1), out = node("span", {class: "gainbar"});
    out.style.width = "max(2px, calc(var(--bar) * " + Math.max(0, gain / most) + "))";
    return node("span", {class: "nowrap"}, out, time(gain));
  };
  const go = (call) => call === null ? undefined : () => page.show({call});
  const place = node("div", {class: "columns"});
  box.append(page.facts(data.answer), place);
  const end = (gain) => gain === null ? "" : time(gain), told = (text) => node("p", {class: "quiet"}, text);
  const asked = (row) => [row.kind, node("code", {class: "change"}, row.change), node("span", {class: "remedy"}, row.remedy)];
  const list = (rows, names, cells, ...title) => rows.length && place.append(node("div", {}, ...title,
    table([...names, "kind", "change", "what to do"], rows.map((row) => ({go: go(row.id), title: row.what, cells: [...cells(row), ...asked(row)]})),
      {left: [0, 1, names.length, names.length + 1, names.length + 2], stacked: true})));
  const own = data.ranked.some((row) => row.unshared !== null) ? ["unshared"] : [];
  list(data.ranked, ["", "gain", "", ...own, "least", "most"], (row) => [row.number, bar(row.gain), share(row.gain),
    ...own.map(() => end(row.unshared)), end(row.least), end(row.most)], node("h3", {}, "What could be changed"), ...data.ranked_notes.map(told));
  list(data.at_best, ["", "gain", "", ...own.map(() => ""), "makespan", ""], (row) => ["", bar(row.gain), share(row.gain),
    ...own.map(() => ""), time(row.makespan), ""], node("h3", {}, "What there is to gain at best"), told(data.at_best_note));
  if (data.changes.length) {
    place.append(node("div", {}, node("h3", {}, "Single calls"), table(["gain", "", "makespan", "waits", "call", "rank", "routine", "waits for", "where"],
      data.changes.map((row) => ({go: go(row.id), title: "show " + row.call + " in the timeline", cells: [bar(row.gain), share(row.gain),
        time(row.makespan), time(row.wait), row.call, row.rank, row.routine, row.partner, row.where]})), {left: [0, 4, 6, 7, 8]})));
  }
  if (data.steps.length) {
    place.append(node("div", {}, node("h3", {}, "Domino path"), node("p", {class: "quiet"}, data.path_note),
      table(["", "call", "rank", "routine", "waits for", "waits", "waits then", "alone gains", "others wait less", "where"],
        data.steps.map((row) => ({go: go(row.id), title: "show " + row.call + " in the timeline", cells: [row.number, row.call, row.rank, row.routine,
          row.partner, time(row.wait), time(row.wait_then), time(row.gain), time(row.less) + " in " + row.fewer, row.where]})), {left: [0, 1, 3, 4, 9]})));
  }
}});
