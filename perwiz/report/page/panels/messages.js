// Who sends to whom and who waits for whom, as a matrix: rows send or come late, columns receive or wait.
page.panel("messages", {async draw(box, data) {
  const {node, time} = page, {names, kinds} = data, n = names.length, edge = 36, top = 18;
  if (!kinds.length) return void box.append(node("p", {}, "No process sends to another or waits for another here."));
  const [keys, calls, ...values] = await Promise.all([data.key, data.call, ...data.values].map(page.column)), place = new Map(Array.from(keys, (key, k) => [key, k]));
  const square = node("div", {class: "matrix"}), note = node("p", {"aria-live": "polite"}), list = node("div", {});
  const label = (k) => names[k].split(" ")[0].slice(0, 6);
  let kind, at = -1, w = 1;
  const picture = chPicture(square, Math.min(440, 40 * n + 60), "Matrix of processes; arrow keys choose a cell, told in words", (context, width, height) => {
    const scale = chScale(), mine = values[kind.value], most = mine.reduce((a, b) => Math.max(a, b), 1), step = Math.ceil(n * 30 / (height - edge));
    const x = (key) => edge + key % n * w, y = (key) => top + Math.floor(key / n) * w;
    w = Math.min(40, (Math.min(width, height) - edge) / n);
    context.fillStyle = page.colour("--idle");
    context.fillRect(edge, top, n * w, n * w);
    for (let k = 0; k < n; k += step) {
      chText(context, label(k), edge - 4, top + k * w + Math.min(w, 12) / 2 + 4, "right");
      chText(context, label(k), x(k) + w / 2, 12, "center");
    }
    keys.forEach((key, k) => {
      if (!mine[k]) return;
      context.fillStyle = scale(Math.sqrt(mine[k] / most));
      context.fillRect(x(key), y(key), w - (w > 6), w - (w > 6));
    });
    context.strokeStyle = page.colour("--chosen");
    if (at >= 0) context.strokeRect(x(at) - 0.5, y(at) - 0.5, w, w);
  });
  const choose = (wanted) => {
    const k = place.get(at = wanted), from = names[Math.floor(at / n)], to = names[at % n];
    note.replaceChildren(...at < 0 ? [data.sends ? "Row: who sends or comes late; column: who receives or waits." : "Row: who comes late; column: who waits.", node("span", {class: "screen"}, " Arrow keys choose a cell, Enter shows its longest wait.")] : [
      from + " \u2192 " + to + ": " + (k === undefined ? "nothing" : !data.sends ? to + " waits " + time(values[4][k]) : values[0][k] + " messages, " + page.size(values[1][k]) + "; " + to + " waits " +
      time(values[2][k]) + " for what " + from + " sends, " + time(values[3][k]) + " for it to receive, " + time(values[4][k]) + " in collectives")]);
    picture.again();
  };
  const show = () => { if (place.has(at)) page.show({call: calls[place.get(at)]}); };
  picture.tabIndex = 0;
  picture.addEventListener("pointermove", (event) => {
    const col = Math.floor((event.offsetX - edge) / w), row = Math.floor((event.offsetY - top) / w);
    choose(col >= 0 && row >= 0 && col < n && row < n ? row * n + col : -1);
  });
  picture.addEventListener("click", show);
  picture.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: at % n ? -1 : 0, ArrowRight: (at + 1) % n ? 1 : 0, ArrowUp: -n, ArrowDown: n}[event.key];
    if (event.key === "Enter") show();
    if (by === undefined) return;
    event.preventDefault();
    if (at < 0 || at + by < 0 || at + by >= n * n) choose(Math.max(0, at)); else choose(at + by);
  });
  const set = (k) => { kind = kinds[k]; list.replaceChildren(chTable(kind.table)); choose(-1); };
  const choice = chSelect("what the matrix shows", kinds.map((one) => one.title), set);
  choice.value = data.start;
  box.append(node("div", {class: "tools flush"}, choice, node("span", {class: "quiet"}, data.told + (data.sends ? "waits are the replay's, until the message is there; wait states count until the partner's call" : ""))), note, node("div", {class: "beside"}, square, list));
  set(data.start);
}});
