// Training to an accuracy: what a larger batch costs.

function convergence() {
  const curves = report.convergence;
  if (!curves) return;
  const made = section(
      'convergence', 'Training to an accuracy',
      element(
          'p', {},
          'Epochs and time until validation reaches the target accuracy, against the images of one update. A point is the median of ' +
              'its trials, a bar reaches from the least to the most. A training that does not reach the target counts as longer than ' +
              'any that does; where the median does not reach it, the point is a cross at the top.'));
  if (has_plots)
    append(
        made,
        element(
            'div', {class: 'pair'},
            plot('Epochs to the accuracy against the batch', () => convergence_plot(curves, 'epochs', 'epochs', plain), 'half'),
            plot('Time to the accuracy against the batch', () => convergence_plot(curves, 'seconds', 'time', seconds), 'half')),
        too_many(curves));
  const shown = (what, show) => (point) => spread_text(point[what], show);
  const columns = [
    curve_column(),
    measure('Images of a step', (point) => point.images, plain),
    measure('Target', (point) => Number(point.target), plain),
    field('Reached', (point) => point.reached + ' of ' + point.trials),
    {...measure('Epochs', (point) => point.epochs.median, plain), show: shown('epochs', plain)},
    marked(
        {...measure('Time', (point) => point.seconds.median, seconds), show: shown('seconds', seconds)}, (point) => rows[point.row].mark),
    measure('Best accuracy', (point) => point.accuracy, (value) => known(value) ? value.toFixed(4) : '\u2013'),
  ];
  append(
      made,
      folded_table(
          'Table of the trainings', data_table('Training to an accuracy', columns, points_of(curves), {rows: (point) => point.rows})));
}

function spread_text(spread, show) {
  const text = (value) => known(value) ? show(value) : 'not reached';
  return spread.low === spread.high ? text(spread.median) :
                                      text(spread.median) + ' (' + text(spread.low) + ' \u2026 ' + text(spread.high) + ')';
}

function convergence_plot(all, wanted, title, show) {
  const curves = shown_curves(all, 1).slice(0, most_curves);
  if (!curves.length) return null;
  const of = (point) => point[wanted], points = curves.flatMap((curve) => curve.points);
  const values = points.flatMap((point) => [of(point).low, of(point).median, of(point).high]).filter(known);
  const top = 1.5 * (values.length ? Math.max(...values) : 1);
  const data = curves.flatMap((curve) => {
    const colour = colours[curve.place % colours.length];
    const text = (point) => lines(
        curve.full, point.images + ' images in a step', title + ': ' + spread_text(of(point), show),
        point.reached + ' of ' + point.trials + ' trials reached ' + curve.target);
    const series = (list, more) => ({
      x: list.map((point) => point.images),
      name: safe(shorter(curve.name, 72)),
      legendgroup: 'c' + curve.place,
      hoverinfo: 'text',
      text: list.map(text),
      ...more
    });
    const good = curve.points.filter((point) => known(of(point).median)), bad = curve.points.filter((point) => !known(of(point).median));
    const made = [series(good, {
      y: good.map((point) => of(point).median),
      mode: 'lines+markers',
      marker: marker(curve.place, 9),
      line: {color: colour, dash: dashes[Math.floor(curve.place / colours.length) % dashes.length]},
      error_y: {
        type: 'data',
        symmetric: false,
        array: good.map((point) => (known(of(point).high) ? of(point).high : top) - of(point).median),
        arrayminus: good.map((point) => of(point).median - of(point).low),
        color: colour,
        thickness: 1
      }
    })];
    if (bad.length)
      made.push(series(bad, {
        y: bad.map(() => top),
        mode: 'markers',
        showlegend: !good.length,
        marker: {color: colour, symbol: 'x-thin', size: 10, line: {width: 2, color: colour}}
      }));
    return made;
  });
  const counts = [...new Set(points.map((point) => point.images))].sort((a, b) => a - b), ticks = count_ticks(counts);
  return {
    data,
    layout: {
      showlegend: true,
      xaxis: axis('images in a step', {type: 'log', tickvals: ticks, ticktext: ticks.map(String)}),
      yaxis: log_axis(title + ' to the accuracy', [...values, top], show)
    }
  };
}
