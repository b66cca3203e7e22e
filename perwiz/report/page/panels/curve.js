// The makespan over a parameter of the network: convex, of straight pieces; what the run tolerates, and where the critical path changes.
page.panel("curve", {draw(box, data) {
  const {node, time} = page, place = node("div", {}), note = node("p", {"aria-live": "polite"}), tables = node("div", {});
  if (!data.curves.length) return void box.append(node("p", {}, data.note));
  let {x, y, recorded, marks, ns} = data.curves[0], axes;
  const amount = (v) => ns ? time(v) : +v.toPrecision(4) + " ns/B";
  const height = (v) => {
    const k = Math.max(1, Math.min(x.length - 1, x.findIndex((corner) => corner >= v)));
    return y[k - 1] + (y[k] - y[k - 1]) * (v - x[k - 1]) / (x[k] - x[k - 1]);
  };
  // Multiples of 1, 2 or 5 times a power of ten between two values.
  const ticks = (from, to, count) => {
    const rough = (to - from) / count, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((k) => k * power >= rough) * power, out = [];
    for (let at = Math.ceil(from / step) * step; at <= to + step / 1e3; at += step) out.push(at);
    return out;
  };
  const picture = chPicture(place, 230, "The makespan over a parameter of the network; the numbers stand in the tables", (context, width, tall) => {
    const right = x[x.length - 1], low = y[0], high = Math.max(y[y.length - 1], low + data.whole / 1e3 + 1), from = Math.max(0, low - (high - low) * 0.15);
    const px = (v) => 70 + v / right * (width - 90), py = (v) => tall - 22 - (v - from) / (high - from) * (tall - 32);
    const line = (points) => { context.beginPath(); points.forEach(([a, b]) => context.lineTo(px(a), py(b))); context.stroke(); };
    axes = (at) => Math.max(0, Math.min(right, (at - 70) / (width - 90) * right));
    context.strokeStyle = page.colour("--line");
    context.lineWidth = 1;
    ticks(0, right, 6).forEach((v) => { line([[v, from], [v, high]]); chText(context, amount(v), px(v), tall - 6, v < right * 0.98 ? "center" : "right"); });
    const unit = time(high).split(" ")[1], size = {s: 1e9, ms: 1e6, us: 1e3, ns: 1}[unit], lines = ticks(from, high, 4);
    const digits = Math.max(0, Math.ceil(Math.log10(size / (lines[1] - lines[0]))));  // so that two lines differ
    lines.forEach((v) => { line([[0, v], [right, v]]); chText(context, (v / size).toFixed(digits) + " " + unit, 64, py(v) + 4, "right"); });
    if (from > 0) chText(context, "the axis begins at " + time(from), 74, 20, "left");
    context.setLineDash([5, 4]);
    context.strokeStyle = page.colour("--quiet");
    let free = 0;  // where the label before ends
    for (const [v, text] of [[recorded, "recorded"], ...marks]) {
      line([[v, from], [v, height(v)]]);
      if (px(v) < free) continue;
      chText(context, text, px(v) + 4, py(height(v)) + 14, v > right * 0.9 ? "right" : "left");
      free = px(v) + context.measureText(text).width + 8;
    }
    context.setLineDash([]);
    context.strokeStyle = page.colour("--mark");
    context.lineWidth = 2;
    line(x.map((v, k) => [v, y[k]]));
    context.fillStyle = page.colour("--mark");
    if (x.length < 60) x.slice(1, -1).forEach((v) => { context.beginPath(); context.arc(px(v), py(height(v)), 3.5, 0, 7); context.fill(); });
  });
  picture.addEventListener("pointermove", (event) => {
    const v = axes(event.offsetX), then = height(v);
    note.textContent = amount(v) + ": " + time(then) + (then < data.recorded ? ", " : ", +") + (100 * (then - data.recorded) / data.whole).toFixed(2) + " %";
  });
  const set = (k) => {
    ({x, y, recorded, marks, ns} = data.curves[k]);
    note.textContent = data.curves[k].said;
    tables.replaceChildren(chTables(data.curves[k].tables));
    picture.again();
  };
  box.append(node("div", {class: "tools flush"}, chSelect("parameter", data.curves.map((one) => "makespan over " + one.name), set), node("span", {class: "quiet"}, data.note)), note, place, tables);
  set(0);
}});
