// Rows beside other rows, other systems and the machine.

// A number made of others has their mark.
function marked(column, shared) {
  return {...column, show: (one) => column.show(one) + (known(column.get(one)) && shared(one) ? '!' : '')};
}

function speedups() {
  if (!report.speedups) return;
  const columns = [
    ...of_row(work_columns()),
    ...of_row([time_column()]),
    field('Other system', (one) => text_at(one.system), {choose: true, kind: 'short'}),
    {
      ...measure('Its value', (one) => one.value, seconds),
      show: (one) => human(one.value, text_at(one.unit)) + (one.published ? '*' : '')
    },
    {
      ...measure('Row over other', (one) => one.speedup, times, {down: true}),
      show: (one) => times(one.speedup) + (one.published ? '*' : '') + (rows[one.row].shared ? '!' : '')
    },
    field('Note', (one) => text_at(one.note), {wide: true}),
  ];
  const made = section(
      'speedups', 'Speedup over other systems',
      element(
          'p', {},
          speedup_header('this row', 'the other system') + '. ' +
              '* marks published numbers, which have no interval.'),
      data_table('Speedups', columns, report.speedups));
  const cited = [...new Set(report.speedups.map((one) => text_at(one.citation)).filter(Boolean))];
  const most = 200;
  if (cited.length)
    append(
        made,
        element(
            'details', {}, element('summary', {}, 'Sources of the published numbers (' + cited.length + ')'),
            element(
                'ul', {}, cited.slice(0, most).map((one) => element('li', {}, one)),
                cited.length > most ? element('li', {}, cited.length - most + ' more are in the result file') :
                                      null)));
}

function roofline() {
  const part = report.roofline;
  if (!part) return;
  const columns = [
    ...of_row(work_columns()),
    measure('Intensity, FLOP/B', (one) => one.intensity, plain),
    measure('Rate', (one) => one.rate, (value) => human(value, 'FLOP/s'), {down: true}),
    marked(measure('Of its ceiling', (one) => one.fraction, percent), (one) => rows[one.row].shared),
  ];
  section(
      'roofline', 'Roofline',
      element(
          'p', {},
          'Measured rate against arithmetic intensity. The lines are what the machine did in the stream and ' +
              'arithmetic benchmarks that bracket the rows: medians over the rows of a system and precision.'),
      plot('Roofline plot', () => roofline_plot(part)), thinned_note(part.points),
      data_table('Roofline', columns, part.points));
}

function precision() {
  const part = report.precision;
  if (!part) return;
  const columns = [
    ...of_row(work_columns()),
    ...of_row([time_column()]),
    measure('fp32', (one) => rows[one.reference].median, seconds),
    marked(measure('Speedup over fp32', (one) => one.speedup, times, {down: true}), (one) => one.shared),
    measure('Largest error', (one) => one.error, error_text),
  ];
  section(
      'precision', 'Precision: speed against error',
      element(
          'p', {},
          'Each row beside the fastest fp32 row of the same work in the same environment. The error is the largest ' +
              'over the checked outputs, over the RMS of the fp64 reference.'),
      plot('Speedup over fp32 against error', () => precision_plot(part)), thinned_note(part),
      data_table('Precision', columns, part));
}

// The first curves are drawn, since more cannot be told apart; the table has all.
const most_curves = 12;
function too_many(curves) {
  return curves.length > most_curves ?
      element('p', {class: 'soft'}, most_curves + ' of ' + curves.length + ' curves are drawn; the table has all.') :
      null;
}
function curve_column() {
  return field('Curve', (one) => one.name, {wide: true, tip: (one) => one.full, find: (one) => one.full});
}

// The sizes for which a curve's line is the least among the algorithms that it stands beside.
function least_sizes(one) {
  if (!one.fit || !one.rivals) return '';
  if (!one.least) return 'never';
  const [from, to] = one.least;
  if (!(from > 0)) return to === null ? 'always' : 'below ' + human(to, 'B');
  return to === null ? 'from ' + human(from, 'B') : human(from, 'B') + ' to ' + human(to, 'B');
}

function collectives() {
  const part = report.collectives;
  if (!part) return;
  const of_fit = (get) => (one) => one.fit ? get(one.fit) : null;
  const alpha = of_fit((fit) => fit.alpha);
  const columns = [
    curve_column(),
    measure('Sizes', (one) => one.bytes.length, plain),
    measure('Best bandwidth', (one) => Math.max(...one.busbw), (value) => human(value, 'B/s'), {down: true}),
    {
      ...measure('\u03b1', alpha, seconds),
      show: (one) => one.fit ? seconds(alpha(one)) + (alpha(one) <= 0 ? ' (no latency seen)' : '') : one.fit_reason
    },
    measure(
        '\u03b2', of_fit((fit) => fit.beta), (value) => known(value) ? value.toExponential(2) + ' s/B' : '\u2013'),
    measure('1/\u03b2', of_fit((fit) => fit.beta > 0 ? 1 / fit.beta : null), (value) => human(value, 'B/s')),
    measure('Worst residual', of_fit((fit) => fit.worst), percent),
    measure('R\u00b2', of_fit((fit) => fit.r_squared), (value) => known(value) ? value.toFixed(4) : '\u2013'),
    measure('Held-out error', of_fit((fit) => fit.held_out), percent),
    field('Least time', least_sizes),
  ];
  const made = section(
      'collectives', 'Collectives',
      element(
          'p', {},
          'Bus bandwidth against message size. Dotted: t = \u03b1 + \u03b2\u00b7bytes, by least squares of the ' +
              'relative residuals. Where the worst residual is large, the line is no model of the series. Held-out: the ' +
              'largest error for a size that the fit did not see. Least time: where this line is below those of the ' +
              'other algorithms; beyond the measured sizes it is an extrapolation.'));
  const groups = grouped(part.sizes, (one) => one.group);
  for (const [name, curves] of groups)
    append(
        made, groups.size > 1 ? element('h3', {}, name) : null,
        plot('Bandwidth curves of ' + name, () => collectives_plot(curves.slice(0, most_curves)), 'tall'),
        has_plots ? too_many(curves) : null);
  append(made, data_table('Fits', columns, part.sizes));
  if (!part.ranks.length) return;
  append(
      made, element('h3', {}, 'Over ranks'),
      element(
          'p', {},
          'Bus bandwidth of the largest message that ran with several numbers of ranks: a machine without ' +
              'contention keeps it.'));
  for (const [name, curves] of grouped(part.ranks, (one) => one.group))
    append(
        made,
        plot(
            'Bus bandwidth of ' + name + ' over ranks',
            () => scaling_plot(curves.slice(0, most_curves), 'ranks', 'busbw', 'bus bandwidth, B/s')),
        has_plots ? too_many(curves) : null);
  append(
      made,
      data_table(
          'Collectives over ranks',
          [
            curve_column(),
            measure('Ranks', (one) => one.count, plain),
            measure('Message', (one) => one.bytes, (value) => human(value, 'B')),
            measure('Time', (one) => one.seconds, seconds),
            measure('Bus bandwidth', (one) => one.busbw, (value) => human(value, 'B/s')),
            measure('Of the fewest ranks\'', (one) => one.efficiency, percent),
          ],
          points_of(part.ranks)));
}
function points_of(curves) {
  return curves.flatMap((curve) => curve.points.map((point) => ({...curve, ...point})));
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
    const curves = report.scaling.filter((curve) => curve.over === over), shown = curves.slice(0, most_curves);
    if (!curves.length) continue;
    append(made, element('h3', {}, 'Over ' + over));
    if (has_plots)
      append(
          made, plot('Speedup over ' + over, () => scaling_plot(shown, over, 'speedup', 'speedup')),
          plot('Efficiency over ' + over, () => scaling_plot(shown, over, 'efficiency', 'efficiency')),
          too_many(curves));
    const columns = [
      curve_column(),
      curves.some((curve) => curve.weak) ? field('Work', (one) => one.weak ? 'of each rank' : 'shared') : null,
      measure(over, (one) => one.count, plain),
      measure('Time', (one) => one.seconds, seconds),
      marked(measure('Speedup', (one) => one.speedup, times), (one) => one.shared),
      measure('Ideal', (one) => one.ideal, times),
      marked(measure('Efficiency', (one) => one.efficiency, percent), (one) => one.shared),
    ].filter(Boolean);
    append(made, data_table('Scaling over ' + over, columns, points_of(curves)));
  }
}

function nodes() {
  const part = report.nodes;
  if (!part) return;
  const worst = (row) =>
      row.speedups.reduce((best, one, i) => known(one) && (best < 0 || one < row.speedups[best]) ? i : best, -1);
  const columns = [
    field('Row', (row) => row.id, {wide: true}),
    measure('Fleet median', (row) => row.fleet_median, seconds),
    field('Slowest node', (row) => part.hosts[worst(row)]),
    measure('It over fleet', (row) => row.speedups[worst(row)], times),
  ];
  section(
      'nodes', 'Nodes',
      element(
          'p', {},
          speedup_header('node', 'the median of the nodes') + '; for ' +
              (part.rows.length < part.of ? 'the ' + part.rows.length + ' rows of ' + part.of + ' that differ most' :
                                            part.of + ' rows') +
              '. An empty cell has no number.'),
      plot(
          'Heat map of nodes',
          () => heat_plot(part.hosts, part.rows.map((row) => row.id), part.rows.map((row) => row.speedups)), 'free'),
      data_table('Nodes', columns, part.rows));
}
