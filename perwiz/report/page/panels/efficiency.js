// Efficiencies, where the critical path lies, lower bounds, and which steps to balance: tables with bars.
page.panel("efficiency", {draw(box, data) {
  for (const {title, note, legend, tables} of data.blocks) {
    if (title) box.append(page.node("h3", {}, title), page.node("p", {class: "quiet"}, note));
    if (legend) box.append(chLegend(legend.names, legend.colours));
    box.append(chTables(tables));
  }
}});
