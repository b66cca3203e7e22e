// How long calls wait: a histogram by routine, in number and in time, and the longest waits.
page.panel("waits", {draw(box, data) {
  const {node} = page;
  box.append(node("p", {class: "answer"}, data.answer));
  if (!data.edges.length) return;
  const chart = ({title, bars, said, most}) => {
    const place = node("div", {}), note = node("p", {class: "quiet"}, title), n = Math.max(8, bars.length);
    chPicture(place, 150, title + "; the numbers stand in the table", (context, width, height) => bars.forEach((row, k) => {
      let y = height - 18;
      const w = width / n;
      row.forEach((part, i) => {
        context.fillStyle = page.colour("--" + data.colours[i]);
        context.globalAlpha = chStrength(data.colours, i);
        context.fillRect(k * w, y -= part * (height - 22), Math.max(1, w - 2), part * (height - 22));
      });
      context.globalAlpha = 1;
      if (!k) {
        chText(context, most + " at most", width - 2, 16, "right");
        context.fillStyle = page.colour("--line");
        context.fillRect(0, 4, width, 1);
        context.fillRect(0, height - 18, width, 1);
      }
      if (k % Math.ceil(44 / w) === 0) chText(context, data.edges[k], k * w, height - 4);
    })).addEventListener("pointermove", (event) => { note.textContent = said[Math.floor(event.offsetX / place.clientWidth * n)] || title; });
    return node("div", {}, note, place);
  };
  box.append(chLegend(data.routines, data.colours), node("div", {class: "halves"}, ...data.charts.map(chart)), chTables(data.tables));
}});
