// Rows beside other rows, other systems and the machine.

// Columns of rows for records that name a row.
function of_row(...columns) {
  const on = (what) => what && ((record) => what(rows[record.row]));
  return columns.filter(Boolean).map((column) => ({
    ...column,
    get: on(column.get),
    show: column.show && ((value, record) => column.show(value, rows[record.row])),
    mark: on(column.mark),
    tip: on(column.tip),
    find: on(column.find)
  }));
}
const by_row = {rows: (record) => [record.row]};
const row_mark = {mark: (record) => rows[record.row].mark}, own_mark = {mark: (record) => record.mark};

function speedups() {
  if (!report.speedups) return;
  const other_mark = (speedup) => speedup.projection ? '‡' : speedup.published ? '*' : '';
  const mark = (speedup) => (speedup.published ? '*' : '') + (speedup.not_given ? '?' : '') + rows[speedup.row].mark;
  // The mark of a number already says that it is published.
  const note = (speedup) => speedup.note.split('; ').filter((part) => !part.startsWith('published')).join('; ');
  const columns = [
    ...of_row(problem_column(), time_column()), field('Other system', 'system', 'short'),
    measure('Its value', 'value', '', {mark: other_mark}), measure('Row over other', 'speedup', 'down keep', {mark}),
    ...of_row(...work_columns()), field('Note', note, 'wide')
  ];
  const cited = [...new Set(report.speedups.map((speedup) => speedup.citation).filter(Boolean))], most = 200;
  const sources = [...cited.slice(0, most), ...cited.length > most ? [cited.length - most + ' more are in the result file'] : []];
  section(
      'speedups', 'Speedup over other systems',
      paragraph(
          speedup_header('this row', 'the other system') + '. ' +
          '* marks published numbers, which have no interval, ‡ projections, which nobody measured, ? ratios to a number ' +
          'whose source does not give all that defines the work (see its note).'),
      data_table('Speedups', columns, report.speedups, by_row),
      cited.length ? element(
          'details', {}, element('summary', {}, 'Sources of the published numbers (' + cited.length + ')'), bullets(sources)) :
          null);
}

// A section of rows in a plot and in a table that is opened by a click.
function plotted_rows(id, title, text, plot_title, make, points, table_title, columns) {
  section(
      id, title, paragraph(text), plot(plot_title, make),
      filtered_note(() => thinned_text(points.filter((point) => passes(point.row)).length)),
      fold(table_title, data_table(title.split(':')[0], columns, points, by_row)));
}

function roofline() {
  const part = report.roofline;
  if (!part) return;
  const columns = [
    ...of_row(problem_column()), measure('Rate', 'rate', 'down', row_mark),
    measure('Of its ceiling', 'fraction', '', {mark: (point) => ceiling_mark(rows[point.row])}),
    measure('Intensity, FLOP/B', 'intensity'),
    ...of_row(...work_columns())
  ];
  plotted_rows(
      'roofline', 'Roofline',
      'Measured rate against arithmetic intensity. The lines are what the machine did in the stream and ' +
          'arithmetic benchmarks that bracket the rows: medians over the rows of a system and precision.' +
          (part.points.some((point) => point.fewer) ?
               ' Winograd may lie above its line: its rate counts the operations of the direct convolution, of which it ' +
                   'executes fewer.' :
               '') +
          (rows.some((row) => row.exceeded) ? exceeded_sentence : ''),
      'Roofline plot', (width) => roofline_plot(part, width), part.points, 'Table of the roofline', columns);
}

function precision() {
  const part = report.precision;
  if (!part) return;
  const interval = (gain) => known(gain.low) ? (gain.range ? 'range ' : '') + range(gain.low_text, gain.high_text) : '';
  const columns = [
    ...of_row(problem_column()), field('Precision', 'executed', 'fold bare'),
    measure('Speedup over fp32', 'speedup', 'down keep', own_mark), field('Its interval', interval, 'short'),
    measure('Norm error', 'error', 'keep'), ...of_row(measure('Largest error', 'max_error')),
    measure('Energy saved', 'energy', 'down'), ...of_row(time_column()),
    measure('fp32', (gain) => rows[gain.reference].median, '', {show: (_, gain) => rows[gain.reference].median_text}),
    ...of_row(...work_columns(null))
  ];
  plotted_rows(
      'precision', 'Precision: speed against error',
      'Each row beside the fastest fp32 row of the same work and backend in the same environment: the median of the ' +
          'launches that have both, with its 95 % interval, or the range of fewer than ' + report.least_for_interval +
          ' launches. The norm error is the 2-norm of the errors over that of the fp64 reference of the same ' +
          'inputs: what rounding fp32 data to 16 bits or to integers costs is not included. "X storage, Y arithmetic" ' +
          'has tensors of X and forms its products in Y.',
      'Speedup over fp32 against error', (width) => precision_plot(part, width), part, 'Table of precisions', columns);
}
