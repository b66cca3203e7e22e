// Ranks over steps: a cell is how long a rank computes in a step by the mean of all, below it bluish, above it reddish; and stages likewise.
page.panel("stragglers", {async draw(box, data) {
  const {node} = page, {first, last, parts, far, what} = data;
  box.append(page.facts(data.facts));
  if (!first.length) return;
  const {begin, end} = await page.columns({begin: data.begin, end: data.end}), cells = await Promise.all(parts.map((one) => page.column(one.cells)));
  const left = 150, right = 10, low = 20, count = first.length, step = (k) => "step " + first[k] + (last[k] > first[k] ? " to " + last[k] : "");
  const told = (p, row, k) => parts[p].names[row] + ", " + step(k) + ": " + what + " " + (cells[p][row * count + k] / 1000).toFixed(2) + " of the mean";
  box.append(chLegend(["shorter than the mean", "longer than the mean"], ["mark", "wait"]));
  parts.forEach((part, p) => {
    const rows = part.names.length, high = Math.min(20, Math.max(2, Math.round(480 / rows))), title = what + " of each " + (p ? "group of ranks" : "rank") + " in each step, by the mean of all ranks";
    const place = node("div", {}), note = node("p", {class: "quiet"}, title);
    const spot = (event) => [Math.floor(event.offsetY / high), Math.floor((event.offsetX - left) / (place.clientWidth - left - right) * count)];
    const inside = ([row, k]) => row >= 0 && row < rows && k >= 0 && k < count;
    const picture = chPicture(place, rows * high + low, title + "; who is slow stands above it", (context, width) => {
      const wide = (width - left - right) / count, every = Math.ceil(13 / high);
      for (let row = 0; row < rows; row++) {
        for (let k = 0; k < count; k++) {
          const off = (cells[p][row * count + k] / 1000 - 1) / far;
          context.fillStyle = page.colour(off > 0 ? "--wait" : "--mark");
          context.globalAlpha = Math.min(1, Math.abs(off));
          context.fillRect(left + k * wide, row * high, Math.max(1, wide - (wide > 6)), Math.max(1, high - (high > 6)));
        }
        context.globalAlpha = 1;
        if (row % every === 0) chText(context, part.names[row].slice(0, 24), left - 6, row * high + Math.min(high, 14) - 2, "right");
      }
      chText(context, first[0], left, rows * high + low - 5);
      chText(context, step(count - 1), width - right, rows * high + low - 5, "right");
    });
    picture.addEventListener("pointermove", (event) => { const at = spot(event); note.textContent = inside(at) ? told(p, ...at) : title; });
    picture.addEventListener("click", (event) => { const at = spot(event); if (inside(at)) page.show({from: begin[at[1]], to: end[at[1]]}); });
    box.append(note, place);
  });
  const blocks = parts[0].block > 1 ? "; rows are " + parts[0].block + " ranks, of which in each step the longest counts" : "";
  box.append(node("p", {class: "quiet"}, "full colour: " + Math.round(100 * far) + " % from the mean; a click shows the step in the timeline" + blocks));
}});
