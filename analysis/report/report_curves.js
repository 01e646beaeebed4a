// Curves: collectives by message size and over ranks, scaling over ranks and threads, trainings by batch; nodes.

// The first curves are drawn, since more cannot be told apart; the table has all.
const most_curves = 12;
const too_many = (curves) => filtered_note(() => {
  const count = shown_curves(curves).length;
  return has_plots && count > most_curves ? most_curves + ' of ' + count + ' curves are drawn; the table has all.' : '';
});
const curve_column = () => field('Curve', 'name', 'wide keep', {tip: (curve) => curve.full, find: (curve) => curve.full});
// A curve stays while one of its points passes.
const by_curve = {rows: (curve) => curve.points.map((point) => point.row)};
const points_of = (curves) => curves.flatMap((curve) => curve.points.map((point) => ({...curve, ...point})));
// The plots of the groups of curves, each below its name if `named`.
function grouped_plots(curves, named, make) {
  const groups = [...grouped(curves, (curve) => curve.group)];
  return groups.map(([name, list]) => [named && groups.length > 1 ? subtitle(name) : null, make(name, list), too_many(list)]);
}
// Two plots beside each other: [title, make].
function plot_pair(curves, ...plots) {
  if (!has_plots) return null;
  return [element('div', {class: 'pair'}, plots.map(([title, make]) => plot(title, make, 'half'))), too_many(curves)];
}

function fit_columns() {
  const of_fit = (title, get, show, more) => measure(title, (curve) => curve.fit ? get(curve.fit) : null, show, '', more);
  const alpha = (value, curve) =>
      curve.fit ? seconds(value) + curve.mark + (value <= 0 ? ' (no latency seen)' : '') : curve.fit_reason;
  const best = (curve) => Math.max(...curve.points.map((point) => point.busbw));
  return [
    curve_column(), measure('Best bandwidth', best, unit('B/s'), 'down', own_mark),
    of_fit('\u03b1', (fit) => fit.alpha, alpha),
    of_fit('1/\u03b2', (fit) => fit.beta > 0 ? 1 / fit.beta : null, unit('B/s'), own_mark),
    measure('R\u00b2', 'r_squared', fixed(4)), of_fit('Worst residual', (fit) => fit.worst, percent),
    of_fit('Held-out error', (fit) => fit.held_out, percent), field('Least time', 'least'),
    measure('Sizes', (curve) => curve.points.length, plain),
    of_fit('\u03b2', (fit) => fit.beta, or_dash((beta) => beta.toExponential(2) + ' s/B'))
  ];
}

function collectives() {
  const part = report.collectives;
  if (!part) return;
  for (const curve of part.sizes)
    curve.points = curve.rows.map(
        (row, i) => ({row, bytes: curve.bytes[i], seconds: curve.seconds[i], busbw: curve.busbw[i]}));
  const withheld = 'No algorithm is called fastest, because one of them has no fitted line.';
  section(
      'collectives', 'Collectives',
      paragraph(
          'Bus bandwidth against message size. Dotted: t = \u03b1 + \u03b2\u00b7bytes, by least squares of the ' +
          'relative residuals. Where the worst residual is large, the line is no model of the series. Held-out: the ' +
          'largest error for a size that the fit did not see. Least time: where this line is below those of the ' +
          'other algorithms; beyond the measured sizes it is an extrapolation. A curve with fewer than 3 sizes, or ' +
          'with R\u00b2 below ' + part.least_r_squared + ', has no line.'),
      part.sizes.some((curve) => curve.withheld) ? paragraph(withheld, 'notice') : null,
      grouped_plots(part.sizes, true, (name, curves) => plot('Bandwidth curves of ' + name, () => collectives_plot(curves))),
      fold('Table of the fits', data_table('Fits', fit_columns(), part.sizes, by_curve)),
      part.ranks.length ? over_ranks(part.ranks) : null);
}
// A number of a point, and one that is also made of the first point of its curve.
const point_measure = (title, get, show) => measure(title, get, show, '', row_mark);
const curve_measure = (title, get, show) => measure(title, get, show, '', own_mark);
function over_ranks(all) {
  const columns = [
    curve_column(), measure('Ranks', 'count', plain), measure('Message', 'bytes', binary),
    point_measure('Time', 'seconds', seconds), point_measure('Bus bandwidth', 'busbw', unit('B/s')),
    curve_measure('Of the fewest ranks\'', 'efficiency', percent)
  ];
  return [
    subtitle('Over ranks'),
    paragraph(
        'Bus bandwidth of the largest message that ran with several numbers of ranks: a machine without ' +
        'contention keeps it.'),
    grouped_plots(all, false, (name, curves) => plot(
        'Bus bandwidth of ' + name + ' over ranks', () => scaling_plot(curves, 'ranks', 'busbw', 'bus bandwidth'))),
    fold('Table over ranks', data_table('Collectives over ranks', columns, points_of(all), by_row))
  ];
}

function scaling_over(over) {
  const curves = report.scaling.filter((curve) => curve.over === over), is_weak = curves.some((curve) => curve.weak);
  if (!curves.length) return null;
  const columns = [
    curve_column(), is_weak ? field('Work', (curve) => curve.weak ? 'of each ' + over.slice(0, -1) : 'shared') : null,
    measure(over, 'count', plain), point_measure('Time', 'seconds', seconds), curve_measure('Speedup', 'speedup', times),
    measure('Ideal', 'ideal', times), curve_measure('Efficiency', 'efficiency', percent)
  ];
  return [
    subtitle('Over ' + over),
    plot_pair(
        curves, ['Speedup over ' + over, () => scaling_plot(curves, over, 'speedup', 'speedup')],
        ['Efficiency over ' + over, () => scaling_plot(curves, over, 'efficiency', 'efficiency')]),
    fold('Table over ' + over, data_table('Scaling over ' + over, columns, points_of(curves), by_row))
  ];
}
function scaling() {
  if (!report.scaling) return;
  section(
      'scaling', 'Scaling',
      paragraph(
          'The same problem with more of the machine. Speedup is over the smallest count of the same curve; ' +
          'ideal is proportional.' +
          (report.scaling.some((curve) => curve.weak) ?
               ' Where each rank or thread has work of its own (weak), speedup counts the work of all of them.' :
               '')),
      ['ranks', 'threads'].map(scaling_over));
}

// Training to an accuracy: what a larger batch costs.
function convergence() {
  const curves = report.convergence;
  if (!curves) return;
  const qualities = ['accuracy', 'correlation', 'iou'].filter((name) => points_of(curves).some((point) => name in point));
  const quality = qualities.length === 1 ? qualities[0] : 'quality';
  const title = 'Training to ' + (['accuracy', 'iou'].includes(quality) ? 'an ' : 'a ') + quality;
  const spread = (what, show) => [(point) => point[what].median, (_, point) => spread_text(point[what], show)];
  const columns = [
    curve_column(), measure('Images of a step', 'images', plain), measure('Target', (point) => Number(point.target), plain),
    field('Reached', (point) => point.reached + ' of ' + point.trials), measure('Epochs', ...spread('epochs', plain)),
    point_measure('Time', ...spread('seconds', seconds)), ...qualities.map((name) => measure('Best ' + name, name, fixed(4)))
  ];
  section(
      'convergence', title,
      paragraph(
          'Epochs and time until validation reaches the target ' + quality + ', against the images of one update. A point is the ' +
          'median of its trials, a bar reaches from the least to the most. A training that does not reach the target counts ' +
          'as longer than any that does; where the median does not reach it, there is no number, but a cross in the ' +
          'strip above. A bar that ends at the upper edge goes on.'),
      plot_pair(
          curves,
          ['Epochs to the ' + quality + ' against the batch', () => convergence_plot(curves, quality, 'epochs', 'epochs', plain)],
          ['Time to the ' + quality + ' against the batch', () => convergence_plot(curves, quality, 'seconds', 'time', seconds)]),
      fold('Table of the trainings', data_table(
          title, columns, points_of(curves), {rows: (point) => point.rows})));
}
// Medians are points; trainings of which most do not reach the target have no number: they are crosses in a strip of their
// own, above the axis.
function convergence_plot(all, quality, wanted, title, show) {
  const reach = (point) => point[wanted], images = (point) => point.images, middle = (point) => reach(point).median;
  return curves_plot(all, (curves, points) => {
    const reached = points.filter((point) => known(middle(point))), medians = reached.map(middle);
    // The axis follows the medians: a bar is shown as far as it is not beyond twice the largest, or half of the least.
    const near = (end) => known(end) && end <= 2 * Math.max(...medians) && end >= 0.5 * Math.min(...medians);
    const ends = reached.flatMap((point) => [reach(point).low, reach(point).high]);
    const yaxis = log_axis(title + ' to the ' + quality, [...medians, ...ends.filter(near)], show);
    const edge = 10 ** yaxis.range[1];
    const data = curves.flatMap((curve) => {
      const color = colour_of(curve.place), legendgroup = 'c' + curve.place;
      const text = (point) => lines(
          curve.full, point.images + ' images in a step', title + ': ' + spread_text(reach(point), show),
          point.reached + ' of ' + point.trials + ' trials reached ' + curve.target);
      const good = curve.points.filter((point) => known(middle(point)));
      const bad = curve.points.filter((point) => !known(middle(point)));
      const error_y =
          bars(good, middle, (point) => reach(point).low, (point) => reach(point).high ?? edge, {color, thickness: 1});
      const cross = {
        mode: 'markers',
        yaxis: 'y2',
        showlegend: false,
        marker: {color, symbol: 'x-thin', size: 10, line: {width: 2, color}},
        line: undefined,
        legendgroup
      };
      const line = curve_series(curve, images, middle, text, {error_y, legendgroup}, good);
      if (!good.length) line.x = line.y = [null];  // its name in the legend
      return [line, ...bad.length ? [curve_series(curve, images, () => 0, text, cross, bad)] : []];
    });
    const xaxis = count_axis('images in a step', distinct_counts(points, images));
    if (reached.length === points.length) return {data, layout: {showlegend: true, xaxis, yaxis}};
    const domain = [0.92, 1], tickvals = [0], ticktext = ['not reached'];
    const strip = axis('', {domain, range: [-1, 1], tickvals, ticktext, zeroline: false, fixedrange: true});
    return {data, layout: {showlegend: true, xaxis, yaxis: {...yaxis, domain: [0, 0.88]}, yaxis2: strip}};
  });
}
function spread_text(spread, show) {
  const text = (value) => known(value) ? show(value) : 'not reached';
  return text(spread.median) +
      (spread.low === spread.high ? '' : ' (' + text(spread.low) + ' \u2026 ' + text(spread.high) + ')');
}

function nodes() {
  const part = report.nodes;
  if (!part) return;
  const worst = (row) =>
      row.speedups.reduce((best, speedup, i) => known(speedup) && (best < 0 || speedup < row.speedups[best]) ? i : best, -1);
  const columns = [
    field('Row', 'id', 'wide keep'), measure('Fleet median', 'fleet_median', seconds),
    field('Slowest node', (row) => part.hosts[worst(row)], '', {show: whole}),
    measure('Node over the others', (row) => row.speedups[worst(row)], times, '', {mark: (row) => row.marks[worst(row)]}),
  ];
  const content = (list) => ({
    hosts: part.hosts,
    cases: list.map((row) => row.id),
    cells: list.map((row) => row.speedups.map((speedup, i) => ({speedup, mark: row.marks[i]})))
  });
  const which = part.of_hosts > part.hosts.length ?
      'the ' + part.hosts.length + ' nodes of ' + part.of_hosts + ' that depart most' :
      null;
  section('nodes', 'Nodes', node_map(part.rows, content, part.of, which, 'Rows of the nodes', columns, part.rows));
}
