// Plots by Plotly, as SVG so that they print. Each is drawn when it comes into view, and all of them before printing.

// Okabe and Ito's palette without its yellow, which white paper swallows; every series has a marker of its own too.
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'], grey = '#57606a';
const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'x', 'star', 'triangle-down', 'hexagon'];
const dashes = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
const most_points = 3000, least_height = 270;
const has_plots = typeof Plotly !== 'undefined';
const all_plots = [];

// Plotly reads a little markup in texts: what comes from a file is shown as it is.
const safe = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const lines = (...texts) => texts.filter(Boolean).map(safe).join('<br>');
function shorter(text, most) {
  if (text.length <= most) return text;
  return text.slice(0, Math.ceil(most / 2) - 1) + '\u2026' + text.slice(1 - Math.floor(most / 2));
}
function thinned(list) {
  if (list.length <= most_points) return list;
  return Array.from({length: most_points}, (_, i) => list[Math.floor(i * list.length / most_points)]);
}
const thinned_text = (count) => count <= most_points ?
    '' :
    most_points + ' of ' + count + ' points are drawn, evenly taken from all; the table has every row.';
function grouped(list, key) {
  const groups = new Map();
  for (const item of list) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
}
// A series keeps its colour whatever the filter leaves: its place among all of them.
const places_of = (list, key) => new Map([...new Set(list.map(key))].map((name, i) => [name, i]));
const colour_of = (place) => colours[place % colours.length];

// Parts of what Plotly draws. A series has a point for each of `list`, with the text that the pointer shows.
const series_of = (list, x, y, text, more) =>
    ({x: list.map(x), y: list.map(y), mode: 'markers', hoverinfo: 'text', text: list.map(text), ...more});
const marker = (i, size) =>
    ({color: colour_of(i), symbol: symbols[i % symbols.length], size: size || 8, line: {width: 0.5, color: '#fff'}});
// A line beside the points. `text`: what the pointer shows.
const guide = (x, y, line, text, more) =>
    ({x, y, mode: 'lines', line: {color: grey, ...line}, ...text ? {hoverinfo: 'text', text} : {hoverinfo: 'skip'}, ...more});
// Bars from `low` to `high`; none where these are not known.
function bars(list, value, low, high, more) {
  const reach = (end, sign) => list.map((item) => known(end(item)) ? sign * (end(item) - value(item)) : 0);
  return {type: 'data', symmetric: false, array: reach(high, 1), arrayminus: reach(low, -1), ...more};
}
// A line across the whole plot at `x`, or at `y`.
function across({x, y}, line) {
  const at = y === undefined ? {x0: x, x1: x, yref: 'paper', y0: 0, y1: 1} : {xref: 'paper', x0: 0, x1: 1, y0: y, y1: y};
  return {type: 'line', ...at, line};
}
// A text beside a point, with a line to it.
const pointer = (x, y, ax, ay, text, more) =>
    ({x, y, ax, ay, text, align: 'left', xanchor: 'left', arrowhead: 0, arrowwidth: 1, arrowcolor: '#8c959f', ...more});

// A place for a plot. make(width) gives {data, layout}, or null where nothing passes the filter; `labels(layout, size)`
// gives annotations that need to know how large it came out. `title` is what a reader of the screen hears.
function plot(title, make, kind) {
  if (!has_plots) return null;
  const place = element('div', {class: 'plot ' + (kind || ''), role: 'img', 'aria-label': title});
  let done = false;
  place.redraw = () => done && draw_plot(place, make(place.clientWidth || 1000));
  place.draw = () => {
    if (done) return;
    done = true;
    watcher.unobserve(place);
    place.redraw();
  };
  all_plots.push(place);
  watcher.observe(place);
  on_filter(() => place.redraw());
  return place;
}
function draw_plot(place, picture) {
  place.classList.toggle('empty', !picture);
  if (!picture) {
    if (place.data) Plotly.purge(place);
    place.textContent = 'No row passes the filter.';
    return;
  }
  if (!place.data) place.textContent = '';
  Plotly.react(place, picture.data, {...common_layout(picture.data), ...picture.layout}, {
    displaylogo: false,
    modeBarButtonsToRemove: ['lasso2d', 'select2d'],
    toImageButtonOptions: {format: 'svg'}
  });
  // A long legend takes room below the plot, not from it.
  const lack = least_height - place._fullLayout._size.h;
  if (lack > 0 && !picture.layout.height) Plotly.relayout(place, {height: place._fullLayout.height + lack});
  if (picture.labels) Plotly.relayout(place, {annotations: picture.labels(place._fullLayout._size, place._fullLayout)});
}
const common_layout = (data) => ({
  font: {family: getComputedStyle(document.body).fontFamily, size: 13, color: '#1b1f24'},
  paper_bgcolor: '#fff',
  plot_bgcolor: '#fff',
  margin: {l: 70, r: 24, t: 30, b: 50},
  showlegend: data.filter((series) => series.name && series.showlegend !== false).length > 1,
  legend: {orientation: 'h', x: 0, y: 0, yref: 'container', yanchor: 'bottom', font: {size: 12}},
  hovermode: 'closest',
  hoverlabel: {align: 'left', namelength: -1},
});
const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => entry.target.draw()),
    {rootMargin: '200px'});
function relayout_all(size_of) {
  for (const place of all_plots)
    if (place.data) Plotly.relayout(place, size_of(place));
}
window.addEventListener('beforeprint', () => {
  all_plots.forEach((place) => place.draw());
  relayout_all((place) => ({autosize: false, width: place.classList.contains('half') ? 500 : 1000}));
});
window.addEventListener('afterprint', () => relayout_all(() => ({autosize: true, width: null})));

function roofline_plot(part) {
  const all = part.points, points = thinned(all.filter((point) => passes(point.row)));
  if (!points.length) return null;
  const group = (point) => [rows[point.row].benchmark, rows[point.row].precision, rows[point.row].backend].join(' ');
  const places = places_of(all, group), used = new Set(points.map((point) => point.roof));
  const roofs = part.roofs.map((roof, i) => ({...roof, dash: dashes[i % dashes.length]})).filter((roof) => used.has(roof.name));
  const knees = roofs.map((roof) => roof.flops_per_s / roof.bytes_per_s);
  const intensity = (point) => point.intensity, rate = (point) => point.rate, flops = unit('FLOP/s'), bytes = unit('B/s');
  const xaxis = log_axis(
      'arithmetic intensity, FLOP/B', [...points.map(intensity), ...knees.flatMap((knee) => [knee / 4, knee * 2])], plain);
  const [left, right] = xaxis.range.map((power) => 10 ** power);
  const height_at = (roof, x) => Math.min(roof.flops_per_s, roof.bytes_per_s * x);
  const ceilings = roofs.map((roof, i) => {
    const x = [left, knees[i], right].filter((at) => at >= left && at <= right);
    return guide(
        x, x.map((at) => height_at(roof, at)), {width: 2, dash: roof.dash},
        lines('ceiling ' + roof.name, flops(roof.flops_per_s), bytes(roof.bytes_per_s)), {showlegend: false});
  });
  const text = (point) => lines(
      label(rows[point.row]), flops(point.rate) + rows[point.row].mark, plain(point.intensity) + ' FLOP/B',
      known(point.fraction) ? percent(point.fraction) + rows[point.row].mark + ' of its ceiling' : '');
  const measured = [...grouped(points, group)].map(
      ([name, list]) => series_of(list, intensity, rate, text, {name: safe(name), marker: marker(places.get(name))}));
  const peaks = ceiling_parts(roofs, (roof) => flops(roof.flops_per_s), (roof) => height_at(roof, right));
  const slopes = ceiling_parts(roofs, (roof) => bytes(roof.bytes_per_s), (roof) => height_at(roof, left));
  const ends = [...peaks, ...slopes].map((part) => part.y);
  const yaxis = log_axis('rate', [...points.map(rate), ...ends], (value) => brief(value, 'FLOP/s'));
  const labels = (size) => [
    ...ceiling_labels(peaks, xaxis.range[1], yaxis, size, 0), ...ceiling_labels(slopes, xaxis.range[0], yaxis, size, 12)
  ];
  const margin = {l: 90, r: 190, t: 20, b: 50}, height = Math.max(500, 140 + 36 * peaks.length, 140 + 36 * slopes.length);
  return {data: [...ceilings, ...measured], layout: {xaxis, yaxis, margin, height, showlegend: true}, labels};
}
// The peaks, or the bandwidths, of all roofs: those that read alike are a single part, with the names of their roofs.
const ceiling_parts = (roofs, text, y) => [...grouped(roofs, text)].map(
    ([value, list]) => ({value, y: Math.max(...list.map(y)), names: list.map((roof) => roof.label)}));
// All of them where there is room for all, else the first.
function ceiling_names(names) {
  const all = names.join(', '), rest = names.length > 1 ? ' and ' + (names.length - 1) + ' more' : '';
  return all.length <= 26 ? all : shorter(names[0], 26 - rest.length) + rest;
}
// Each beside the end of its line, `below` it by so much.
function ceiling_labels(list, x, yaxis, size, below) {
  const up = (part) => size.h * (Math.log10(part.y) - yaxis.range[0]) / (yaxis.range[1] - yaxis.range[0]);
  const high = spread(list.map((part) => up(part) - below), 34, 16, size.h - 8);
  return list.map((part, i) => {
    const text = '<b>' + part.value + '</b><br>' + safe(ceiling_names(part.names));
    return pointer(
        x, Math.log10(part.y), 18, up(part) - high[i], text, {font: {size: 11, color: '#3d444d'}, bgcolor: '#ffffffd9'});
  });
}

const precision_margin = 250;  // for the labels of the points at the right
function precision_plot(all) {
  const points = all.filter((point) => passes(point.row));
  if (!points.length) return null;
  const exact = all.filter((point) => point.error > 0).map((point) => point.error);
  const floor = exact.length ? Math.min(...exact) / 10 : 1e-17, at = (point) => point.error > 0 ? point.error : floor;
  const ratio = (point) => point.speedup, in_view = quiet_range(points, ratio, is_disturbed, true);
  // A colour for each problem; where these are too many, for each precision.
  const problem = (point) => rows[point.row].problem;
  const few = new Set(all.map(problem)).size <= colours.length, name_of = few ? problem : (point) => point.executed;
  const places = places_of(all, name_of), annotations = outside_note(points, ratio, in_view);
  const text = (point) => lines(
      label(rows[point.row]), point.executed,
      times(point.speedup) + point.mark + ' over fp32 (' + seconds(rows[point.reference].median) + ')',
      known(point.low) ? (point.range ? 'range ' : '95 % interval ') + range(point.low, point.high, times) : '',
      'norm error ' + (point.error > 0 ? error_text(point.error) : '0 (drawn at the left edge)'));
  const data = [...grouped(thinned(points), name_of)].map(([name, group]) => series_of(group, at, ratio, text, {
    name: safe(name),
    marker: marker(places.get(name)),
    error_y: bars(group, ratio, (point) => point.low, (point) => point.high, {thickness: 1.2, width: 4})
  }));
  const xaxis = log_axis('norm error against fp64', points.map(at), power_of_ten);
  const labels_in = (size, [low, high]) => few ?
      precision_labels(points, at, xaxis.range, size, [low, high], (point) => colour_of(places.get(problem(point)))) :
      [];
  return {
    data,
    labels: (size, drawn) => [...annotations, ...labels_in(size, drawn.yaxis.range)],
    layout: {
      showlegend: true,
      margin: {l: 70, r: few ? precision_margin : 24, t: 30, b: 50},
      height: few ? 460 : undefined,
      xaxis,
      yaxis: axis('speedup over fp32', ranged(in_view, {rangemode: 'tozero'})),
      annotations,
      shapes: [across({y: 1}, {color: grey, width: 1, dash: 'dash'})]
    }
  };
}
// Each point's precision and backend beside it in its problem's colour, one below the other where points lie close: rows of
// one precision have nearly the same error, so their labels are columns. A column with no room for all of them has none.
// The fp32 that the others are set beside is where the line is, and needs no label.
function precision_labels(all, at, [left, right], size, [low, high], colour) {
  const seen = all.filter((point) => point.speedup >= low && point.speedup <= high);
  const points = seen.filter((point) => point.row !== point.reference);
  const text = (point) => point.executed + ' \u00b7 ' + rows[point.row].backend;
  const across = (point) => size.w * (Math.log10(at(point)) - left) / (right - left);
  const height = (speedup) => size.h * (speedup - low) / (high - low), line = 13, small = 10;
  const columns =
      label_columns(points, across, seen.map(across), (point) => text_width(text(point), small), size.w + precision_margin);
  return columns.filter(({list}) => list.length * line <= size.h).flatMap(({list, edge, anchor}) => {
    const up = list.map((point) => height(point.speedup)), high_up = off_the_line(up, line, size.h, height(1));
    return list.map((point, i) => pointer(
        Math.log10(at(point)), point.speedup, edge - across(point), up[i] - high_up[i], safe(text(point)),
        {xanchor: anchor, font: {size: small, color: colour(point)}, arrowwidth: 0.7}));
  });
}

// The curves, each with those of its points that pass the filter and its place among all of them.
const shown_curves = (curves) => curves
    .map((curve, place) => ({...curve, place, points: curve.points.filter((point) => passes(point.row))}))
    .filter((curve) => curve.points.length);
// A plot of the first of them: `make(curves, points)` gives it.
function curves_plot(all, make) {
  const curves = shown_curves(all).slice(0, most_curves);
  return curves.length ? make(curves, curves.flatMap((curve) => curve.points)) : null;
}
function curve_series(curve, x, y, text, more, list = curve.points) {
  const dash = dashes[Math.floor(curve.place / colours.length) % dashes.length];
  return series_of(list, x, y, text, {
    mode: 'lines+markers',
    name: safe(shorter(curve.name, 72)),
    marker: marker(curve.place, 9),
    line: {color: colour_of(curve.place), dash},
    ...more
  });
}
const distinct_counts = (points, count) => [...new Set(points.map(count))].sort((a, b) => a - b);

function collectives_plot(all) {
  const bytes = (point) => point.bytes, busbw = (point) => point.busbw;
  return curves_plot(all, (curves, points) => ({
    data: curves.flatMap((curve) => {
      const color = colour_of(curve.place), legendgroup = 'c' + curve.place;
      const text = (point) => lines(
          curve.full, binary(point.bytes), human(point.busbw, 'B/s') + rows[point.row].mark,
          seconds(point.seconds) + rows[point.row].mark);
      const own = {marker: marker(curve.place), line: {color, width: 1}, legendgroup};
      return [curve_series(curve, bytes, busbw, text, own), ...fitted_line(curve, {color, width: 2, dash: 'dot'}, legendgroup)];
    }),
    layout: {
      showlegend: true,
      xaxis: log_axis('message size', points.map(bytes), binary, binary_ticks),
      yaxis: log_axis('bus bandwidth', points.map(busbw), (value) => brief(value, 'B/s'))
    }
  }));
}
function fitted_line({fit, points}, line, legendgroup) {
  if (!fit || points.length < 2) return [];
  const last = points[points.length - 1], low = Math.log10(points[0].bytes), high = Math.log10(last.bytes);
  const x = Array.from({length: 60}, (_, j) => 10 ** (low + (high - low) * j / 59));
  const factor = last.busbw * last.seconds / last.bytes, bandwidth = (size) => factor * size / (fit.alpha + fit.beta * size);
  return [guide(x, x.map(bandwidth), line, '', {legendgroup, showlegend: false})];
}

// `wanted`: speedup and efficiency have an ideal, a bandwidth has none.
function scaling_plot(all, over, wanted, title) {
  const value = (point) => point[wanted], count = (point) => point.count;
  return curves_plot(all, (curves, points) => {
    const data = curves.map((curve) => curve_series(curve, count, value, (point) => lines(
        curve.full, point.count + ' ' + over, seconds(point.seconds),
        known(point.busbw) ? human(point.busbw, 'B/s') + point.mark :
                             times(point.speedup) + point.mark + ', ideal ' + times(point.ideal),
        'efficiency ' + percent(point.efficiency) + point.mark)));
    let in_view = wanted === 'efficiency' ? quiet_range(points, value, is_disturbed, true) : undefined;
    if (in_view) in_view = [0, Math.max(1.05, in_view[1])];  // with the ideal
    const counts = distinct_counts(points, count), ideal = counts.map((n) => wanted === 'efficiency' ? 1 : n / counts[0]);
    if (wanted !== 'busbw') data.unshift(guide(counts, ideal, {dash: 'dash', width: 1.5}, '', {name: 'ideal'}));
    const tickvals = even_ticks(0, Math.max(...points.map(value).filter(known)));
    const number = wanted === 'efficiency' ?
        {tickformat: '.0%'} :
        {tickmode: 'array', tickvals, ticktext: tickvals.map((tick) => tick ? brief(tick, 'B/s') : '0')};
    const yaxis = wanted === 'speedup' ?
        log_axis(title, [...points.map(value), ...ideal], (tick) => plain(tick) + '\u00d7') :
        axis(title, ranged(in_view, {rangemode: 'tozero', ...number}));
    const annotations = outside_note(points, value, in_view);
    return {data, layout: {showlegend: true, xaxis: count_axis(over, counts), yaxis, annotations}};
  });
}

// Medians are points; trainings of which most do not reach the accuracy are crosses at the top.
function convergence_plot(all, wanted, title, show) {
  const reach = (point) => point[wanted], images = (point) => point.images, middle = (point) => reach(point).median;
  return curves_plot(all, (curves, points) => {
    const values = points.flatMap((point) => [reach(point).low, middle(point), reach(point).high]).filter(known);
    const top = 1.5 * (values.length ? Math.max(...values) : 1);
    const data = curves.flatMap((curve) => {
      const color = colour_of(curve.place), legendgroup = 'c' + curve.place;
      const text = (point) => lines(
          curve.full, point.images + ' images in a step', title + ': ' + spread_text(reach(point), show),
          point.reached + ' of ' + point.trials + ' trials reached ' + curve.target);
      const good = curve.points.filter((point) => known(middle(point)));
      const bad = curve.points.filter((point) => !known(middle(point)));
      const error_y =
          bars(good, middle, (point) => reach(point).low, (point) => reach(point).high ?? top, {color, thickness: 1});
      const cross = {
        mode: 'markers',
        showlegend: !good.length,
        marker: {color, symbol: 'x-thin', size: 10, line: {width: 2, color}},
        line: undefined,
        legendgroup
      };
      return [
        curve_series(curve, images, middle, text, {error_y, legendgroup}, good),
        ...bad.length ? [curve_series(curve, images, () => top, text, cross, bad)] : []
      ];
    });
    return {
      data,
      layout: {
        showlegend: true,
        xaxis: count_axis('images in a step', distinct_counts(points, images)),
        yaxis: log_axis(title + ' to the accuracy', [...values, top], show)
      }
    };
  });
}
