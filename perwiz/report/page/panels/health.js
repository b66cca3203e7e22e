// Health: model, misfit, clocks, what was not modelled, versions and the command line, as facts.
page.panel("health", {draw(box, data) {
  box.tabIndex = 0;  // nothing in it takes the focus, and it may have to be scrolled by keys
  box.append(page.node("div", {class: "columns health"}, ...data.blocks.map((block) =>
    page.node("div", {}, page.node("h3", {}, block.title), page.facts(block.facts)))));
}});
