// Shared by the panels: colours that everybody can tell apart (dark is much on paper, bright in the dark), tables and pictures from data.
const CH_SCALE = [[0, 32, 77], [65, 77, 107], [124, 123, 120], [188, 175, 111], [255, 234, 70]];

function chScale() {
  const dark = page.colour("--paper")[1] < "8";
  return (part) => {
    const some = 0.12 + 0.88 * Math.min(1, part), at = (dark ? some : 1 - some) * 4, k = Math.min(3, Math.floor(at)), f = at - k;
    return "rgb(" + CH_SCALE[k].map((low, i) => Math.round(low + (CH_SCALE[k + 1][i] - low) * f)) + ")";
  };
}

function chText(context, text, x, y, align) {
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = page.colour("--quiet");
  context.textAlign = align || "left";
  context.fillText(text, x, y);
}

function chSelect(label, texts, change) {
  return page.node("select", {"aria-label": label, onchange: (event) => change(+event.target.value)}, ...texts.map((text, k) => page.node("option", {value: k}, text)));
}

// How strong a colour is: what follows in the same is paler.
function chStrength(colours, k) { return [1, 0.72, 0.52, 0.38, 0.27, 0.2][Math.min(5, colours.slice(0, k).filter((name) => name === colours[k]).length)]; }

function chLegend(names, colours) {
  return page.node("ul", {class: "legend"}, ...names.map((name, k) => {
    const sample = page.node("i", {class: colours[k]});
    sample.style.opacity = chStrength(colours, k);
    return page.node("li", {}, sample, name);
  }));
}

function chCell(cell) {
  if (!cell.bars) return cell;
  const room = page.node("span", {class: "room"}, ...cell.bars.map((wide, k) => {
    const bar = page.node("i", {class: cell.colours[k]});
    bar.style.width = wide + "px";
    return bar;
  }));
  room.style.width = cell.width + 8 + "px";
  return page.node("span", {class: "nowrap"}, room, cell.text);
}

function chTable(table) {
  return page.table(table.head, table.rows.map((row, k) => {
    const go = table.go[k];
    return {cells: row.map(chCell), go: go && (() => page.show(go)), title: go && "show it in the timeline"};
  }), table);
}

function chTables(tables) { return page.node("div", {class: "beside"}, ...tables.map(chTable)); }

// A picture with a description; `again` paints it anew.
function chPicture(box, height, label, paint) {
  let last;
  const made = page.canvas(box, height, (...all) => { last = all; all[0].clearRect(0, 0, all[1], all[2]); paint(...all); });
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  made.again = () => { if (last) { last[0].clearRect(0, 0, last[1], last[2]); paint(...last); } };
  return made;
}
