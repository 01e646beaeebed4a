// Curves: collectives by message size and over ranks, scaling over ranks and threads.

// The first curves are drawn, since more cannot be told apart; the table has all.
const most_curves = 12;
function too_many(curves) {
  return filtered_note(() => {
    const count = shown_curves(curves, 1).length;
    return has_plots && count > most_curves ? most_curves + ' of ' + count + ' curves are drawn; the table has all.' : '';
  });
}
function curve_column() {
  return field('Curve', (curve) => curve.name, {wide: true, tip: (curve) => curve.full, find: (curve) => curve.full, keep: true});
}
// A curve stays while one of its points passes.
const by_curve = {rows: (curve) => curve.points.map((point) => point.row)};
const by_point = {rows: (curve) => [curve.row]};
function points_of(curves) {
  return curves.flatMap((curve) => curve.points.map((point) => ({...curve, ...point})));
}

// The sizes for which a curve's line is the least among the algorithms that it stands beside.
function least_sizes(curve) {
  if (curve.withheld) return 'withheld';
  if (!curve.fit || !curve.rivals) return '';
  if (!curve.least) return 'never';
  const [from, to] = curve.least;
  if (!(from > 0)) return to === null ? 'always' : 'below ' + human(to, 'B');
  return to === null ? 'from ' + human(from, 'B') : human(from, 'B') + ' to ' + human(to, 'B');
}

function fit_columns() {
  const of_fit = (get) => (curve) => curve.fit ? get(curve.fit) : null, mark = (curve) => curve.mark;
  const alpha = of_fit((fit) => fit.alpha), number = (digits) => (value) => known(value) ? value.toFixed(digits) : '\u2013';
  return [
    curve_column(),
    marked(
        measure(
            'Best bandwidth', (curve) => Math.max(...curve.points.map((point) => point.busbw)), (value) => human(value, 'B/s'),
            {down: true}),
        mark),
    {
      ...measure('\u03b1', alpha, seconds),
      show: (curve) => curve.fit ? seconds(alpha(curve)) + mark(curve) + (alpha(curve) <= 0 ? ' (no latency seen)' : '') : curve.fit_reason
    },
    marked(measure('1/\u03b2', of_fit((fit) => fit.beta > 0 ? 1 / fit.beta : null), (value) => human(value, 'B/s')), mark),
    measure('R\u00b2', (curve) => curve.r_squared, number(4)),
    measure('Worst residual', of_fit((fit) => fit.worst), percent),
    measure('Held-out error', of_fit((fit) => fit.held_out), percent),
    field('Least time', least_sizes),
    measure('Sizes', (curve) => curve.points.length, plain),
    measure('\u03b2', of_fit((fit) => fit.beta), (value) => known(value) ? value.toExponential(2) + ' s/B' : '\u2013'),
  ];
}

function collectives() {
  const part = report.collectives;
  if (!part) return;
  for (const curve of part.sizes)
    curve.points = curve.rows.map(
        (row, i) => ({row, bytes: curve.bytes[i], seconds: curve.seconds[i], busbw: curve.busbw[i]}));
  const made = section(
      'collectives', 'Collectives',
      element(
          'p', {},
          'Bus bandwidth against message size. Dotted: t = \u03b1 + \u03b2\u00b7bytes, by least squares of the ' +
              'relative residuals. Where the worst residual is large, the line is no model of the series. Held-out: the ' +
              'largest error for a size that the fit did not see. Least time: where this line is below those of the ' +
              'other algorithms; beyond the measured sizes it is an extrapolation. A curve with fewer than 3 sizes, or ' +
              'with R\u00b2 below ' + part.least_r_squared + ', has no line.'));
  if (part.sizes.some((curve) => curve.withheld))
    append(
        made,
        element(
            'p', {class: 'notice'},
            'Least time is withheld where an algorithm in the comparison has no line: it may be the fastest.'));
  const groups = grouped(part.sizes, (curve) => curve.group);
  for (const [name, curves] of groups)
    append(
        made, groups.size > 1 ? element('h3', {}, name) : null,
        plot('Bandwidth curves of ' + name, () => collectives_plot(curves)), too_many(curves));
  append(made, folded_table('Table of the fits', data_table('Fits', fit_columns(), part.sizes, by_curve)));
  if (part.ranks.length) append(made, over_ranks(part.ranks));
}
function over_ranks(all) {
  const mark = (curve) => curve.mark, made = [
    element('h3', {}, 'Over ranks'),
    element(
        'p', {},
        'Bus bandwidth of the largest message that ran with several numbers of ranks: a machine without ' +
            'contention keeps it.')
  ];
  for (const [name, curves] of grouped(all, (curve) => curve.group))
    made.push(
        plot(
            'Bus bandwidth of ' + name + ' over ranks', () => scaling_plot(curves, 'ranks', 'busbw', 'bus bandwidth')),
        too_many(curves));
  const columns = [
    curve_column(),
    measure('Ranks', (curve) => curve.count, plain),
    measure('Message', (curve) => curve.bytes, binary),
    marked(measure('Time', (curve) => curve.seconds, seconds), (curve) => rows[curve.row].mark),
    marked(measure('Bus bandwidth', (curve) => curve.busbw, (value) => human(value, 'B/s')), (curve) => rows[curve.row].mark),
    marked(measure('Of the fewest ranks\'', (curve) => curve.efficiency, percent), mark),
  ];
  return [...made, folded_table('Table over ranks', data_table('Collectives over ranks', columns, points_of(all), by_point))];
}

function scaling() {
  if (!report.scaling) return;
  const made = section(
      'scaling', 'Scaling',
      element(
          'p', {},
          'The same problem with more of the machine. Speedup is over the smallest count of the same curve; ' +
              'ideal is proportional.' +
              (report.scaling.some((curve) => curve.weak) ?
                   ' Where each rank has a problem of its own (weak), speedup counts the work of all of them.' :
                   '')));
  for (const over of ['ranks', 'threads']) {
    const curves = report.scaling.filter((curve) => curve.over === over), mark = (curve) => curve.mark;
    if (!curves.length) continue;
    append(made, element('h3', {}, 'Over ' + over));
    if (has_plots)
      append(
          made,
          element(
              'div', {class: 'pair'},
              plot('Speedup over ' + over, () => scaling_plot(curves, over, 'speedup', 'speedup'), 'half'),
              plot('Efficiency over ' + over, () => scaling_plot(curves, over, 'efficiency', 'efficiency'), 'half')),
          too_many(curves));
    const columns = [
      curve_column(),
      curves.some((curve) => curve.weak) ? field('Work', (curve) => curve.weak ? 'of each rank' : 'shared') : null,
      measure(over, (curve) => curve.count, plain),
      marked(measure('Time', (curve) => curve.seconds, seconds), (curve) => rows[curve.row].mark),
      marked(measure('Speedup', (curve) => curve.speedup, times), mark),
      measure('Ideal', (curve) => curve.ideal, times),
      marked(measure('Efficiency', (curve) => curve.efficiency, percent), mark),
    ].filter(Boolean);
    append(
        made,
        folded_table('Table over ' + over, data_table('Scaling over ' + over, columns, points_of(curves), by_point)));
  }
}

function nodes() {
  const part = report.nodes;
  if (!part) return;
  let shown = part.rows;
  const worst = (row) =>
      row.speedups.reduce((best, speedup, i) => known(speedup) && (best < 0 || speedup < row.speedups[best]) ? i : best, -1);
  const map = node_map(
      () => part.hosts, () => shown.map((row) => row.id),
      () => shown.map((row) => row.speedups.map((speedup, i) => ({speedup, mark: row.marks[i]}))), part.of,
      part.of_hosts > part.hosts.length ?
          'the ' + part.hosts.length + ' nodes of ' + part.of_hosts + ' that depart most' :
          null);
  const columns = [
    field('Row', (row) => row.id, {wide: true, keep: true}),
    measure('Fleet median', (row) => row.fleet_median, seconds),
    field('Slowest node', (row) => part.hosts[worst(row)], {show: (row) => whole(part.hosts[worst(row)])}),
    marked(measure('Node over the others', (row) => row.speedups[worst(row)], times), (row) => row.marks[worst(row)]),
  ];
  section('nodes', 'Nodes', map.parts, data_table('Rows of the nodes', columns, part.rows, {
            changed: (list) => {
              shown = part.rows.filter((row) => list.includes(row));
              map.redraw();
            }
          }));
}
