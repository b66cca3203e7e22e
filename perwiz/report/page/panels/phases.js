// Behaviour over time: efficiencies as lines, where the time of a process goes as areas, phases between dashes; and the phases.
page.panel("phases", {draw(box, data) {
  const {node, time} = page;
  box.append(page.facts(data.facts));
  if (data.edges.length < 2) return;
  const {edges, lines, areas} = data, first = edges[0], last = edges[edges.length - 1], left = 64, right = 10, low = 20;
  const at = (v, width) => left + (v - first) / (last - first) * (width - left - right);
  const chart = (title, names, top, label, paint) => {
    const place = node("div", {}), note = node("p", {class: "quiet"}, title);
    const picture = chPicture(place, 190, title + "; what phases have stands in the table", (context, width, height) => {
      const py = (v) => height - low - v / top * (height - low - 8);
      context.strokeStyle = page.colour("--line");
      context.lineWidth = 1;
      for (const part of [0, 0.5, 1]) {
        context.beginPath();
        context.moveTo(left, py(part * top));
        context.lineTo(width - right, py(part * top));
        context.stroke();
        chText(context, label(part * top), left - 6, py(part * top) + 4, "right");
      }
      paint(context, (v) => at(v, width), py);
      context.strokeStyle = page.colour("--text");
      context.lineWidth = 1;
      context.setLineDash([5, 4]);
      for (const v of data.bounds) {
        context.beginPath();
        context.moveTo(at(v, width), py(top));
        context.lineTo(at(v, width), py(0));
        context.stroke();
        chText(context, v, at(v, width), height - 5, "center");
      }
      context.setLineDash([]);
      if (!data.bounds.length) chText(context, first, left, height - 5);
      chText(context, data.by + " " + (last - 1), width - right, height - 5, "right");
    });
    picture.addEventListener("pointermove", (event) => {
      const v = first + (event.offsetX - left) / (place.clientWidth - left - right) * (last - first), k = edges.findIndex((edge) => edge > v) - 1;
      note.textContent = k < 0 ? title : data.by + " " + edges[k] + (edges[k + 1] - edges[k] > 1 ? " to " + (edges[k + 1] - 1) : "") + ": " +
        names.map((one) => one.name + " " + label(one.values[k])).join(", ");
    });
    return node("div", {}, note, chLegend(names.map((one) => one.name), names.map((one) => one.colour)), place);
  };
  const steps = (context, values, px, py) => values.forEach((v, k) => { context.lineTo(px(edges[k]), py(v)); context.lineTo(px(edges[k + 1]), py(v)); });
  const factors = chart("efficiencies of each " + data.by, lines, Math.max(100, Math.min(150, ...[Math.max(...lines[2].values)])), (v) => v.toFixed(1) + " %",
    (context, px, py) => lines.forEach((one) => {
      context.strokeStyle = page.colour("--" + one.colour);
      context.lineWidth = one === lines[lines.length - 1] ? 2.5 : 1.2;
      context.beginPath();
      steps(context, one.values.map((v) => Math.min(v, 150)), px, py);
      context.stroke();
    }));
  const sums = areas.map((_, i) => edges.slice(1).map((_, k) => areas.slice(0, i + 1).reduce((sum, one) => sum + one.values[k], 0)));
  const where = chart("where the time of a process goes, on average, in one " + data.by, areas, Math.max(1, ...sums[sums.length - 1]), (v) => time(Math.round(v)),
    (context, px, py) => {
      for (let i = areas.length - 1; i >= 0; i--) {
        context.fillStyle = page.colour("--" + areas[i].colour);
        context.beginPath();
        context.moveTo(px(first), py(0));
        steps(context, sums[i], px, py);
        context.lineTo(px(last), py(0));
        context.fill();
      }
    });
  box.append(node("div", {class: "halves"}, factors, where), node("p", {class: "quiet"}, data.note), chTables(data.tables));
}});
