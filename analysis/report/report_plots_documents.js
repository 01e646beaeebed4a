// Plots of the documents of other commands.

// The median of each run with its interval, and the baselines.
function history_lines(series, in_view) {
  const points = series.points, color = colour_of(0), ends = [points[0].time, points[points.length - 1].time];
  const interval = (point) => !known(point.low) ? '' :
      (point.launches < report.least_for_interval ? ', range ' : ', 95 % interval ') + range(point.low_text, point.high_text);
  const text = (point) => {
    const mark = mark_told(point);
    return lines(
        point.time, point.value_text + mark + interval(point),
        known(point.launches) ? point.launches + (point.launches === 1 ? ' launch' : ' launches') : '',
        mark && mark + ' ' + mark_texts[mark], point.run);
  };
  const visible = points.some((point) => known(point.low)), value = (point) => point.value;
  const time = (point) => point.time;
  // A run without a number breaks the line.
  const breaks = each(series.gaps).map((gap) => ({time: gap.time, value: null}));
  const all = [...points, ...breaks].sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0);
  const told = (point) => known(point.value) ? text(point) : '';
  const medians = series_of(all, time, value, told, {
    mode: 'lines+markers',
    name: 'median of a run\u2019s launches',
    marker: marker(0),
    line: {color, width: 1},
    error_y: bars(all, value, (point) => point.low, (point) => point.high, {visible, color, thickness: 1, width: 3})
  });
  const level = (baseline, name, dash) => !baseline || !known(baseline.value) ? [] : [guide(
      ends, [baseline.value, baseline.value], {dash, width: 1.5}, lines(name, baseline.value_text), {name})];
  return [
    medians, ...level(series.anchored, 'anchored baseline', 'dash'), ...level(series.rolling, 'rolling baseline', 'dot'),
    ...edge_marks(points, time, value, text, in_view)
  ];
}

function history_plot(series, width) {
  const points = series.points, disturbed = (point) => mark_told(point) !== '', value = (point) => point.value;
  const baselines = [series.anchored, series.rolling].filter((level) => level && known(level.value));
  const in_view = view_range([...points, ...baselines], value, disturbed, false, ({low, high}) => [low, high]);
  const change_text = (change) => '\u25b2 change: ' + change.ratio_text;
  const marks = [
    ...each(series.change_points).map((c) => ({time: c.time, text: change_text(c), color: colour_of(1), dash: 'solid'})),
    ...each(series.events).map(({time, text}) => ({time, text: '\u25c6 ' + text, color: colour_of(3), dash: 'dot'}))
  ];
  const margin = is_narrow(width) ? {l: 60, r: 12, b: 40} : {l: 80, r: 24, b: 40};
  const named = event_labels(marks, points.map((point) => point.time), width - margin.l - margin.r);
  const show = (point) => point.value_text + mark_told(point);
  return {
    data: history_lines(series, in_view),
    labels: (_, drawn) => [...named.labels, ...edge_labels(points, (point) => point.time, value, show, in_view || [], drawn)],
    layout: {
      height: 400 + named.height,
      margin: {...margin, t: 24 + named.height},
      xaxis: axis('', {type: 'date', range: named.range}),
      yaxis: axis('time', ranged(in_view, {tickformat: '~s', ticksuffix: 's'})),
      shapes: marks.map(({time, color, dash}) => across({x: time}, {color, width: 2, dash}))
    }
  };
}

// The names of events above the plot, on several lines where they would lie on one another. A name for which there is no
// room is a line of the plot alone; the table of events has all.
function event_labels(marks, dates, width) {
  const most_levels = 8, stamps = [...dates, ...marks.map((mark) => mark.time)].map((time) => Date.parse(time)).filter(known);
  const first = Math.min(...stamps), last = Math.max(...stamps), room = 0.03 * (last - first) || 43200000;
  const range = [first - room, last + room].map((stamp) => new Date(stamp).toISOString());
  const stretches = marks.filter((mark) => known(Date.parse(mark.time))).map(({time, text: full}) => {
    const most = width < 400 ? 24 : 34, text = full.length > most ? full.slice(0, most - 1) + '\u2026' : full;
    const long = text_width(text, 11) + 8;
    const at = width * (Date.parse(time) - first + room) / (last - first + 2 * room), left = at + long > width;
    return {time, text, left, from: left ? at - long : at, to: left ? at : at + long};
  });
  const lines_of = levels(stretches, 6), used = Math.max(0, ...lines_of.filter((line) => line < most_levels).map((line) => line + 1));
  const labels = stretches.map(({time, text, left}, i) => ({
    x: time,
    y: 1,
    yref: 'paper',
    yshift: 2 + 16 * lines_of[i],
    text: safe(text),
    showarrow: false,
    xanchor: left ? 'right' : 'left',
    yanchor: 'bottom',
    font: {size: 11}
  }));
  return {range, labels: labels.filter((_, i) => lines_of[i] < most_levels), height: 16 * used};
}

function coefficients_plot(model, width) {
  const ratio = model.coefficients.some((coefficient) => known(coefficient.speedup)), key = ratio ? 'speedup' : 'estimate';
  const value = (coefficient) => coefficient[key], list = model.coefficients.filter((coefficient) => known(value(coefficient)));
  const name = ratio ? 'speedup_interval' : 'interval';
  const interval = (coefficient) => coefficient[name] || [value(coefficient), value(coefficient)];
  const text = (coefficient) => lines(coefficient.term, coefficient[key + '_text'], range(...each(coefficient[name + '_text'])));
  const error_x = bars(list, value, (c) => interval(c)[0], (c) => interval(c)[1], {color: colour_of(0)});
  const tickvals = [...list.keys()], names = list.map(({term}) => safe(shorter(term, is_narrow(width) ? 18 : 44)));
  // The axis follows the estimates: of intervals it shows what does not more than triple it.
  const places = [...list.map(value), ratio ? 1 : 0], low = Math.min(...places), high = Math.max(...places);
  const scale = ratio ? Math.log : (x) => x;
  const most = scale(high) - scale(low) || 1, near = (end) => scale(end) >= scale(low) - most && scale(end) <= scale(high) + most;
  const in_range = [...places, ...list.flatMap(interval).filter(near)], ends = [Math.min(...in_range), Math.max(...in_range)];
  const room = 0.05 * (ends[1] - ends[0]) || 1;
  return {
    data: [{...series_of(list, value, () => 0, text, {marker: marker(0, 10), error_x}), y: tickvals}],
    layout: {
      height: Math.max(260, 120 + 30 * list.length),
      showlegend: false,
      xaxis: ratio ? log_axis('adjusted speedup with its interval', in_range) :
                     axis('estimate with its interval', {range: [ends[0] - room, ends[1] + room]}),
      yaxis: axis('', {tickvals, ticktext: names, autorange: 'reversed'}),
      shapes: [across({x: ratio ? 1 : 0}, {color: look.grey, dash: 'dash', width: 1})]
    }
  };
}

function residuals_plot(model) {
  const fitted = (observation) => observation.fitted, observations = model.observations;
  const text = (observation) => lines(
      observation.label, ...['observed', 'fitted', 'residual', 'leverage'].map((key) => key + ' ' + observation[key + '_text']));
  const groups = [...grouped(thinned(observations), (observation) => Boolean(observation.published))];
  const is_log = (model.response && model.response.scale || '').startsWith('log');
  return {
    data: groups.map(([published, list], i) => series_of(
        list, fitted, (observation) => observation.residual, text,
        {name: published ? 'published' : 'measured', marker: marker(i)})),
    layout: {
      xaxis: is_log ? log_axis('fitted', observations.map(fitted)) : axis('fitted'),
      yaxis: axis('residual, on the scale of the fit')
    }
  };
}
