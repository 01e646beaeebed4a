// Plots of the documents of other commands.

// The median of each run with its interval, and the baselines.
function history_lines(series) {
  const points = series.points, known_low = points.filter((point) => known(point.low)).length > 0;
  const interval = (point) => !known(point.low) ?
      '' :
      (point.launches < report.least_for_interval ? ', range ' : ', 95 % interval ') +
          range(point.low, point.high, (x) => human(x, 's'));
  const beyond = (side, sign) => points.map((point) => known(point[side]) ? sign * (point[side] - point.value) : 0);
  const medians = {
    x: points.map((point) => point.time),
    y: points.map((point) => point.value),
    mode: 'lines+markers',
    name: 'median of a run\u2019s launches',
    marker: marker(0),
    line: {color: colours[0], width: 1},
    error_y: {
      type: 'data',
      visible: known_low,
      symmetric: false,
      array: beyond('high', 1),
      arrayminus: beyond('low', -1),
      color: colours[0],
      thickness: 1,
      width: 3
    },
    hoverinfo: 'text',
    text: points.map(
        (point) => lines(
            point.time, human(point.value, 's') + mark_told(point) + interval(point),
            known(point.launches) ? point.launches + (point.launches === 1 ? ' launch' : ' launches') : '',
            mark_told(point) && mark_told(point) + ' ' + mark_texts[mark_told(point)], point.run))
  };
  const level = (baseline, name, dash) => !baseline || !known(baseline.value) ? [] : [{
    x: [points[0].time, points[points.length - 1].time],
    y: [baseline.value, baseline.value],
    mode: 'lines',
    name,
    line: {color: '#57606a', dash, width: 1.5},
    hoverinfo: 'text',
    text: lines(name, human(baseline.value, 's'))
  }];
  return [
    medians, ...level(series.anchored, 'anchored baseline', 'dash'), ...level(series.rolling, 'rolling baseline', 'dot')
  ];
}

function history_plot(series, width) {
  const points = series.points, disturbed = (point) => mark_told(point) !== '', value = (point) => point.value;
  const calm = points.filter((point) => !disturbed(point)).flatMap((point) => [point.value, point.low, point.high]);
  const baselines = [series.anchored, series.rolling].filter(Boolean).map(value);
  const all = [...calm, ...baselines].filter(known).map((time) => ({value: time, shared: false}));
  const in_view = quiet_range([...all, ...points.filter(disturbed)], value, disturbed, false);
  const marks = [
    ...each(series.change_points).map((change) => ({
                                        time: change.time,
                                        text: '\u25b2 change: ' + times(speedup_of(change.ratio)),
                                        colour: colours[1],
                                        dash: 'solid'
                                      })),
    ...each(series.events).map(
        (event) => ({time: event.time, text: '\u25c6 ' + event.text, colour: colours[3], dash: 'dot'}))
  ];
  const outside = outside_note(points, value, in_view), margin = {l: 80, r: 24, b: 40};
  const named = event_labels(marks, points.map((point) => point.time), width - margin.l - margin.r, outside.length);
  return {
    data: history_lines(series),
    layout: {
      height: 400 + named.height,
      margin: {...margin, t: 24 + named.height},
      xaxis: axis('', {type: 'date', range: named.range}),
      yaxis: axis('time', ranged(in_view, {tickformat: '~s', ticksuffix: 's'})),
      shapes: marks.map((mark) => ({
                          type: 'line',
                          x0: mark.time,
                          x1: mark.time,
                          yref: 'paper',
                          y0: 0,
                          y1: 1,
                          line: {color: mark.colour, width: 2, dash: mark.dash}
                        })),
      annotations: [...named.labels, ...outside]
    }
  };
}

const most_levels = 8;
// The names of events above the plot, on several lines where they would lie on one another. What has no room there is a
// line of the plot alone; the table of events has all.
function event_labels(marks, dates, width, first_line) {
  const stamps = [...dates, ...marks.map((mark) => mark.time)].map((time) => Date.parse(time)).filter(known);
  const first = Math.min(...stamps), last = Math.max(...stamps), room = 0.03 * (last - first) || 43200000;
  const range = [first - room, last + room].map((stamp) => new Date(stamp).toISOString());
  const known_marks = marks.filter((mark) => known(Date.parse(mark.time)));
  const stretches = known_marks.map((mark) => {
    const text = mark.text.length > 34 ? mark.text.slice(0, 33) + '\u2026' : mark.text, long = text_width(text, 11) + 8;
    const at = width * (Date.parse(mark.time) - first + room) / (last - first + 2 * room);
    const left = at + long > width;
    return {mark, text, left, from: left ? at - long : at, to: left ? at : at + long};
  });
  const lines_of = levels(stretches, 6), shown = stretches.map((_, i) => i).filter((i) => lines_of[i] < most_levels);
  const used = shown.length ? Math.max(...shown.map((i) => lines_of[i])) + 1 : 0;
  const labels = shown.map((i) => ({
                             x: stretches[i].mark.time,
                             y: 1,
                             yref: 'paper',
                             yshift: 2 + 16 * (first_line + lines_of[i]),
                             text: safe(stretches[i].text),
                             showarrow: false,
                             xanchor: stretches[i].left ? 'right' : 'left',
                             yanchor: 'bottom',
                             font: {size: 11}
                           }));
  return {range, labels, height: 16 * (used + first_line)};
}

function coefficients_plot(model) {
  const ratio = model.coefficients.some((coefficient) => known(coefficient.speedup));
  const list = model.coefficients.filter((coefficient) => known(ratio ? coefficient.speedup : coefficient.estimate));
  const value = (coefficient) => ratio ? coefficient.speedup : coefficient.estimate,
        interval = (coefficient) => (ratio ? coefficient.speedup_interval : coefficient.interval) || [value(coefficient), value(coefficient)];
  const levels = list.map((_, i) => i);
  return {
    data: [{
      x: list.map(value),
      y: levels,
      mode: 'markers',
      marker: marker(0, 10),
      hoverinfo: 'text',
      text: list.map((coefficient) => lines(coefficient.term, plain(value(coefficient)), range(...interval(coefficient), plain))),
      error_x: {
        type: 'data',
        symmetric: false,
        array: list.map((coefficient) => interval(coefficient)[1] - value(coefficient)),
        arrayminus: list.map((coefficient) => value(coefficient) - interval(coefficient)[0]),
        color: colours[0]
      }
    }],
    layout: {
      height: Math.max(260, 120 + 30 * list.length),
      showlegend: false,
      xaxis: ratio ? log_axis('adjusted speedup with its interval', list.flatMap((coefficient) => [value(coefficient), ...interval(coefficient), 1]), (tick) => plain(tick) + '\u00d7') :
                     axis('estimate with its interval'),
      yaxis: axis(
          '', {tickvals: levels, ticktext: list.map((coefficient) => safe(shorter(coefficient.term, 44))), autorange: 'reversed'}),
      shapes: [{
        type: 'line',
        x0: ratio ? 1 : 0,
        x1: ratio ? 1 : 0,
        yref: 'paper',
        y0: 0,
        y1: 1,
        line: {color: '#57606a', dash: 'dash', width: 1}
      }]
    }
  };
}

function residuals_plot(model) {
  const logarithmic = (model.response && model.response.scale || '').startsWith('log');
  const data = [];
  let i = 0;
  for (const [published, list] of grouped(thinned(model.observations), (observation) => Boolean(observation.published)))
    data.push({
      x: list.map((observation) => observation.fitted),
      y: list.map((observation) => observation.residual),
      mode: 'markers',
      name: published ? 'published' : 'measured',
      marker: marker(i++),
      hoverinfo: 'text',
      text: list.map(
          (observation) => lines(
              observation.label, 'observed ' + plain(observation.observed), 'fitted ' + plain(observation.fitted),
              'residual ' + plain(observation.residual), 'leverage ' + plain(observation.leverage)))
    });
  return {
    data,
    layout: {
      xaxis: logarithmic ? log_axis('fitted', model.observations.map((observation) => observation.fitted), plain) : axis('fitted'),
      yaxis: axis('residual, on the scale of the fit')
    }
  };
}
