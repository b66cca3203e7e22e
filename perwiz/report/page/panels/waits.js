// How long calls wait: a histogram by routine, in number and in time, and the longest waits.
page.panel("waits", {draw(box, data) {
  const {node} = page;
  box.append(node("p", {class: "answer"}, data.answer));
  if (!data.edges.length) return;
  const chart = ({title, bars, said, most}) => {
    const place = node("div", {}), note = node("p", {class: "quiet"}, title), n = Math.max(8, bars.length);
    chPicture(place, 150, title + "; the numbers stand in the table", (context, width, height) => {
      const w = width / n, low = height - 18, tall = low - 18;
      chText(context, most + " at most", width - 2, 12, "right");
      context.fillStyle = page.colour("--line");
      for (const y of [low - tall, low]) context.fillRect(0, y, width, 1);
      bars.forEach((row, k) => {
        let y = low;
        row.forEach((part, i) => {
          context.fillStyle = page.colour("--" + data.colours[i]);
          context.globalAlpha = chStrength(data.colours, i);
          context.fillRect(k * w, y -= part * tall, Math.max(1, w - 2), part * tall);
        });
        context.globalAlpha = 1;
        if (k % Math.ceil(44 / w) === 0) chText(context, data.edges[k], k * w, height - 4);
      });
    }).addEventListener("pointermove", (event) => { note.textContent = said[Math.floor(event.offsetX / place.clientWidth * n)] || title; });
    return node("div", {}, note, place);
  };
  box.append(chLegend(data.routines, data.colours), node("div", {class: "halves"}, ...data.charts.map(chart)), chTables(data.tables));
}});
