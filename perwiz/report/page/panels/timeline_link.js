// The place in the address, so that it can be sent to somebody: #t=from-to&call=e12&panes=0,2
function tlLink(tl) {
  const {view, data, panes, lines} = tl, {unit} = data;
  let waiting = 0;

  function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const words = ["t=" + Math.round(view.from * unit) + "-" + Math.round(view.to * unit), "panes=" + panes.map((one) => one.choice.value).join(",")];
      if (view.chosen) words.push("call=" + data.runs[view.chosen.run].label(view.chosen.call) + (view.chosen.run ? "." + view.chosen.run : ""));
      try { history.replaceState(null, "", "#" + words.join("&")); } catch (error) { /* a sandboxed page has no address of its own */ }
    }, 150);
  }

  function recall() {
    const asked = new URLSearchParams(location.hash.slice(1)), span = /^(-?\d+)-(\d+)$/.exec(asked.get("t") || "");
    const call = /^e(\d+)(?:\.(\d))?$/.exec(asked.get("call") || ""), chosen = /^(\d+),(-?\d+)$/.exec(asked.get("panes") || "");
    if (chosen && lines[+chosen[1]] && +chosen[2] < lines.length) panes.forEach((one, k) => tl.set(one, +chosen[k + 1]));
    const run = call ? +(call[2] || 0) : 0, row = call && data.runs[run] ? data.runs[run].ofId(+call[1]) : -1;
    if (row >= 0 && span) tl.choose({run, call: row});
    else if (row >= 0) tl.show({run, call: row});
    if (span && +span[2] > +span[1]) tl.bound(+span[1] / unit, +span[2] / unit);
  }

  return {remember, recall};
}
