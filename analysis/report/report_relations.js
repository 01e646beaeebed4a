// Rows beside other rows, other systems and the machine.

// Columns of rows for records that name a row.
function of_row(columns) {
  return columns.map((column) => ({
                       ...column,
                       get: (record) => column.get(rows[record.row]),
                       show: column.show && ((record) => column.show(rows[record.row])),
                       tip: column.tip && ((record) => column.tip(rows[record.row])),
                       find: column.find && ((record) => column.find(rows[record.row]))
                     }));
}
const by_row = {rows: (record) => [record.row]};
const mark_of_row = (record) => rows[record.row].mark;
const own_mark = (record) => record.mark;

function speedups() {
  if (!report.speedups) return;
  const columns = [
    ...of_row([problem_column()]),
    ...of_row([time_column()]),
    field('Other system', (speedup) => text_at(speedup.system), {kind: 'short'}),
    {
      ...measure('Its value', (speedup) => speedup.value, seconds),
      show: (speedup) => human(speedup.value, text_at(speedup.unit)) + (speedup.projection ? '‡' : speedup.published ? '*' : '')
    },
    {
      ...measure('Row over other', (speedup) => speedup.speedup, times, {down: true, keep: true}),
      show: (speedup) => times(speedup.speedup) + (speedup.published ? '*' : '') + (speedup.not_given ? '?' : '') + rows[speedup.row].mark
    },
    ...of_row(work_columns()),
    // That a number is published is said by its mark.
    field('Note', (speedup) => text_at(speedup.note).split('; ').filter((part) => !part.startsWith('published')).join('; '), {wide: true}),
  ];
  const made = section(
      'speedups', 'Speedup over other systems',
      element(
          'p', {},
          speedup_header('this row', 'the other system') + '. ' +
              '* marks published numbers, which have no interval, ‡ projections, which nobody measured, ? ratios to a number ' +
              'whose source does not give all that defines the work (see its note).'),
      data_table('Speedups', columns, report.speedups, by_row));
  const cited = [...new Set(report.speedups.map((speedup) => text_at(speedup.citation)).filter(Boolean))];
  const most = 200;
  if (cited.length)
    append(
        made,
        element(
            'details', {}, element('summary', {}, 'Sources of the published numbers (' + cited.length + ')'),
            element(
                'ul', {}, cited.slice(0, most).map((citation) => element('li', {}, citation)),
                cited.length > most ? element('li', {}, cited.length - most + ' more are in the result file') :
                                      null)));
}

function roofline() {
  const part = report.roofline;
  if (!part) return;
  const columns = [
    ...of_row([problem_column()]),
    marked(measure('Rate', (point) => point.rate, (value) => human(value, 'FLOP/s'), {down: true}), mark_of_row),
    marked(measure('Of its ceiling', (point) => point.fraction, percent), mark_of_row),
    measure('Intensity, FLOP/B', (point) => point.intensity, plain),
    ...of_row(work_columns()),
  ];
  section(
      'roofline', 'Roofline',
      element(
          'p', {},
          'Measured rate against arithmetic intensity. The lines are what the machine did in the stream and ' +
              'arithmetic benchmarks that bracket the rows: medians over the rows of a system and precision.'),
      plot('Roofline plot', () => roofline_plot(part)),
      filtered_note(() => thinned_text(part.points.filter((point) => passes(point.row)).length)),
      folded_table('Table of the roofline', data_table('Roofline', columns, part.points, by_row)));
}

function precision_interval(gain) {
  return known(gain.low) ? (gain.range ? 'range ' : '') + range(gain.low, gain.high, times) : '';
}

function precision() {
  const part = report.precision;
  if (!part) return;
  const columns = [
    ...of_row([problem_column()]),
    field('Precision', (gain) => gain.executed, {fold: true, bare: true}),
    marked(measure('Speedup over fp32', (gain) => gain.speedup, times, {down: true, keep: true}), own_mark),
    field('Its interval', precision_interval, {kind: 'short'}),
    measure('Norm error', (gain) => gain.error, error_text, {keep: true}),
    measure('Largest error', (gain) => rows[gain.row].max_error, error_text),
    measure('Energy saved', (gain) => gain.energy, times, {down: true}),
    ...of_row([time_column()]),
    measure('fp32', (gain) => rows[gain.reference].median, seconds),
    ...of_row(work_columns('precision')),
  ];
  section(
      'precision', 'Precision: speed against error',
      element(
          'p', {},
          'Each row beside the fastest fp32 row of the same work and backend in the same environment: the median of the ' +
              'launches that have both, with its 95 % interval, or the range of fewer than ' + report.least_for_interval +
              ' launches. The norm error is the 2-norm of the errors over that of the fp64 reference of the same ' +
              'inputs: what rounding fp32 data to 16 bits or to integers costs is not included. "X storage, Y arithmetic" ' +
              'has tensors of X and forms its products in Y.'),
      plot('Speedup over fp32 against error', () => precision_plot(part)),
      filtered_note(() => thinned_text(part.filter((gain) => passes(gain.row)).length)),
      folded_table('Table of precisions', data_table('Precision', columns, part, by_row)));
}
