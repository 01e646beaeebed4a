// The sections in their order: the verdict, the plots, the tables.

const acceptances = () => document_sections('acceptance', 'Acceptance, node by node', acceptance_part);
const histories = () => document_sections('history', 'History', history_part);
const models = () => document_sections('model', 'Model', model_part);
const comparisons = () => document_sections('comparison', 'Comparison, row by row', comparison_part);
for (const draw of [
  heading, summary, acceptances, nodes, evidence, roofline, precision, collectives, scaling, convergence, histories, models, comparisons,
  speedups, all_rows, environments, files, navigation
]) {
  try {
    draw();
  } catch (error) {
    // One part that fails must not take the verdicts of the others with it, nor vanish in silence.
    console.error(error);
    append(main, paragraph('The part "' + draw.name + '" cannot be drawn (' + error + ').', 'problem'));
  }
}
document.documentElement.dataset.ready = 'true';
