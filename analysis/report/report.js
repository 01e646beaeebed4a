// The sections in their order: the verdict, the plots, the tables.

const parts = [
  heading, summary, acceptance, nodes, roofline, precision, collectives, scaling, convergence, histories, models, comparisons,
  speedups, all_rows, environments, files, navigation
];
for (const draw of parts) {
  try {
    draw();
  } catch (error) {
    // One part that fails must not take the verdicts of the others with it, nor vanish in silence.
    console.error(error);
    main.append(element('p', {class: 'problem'}, 'The part "' + draw.name + '" cannot be drawn (' + error + ').'));
  }
}
document.documentElement.dataset.ready = 'true';
