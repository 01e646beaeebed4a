// Rows beside other rows, other systems and the machine.

// Columns of rows for records that name a row.
function of_row(columns) {
  return columns.map((column) => ({
                       ...column,
                       get: (one) => column.get(rows[one.row]),
                       show: column.show && ((one) => column.show(rows[one.row])),
                       tip: column.tip && ((one) => column.tip(rows[one.row])),
                       find: column.find && ((one) => column.find(rows[one.row]))
                     }));
}
const by_row = {rows: (one) => [one.row]};
const mark_of_row = (one) => rows[one.row].mark;
const own_mark = (one) => one.mark;

function speedups() {
  if (!report.speedups) return;
  const columns = [
    ...of_row([problem_column()]),
    ...of_row([time_column()]),
    field('Other system', (one) => text_at(one.system), {kind: 'short'}),
    {
      ...measure('Its value', (one) => one.value, seconds),
      show: (one) => human(one.value, text_at(one.unit)) + (one.projection ? '‡' : one.published ? '*' : '')
    },
    {
      ...measure('Row over other', (one) => one.speedup, times, {down: true, keep: true}),
      show: (one) => times(one.speedup) + (one.published ? '*' : '') + (one.not_given ? '?' : '') + rows[one.row].mark
    },
    ...of_row(work_columns()),
    // That a number is published is said by its mark.
    field('Note', (one) => text_at(one.note).split('; ').filter((part) => !part.startsWith('published')).join('; '), {wide: true}),
  ];
  const made = section(
      'speedups', 'Speedup over other systems',
      element(
          'p', {},
          speedup_header('this row', 'the other system') + '. ' +
              '* marks published numbers, which have no interval, ‡ projections, which nobody measured, ? ratios to a number ' +
              'whose source does not give all that defines the work (see its note).'),
      data_table('Speedups', columns, report.speedups, by_row));
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
    ...of_row([problem_column()]),
    marked(measure('Rate', (one) => one.rate, (value) => human(value, 'FLOP/s'), {down: true}), mark_of_row),
    marked(measure('Of its ceiling', (one) => one.fraction, percent), mark_of_row),
    measure('Intensity, FLOP/B', (one) => one.intensity, plain),
    ...of_row(work_columns()),
  ];
  section(
      'roofline', 'Roofline',
      element(
          'p', {},
          'Measured rate against arithmetic intensity. The lines are what the machine did in the stream and ' +
              'arithmetic benchmarks that bracket the rows: medians over the rows of a system and precision.'),
      plot('Roofline plot', () => roofline_plot(part)),
      filtered_note(() => thinned_text(part.points.filter((one) => passes(one.row)).length)),
      folded_table('Table of the roofline', data_table('Roofline', columns, part.points, by_row)));
}

function precision_interval(one) {
  return known(one.low) ? (one.range ? 'range ' : '') + range(one.low, one.high, times) : '';
}

function precision() {
  const part = report.precision;
  if (!part) return;
  const columns = [
    ...of_row([problem_column()]),
    field('Precision', (one) => one.executed, {fold: true, bare: true}),
    marked(measure('Speedup over fp32', (one) => one.speedup, times, {down: true, keep: true}), own_mark),
    field('Its interval', precision_interval, {kind: 'short'}),
    measure('Norm error', (one) => one.error, error_text, {keep: true}),
    measure('Largest error', (one) => rows[one.row].max_error, error_text),
    measure('Energy saved', (one) => one.energy, times, {down: true}),
    ...of_row([time_column()]),
    measure('fp32', (one) => rows[one.reference].median, seconds),
    ...of_row(work_columns('precision')),
  ];
  section(
      'precision', 'Precision: speed against error',
      element(
          'p', {},
          'Each row beside the fastest fp32 row of the same work and backend in the same environment: the median of the ' +
              'launches that have both, with its 95 % interval, or the range of fewer than ' + report.least_for_interval +
              ' launches. The norm error is the 2-norm of the errors over that of the fp64 reference. "X storage, Y ' +
              'arithmetic" has tensors of X and forms its products in Y.'),
      plot('Speedup over fp32 against error', () => precision_plot(part)),
      filtered_note(() => thinned_text(part.filter((one) => passes(one.row)).length)),
      folded_table('Table of precisions', data_table('Precision', columns, part, by_row)));
}
