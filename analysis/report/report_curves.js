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
  const of_fit = (title, name, more) => measure(
      title, ({fit}) => fit ? fit[name] : null, '', {show: (_, {fit}) => fit && fit[name + '_text'], ...more});
  const alpha = (value, {fit, mark, fit_reason}) =>
      fit ? fit.alpha_text + mark + (value <= 0 ? ' (no latency seen)' : '') : fit_reason;
  const best = ({points}) => points.reduce((best, point) => point.busbw > best.busbw ? point : best);
  return [
    curve_column(), measure(
        'Best bandwidth', (curve) => best(curve).busbw, 'down', {show: (_, curve) => best(curve).busbw_text, ...own_mark}),
    of_fit('\u03b1', 'alpha', {show: alpha}), of_fit('1/\u03b2', 'bandwidth', own_mark), measure('R\u00b2', 'r_squared'),
    of_fit('Worst residual', 'worst'), of_fit('Held-out error', 'held_out'), field('Least time', 'least'),
    measure('Sizes', (curve) => curve.points.length), of_fit('\u03b2', 'beta')
  ];
}

function collectives() {
  const part = report.collectives;
  if (!part) return;
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
const point_measure = (title, get) => measure(title, get, '', row_mark);
const curve_measure = (title, get) => measure(title, get, '', own_mark);
function over_ranks(all) {
  const columns = [
    curve_column(), measure('Ranks', 'count'), measure('Message', 'bytes'), point_measure('Time', 'seconds'),
    point_measure('Bus bandwidth', 'busbw'), curve_measure('Of the fewest ranks\'', 'efficiency')
  ];
  return [
    subtitle('Over ranks'),
    paragraph(
        'Bus bandwidth of the largest message that ran with several numbers of ranks: a machine without ' +
        'contention keeps it.'),
    grouped_plots(all, false, (name, curves) => plot(
        'Bus bandwidth of ' + name + ' over ranks', () => scaling_plot(curves, 'ranks', 'busbw', 'bus bandwidth, B/s'))),
    fold('Table over ranks', data_table('Collectives over ranks', columns, points_of(all), by_row))
  ];
}

function scaling_over(over) {
  const curves = report.scaling.filter((curve) => curve.over === over), is_weak = curves.some((curve) => curve.weak);
  if (!curves.length) return null;
  const columns = [
    curve_column(), is_weak ? field('Work', (curve) => curve.weak ? 'of each ' + over.slice(0, -1) : 'shared') : null,
    measure(over, 'count'), point_measure('Time', 'seconds'), curve_measure('Speedup', 'speedup'), measure('Ideal', 'ideal'),
    curve_measure('Efficiency', 'efficiency')
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
  const spread = (title, what, more) =>
      measure(title, (point) => point[what].median, '', {show: (_, point) => spread_text(point[what]), ...more});
  const columns = [
    curve_column(), measure('Images of a step', 'images'), measure('Target', (point) => Number(point.target)),
    field('Reached', (point) => point.reached + ' of ' + point.trials), spread('Epochs', 'epochs'),
    spread('Time', 'seconds', row_mark), ...qualities.map((name) => measure('Best ' + name, name))
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
          ['Epochs to the ' + quality + ' against the batch', () => convergence_plot(curves, quality, 'epochs', 'epochs')],
          ['Time to the ' + quality + ' against the batch', () => convergence_plot(curves, quality, 'seconds', 'time')]),
      fold('Table of the trainings', data_table(
          title, columns, points_of(curves), {rows: (point) => point.rows})));
}
// Medians are points; trainings of which most do not reach the target have no number: they are crosses in a strip of their
// own, above the axis.
function convergence_plot(all, quality, wanted, title) {
  const reach = (point) => point[wanted], images = (point) => point.images, middle = (point) => reach(point).median;
  return curves_plot(all, (curves, points) => {
    const reached = points.filter((point) => known(middle(point))), medians = reached.map(middle);
    // The axis follows the medians: a bar is shown as far as it is not beyond twice the largest, or half of the least.
    const near = (end) => known(end) && end <= 2 * Math.max(...medians) && end >= 0.5 * Math.min(...medians);
    const ends = reached.flatMap((point) => [reach(point).low, reach(point).high]);
    const yaxis = log_axis(wanted + ' to the ' + quality, [...medians, ...ends.filter(near)]);
    const edge = 10 ** yaxis.range[1];
    const data = curves.flatMap((curve) => {
      const color = colour_of(curve.place), legendgroup = 'c' + curve.place;
      const text = (point) => lines(
          curve.full, point.images + ' images in a step', title + ': ' + spread_text(reach(point)),
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
function spread_text({low, high, ...spread}) {
  const text = (name) => spread[name + '_text'] ?? 'not reached';
  return text('median') + (low === high ? '' : ' (' + text('low') + ' \u2026 ' + text('high') + ')');
}

function nodes() {
  const part = report.nodes;
  if (!part) return;
  const worst = (row) =>
      row.speedups.reduce((best, speedup, i) => known(speedup) && (best < 0 || speedup < row.speedups[best]) ? i : best, -1);
  const columns = [
    field('Row', 'id', 'wide keep'), measure('Fleet median', 'fleet_median'),
    field('Slowest node', (row) => part.hosts[worst(row)], '', {show: whole}),
    measure('Node over the others', (row) => row.speedups[worst(row)], '', {
      show: (_, row) => row.speedups_text[worst(row)],
      mark: (row) => row.marks[worst(row)]
    }),
  ];
  const content = (list) => ({
    hosts: part.hosts,
    cases: list.map((row) => row.id),
    cells: list.map((row) => row.speedups.map((speedup, i) => ({speedup, text: row.speedups_text[i], mark: row.marks[i]})))
  });
  const which = part.of_hosts > part.hosts.length ?
      'the ' + part.hosts.length + ' nodes of ' + part.of_hosts + ' that depart most' :
      null;
  section('nodes', 'Nodes', node_map(part.rows, content, part.of, which, 'Rows of the nodes', columns, part.rows));
}
