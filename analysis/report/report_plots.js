// Plots by Plotly, as SVG so that they print. Each is drawn when it comes into view, and all of them before printing.

// Every series has a marker of its own, too.
const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'x', 'star', 'triangle-down', 'hexagon'];
const dashes = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
const most_points = 3000, least_height = 270;
const has_plots = typeof Plotly !== 'undefined';
const all_plots = [];

// Plotly reads a little markup in texts: what comes from a file is shown as it is.
const safe = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const unsafe = (text) => text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');
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
const colour_of = (place) => look.colours[place % look.colours.length];

// Parts of what Plotly draws. A series has a point for each of `list`, with the text that the pointer shows.
const series_of = (list, x, y, text, more) =>
    ({x: list.map(x), y: list.map(y), mode: 'markers', hoverinfo: 'text', text: list.map(text), ...more});
const marker = (i, size) =>
    ({color: colour_of(i), symbol: symbols[i % symbols.length], size: size || 8, line: {width: 0.5, color: look.paper}});
// A line beside the points. `text`: what the pointer shows.
const guide = (x, y, line, text, more) =>
    ({x, y, mode: 'lines', line: {color: look.grey, ...line}, ...text ? {hoverinfo: 'text', text} : {hoverinfo: 'skip'}, ...more});
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
    ({x, y, ax, ay, text, align: 'left', xanchor: 'left', arrowhead: 0, arrowwidth: 1, arrowcolor: look.arrow, ...more});

const width_of = (place) => place.printed_width || place.clientWidth || 1000;
// A place for a plot. make(width) gives {data, layout}, or null where nothing passes the filter; `labels(layout, size)`
// gives annotations that need to know how large it came out. `title` is what a reader of the screen hears.
function plot(title, make, kind) {
  if (!has_plots) return null;
  const place = element('div', {class: 'plot ' + (kind || ''), role: 'img', 'aria-label': title});
  let done = false;
  place.redraw = () => done && draw_plot(place, make(width_of(place)));
  place.draw = () => {
    if (done) return;
    done = true;
    watcher.unobserve(place);
    place.redraw();
  };
  // It follows its place: the window, a fold that opens, a series that is chosen again.
  const follow = () => {
    if (place.clientWidth && place.clientWidth !== place.drawn_width && !place.printed_width) place.redraw();
  };
  new ResizeObserver(delayed(follow, 150)).observe(place);
  all_plots.push(place);
  watcher.observe(place);
  on_filter(() => place.redraw());
  return place;
}
// Leaves out ticks until their texts stand beside one another.
function thin_ticks(axis, room) {
  if (!axis || !axis.ticktext || axis.tickangle !== undefined) return;
  const needed = (axis) => axis.ticktext.length * (Math.max(...axis.ticktext.map((text) => text_width(text, 12))) + 10);
  while (axis.ticktext.length > 2 && needed(axis) > room)
    for (const key of ['tickvals', 'ticktext']) axis[key] = axis[key].filter((_, i) => i % 2 === 0);
}
// A name in a legend of so many pixels.
function fitted_text(text, room) {
  const wide = text_width(text, 12);
  return wide <= room ? text : shorter(text, Math.floor(text.length * room / wide) - 1);
}
// Titles and names that a narrow plot has room for.
function make_narrow({data, layout}, width) {
  thin_ticks(layout.xaxis, width - 110);
  for (const axis of [layout.xaxis, layout.yaxis]) Object.assign(axis.title, {font: {size: 12}, standoff: 4});
  for (const series of data)
    if (series.name) series.name = safe(fitted_text(unsafe(series.name), width - 56));
}
function draw_plot(place, picture) {
  place.classList.toggle('empty', !picture);
  if (!picture) {
    if (place.data) Plotly.purge(place);
    place.textContent = 'No row passes the filter.';
    return;
  }
  if (!place.data) place.textContent = '';
  const width = place.drawn_width = width_of(place), narrow = is_narrow(width);
  if (narrow) make_narrow(picture, width);
  Plotly.react(place, picture.data, {...common_layout(picture.data, narrow), width, ...picture.layout}, {
    displaylogo: false,
    displayModeBar: narrow ? false : 'hover',
    modeBarButtonsToRemove: ['lasso2d', 'select2d'],
    toImageButtonOptions: {format: 'svg'}
  });
  // A long legend takes room below the plot, not from it.
  for (let i = 0; i < 3 && !picture.layout.height; ++i) {
    const lack = least_height - place._fullLayout._size.h;
    if (lack <= 0) break;
    Plotly.relayout(place, {height: place._fullLayout.height + lack});
  }
  if (picture.labels) Plotly.relayout(place, {annotations: picture.labels(place._fullLayout._size, place._fullLayout)});
}
const names_in = (data) => data.filter((series) => series.name && series.showlegend !== false).length;
const common_layout = (data, narrow) => ({
  font: {family: getComputedStyle(document.body).fontFamily, size: narrow ? 12 : 13, color: look.ink},
  paper_bgcolor: look.paper,
  plot_bgcolor: look.paper,
  margin: {l: narrow ? 50 : 70, r: narrow ? 12 : 24, t: 30, b: 50},
  // A narrow legend has a line for each name.
  height: narrow ? Math.max(380, 330 + 20 * names_in(data)) : 440,
  // A finger that moves over a plot moves the page.
  dragmode: narrow ? false : 'zoom',
  showlegend: names_in(data) > 1,
  legend: {
    orientation: 'h', x: 0, xref: narrow ? 'container' : 'paper', y: 0, yref: 'container', yanchor: 'bottom', font: {size: 12},
    ...narrow ? {maxheight: 1} : {}
  },
  hovermode: 'closest',
  hoverlabel: {align: 'left', namelength: -1},
});
const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => entry.target.draw()),
    {rootMargin: '200px'});
function redraw_all() {
  choose_look();
  all_plots.forEach((place) => place.redraw());
}
window.addEventListener('beforeprint', () => {
  all_plots.forEach((place) => {
    place.printed_width = place.classList.contains('half') ? 500 : 1000;
    place.draw();
  });
  redraw_all();
});
window.addEventListener('afterprint', () => {
  all_plots.forEach((place) => delete place.printed_width);
  redraw_all();
});
wishes_dark.addEventListener('change', redraw_all);

function roofline_plot(part, width) {
  const all = part.points, points = thinned(all.filter((point) => passes(point.row)));
  if (!points.length) return null;
  const narrow = is_narrow(width);
  const group = (point) => [rows[point.row].benchmark, rows[point.row].precision, rows[point.row].backend].join(' ');
  const places = places_of(all, group), used = new Set(points.map((point) => point.roof));
  const roofs = part.roofs.map((roof, i) => ({...roof, dash: dashes[i % dashes.length]})).filter((roof) => used.has(roof.name));
  const knees = roofs.map((roof) => roof.flops_per_s / roof.bytes_per_s);
  const intensity = (point) => point.intensity, rate = (point) => point.rate;
  const xaxis = log_axis(
      'arithmetic intensity, FLOP/B', [...points.map(intensity), ...knees.flatMap((knee) => [knee / 4, knee * 2])]);
  const [left, right] = xaxis.range.map((power) => 10 ** power);
  const height_at = (roof, x) => Math.min(roof.flops_per_s, roof.bytes_per_s * x);
  const ceilings = roofs.map((roof, i) => {
    const x = [left, knees[i], right].filter((at) => at >= left && at <= right);
    const told = [roof.flops_per_s_text, roof.bytes_per_s_text];
    return guide(
        x, x.map((at) => height_at(roof, at)), {width: 2, dash: roof.dash}, lines('ceiling ' + roof.name, ...told),
        {showlegend: narrow, name: safe(shorter(roof.label, 20) + ': ' + told.join(', '))});
  });
  const text = (point) => lines(
      label(rows[point.row]), point.rate_text + rows[point.row].mark, point.intensity_text + ' FLOP/B',
      known(point.fraction) ? point.fraction_text + ceiling_mark(rows[point.row]) + ' of its ceiling' : '',
      point.fewer ? 'it executes fewer operations than the rate counts' : '');
  const measured = [...grouped(points, group)].map(
      ([name, list]) => series_of(list, intensity, rate, text, {name: safe(name), marker: marker(places.get(name))}));
  const peaks = ceiling_parts(roofs, (roof) => roof.flops_per_s_text, (roof) => height_at(roof, right));
  const slopes = ceiling_parts(roofs, (roof) => roof.bytes_per_s_text, (roof) => height_at(roof, left));
  const ends = [...peaks, ...slopes].map((part) => part.y);
  const yaxis = log_axis('rate, FLOP/s', [...points.map(rate), ...ends], '~s');
  const labels = (size) => [
    ...ceiling_labels(peaks, xaxis.range[1], yaxis, size, 0), ...ceiling_labels(slopes, xaxis.range[0], yaxis, size, 12)
  ];
  // Names beside the ceilings need room at the right; a narrow page has them in the legend.
  if (narrow) return {data: [...ceilings, ...measured], layout: {xaxis, yaxis, showlegend: true}};
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
        x, Math.log10(part.y), 18, up(part) - high[i], text, {font: {size: 11, color: look.note}, bgcolor: look.veil});
  });
}

const precision_margin = 250;  // for the labels of the points at the right
function precision_plot(all, width) {
  const points = all.filter((point) => passes(point.row));
  if (!points.length) return null;
  const error = (point) => point.error, ratio = (point) => point.speedup, ends = (point) => [point.low, point.high];
  const exact = points.filter((point) => !(point.error > 0)), inexact = points.filter((point) => point.error > 0);
  const in_view = view_range(points, ratio, is_disturbed, true, ends);
  if (in_view) in_view[1] = Math.max(in_view[1], ...exact.map((point) => 1.06 * ratio(point)));
  // A colour for each problem; where these are too many, or there is no room for labels, for each precision.
  const problem = (point) => rows[point.row].problem, narrow = is_narrow(width);
  const few = !narrow && new Set(all.map(problem)).size <= look.colours.length, name_of = few ? problem : (point) => point.executed;
  const places = places_of(all, name_of), colour = (point) => colour_of(places.get(name_of(point)));
  const text = (point) => lines(
      label(rows[point.row]), point.executed,
      point.speedup_text + point.mark + ' over fp32 (' + rows[point.reference].median_text + ')',
      known(point.low) ? (point.range ? 'range ' : '95 % interval ') + range(point.low_text, point.high_text) : '',
      'norm error ' + point.error_text);
  const series = (list, x, name, more) => series_of(list, x, ratio, text, {
    name: safe(name),
    error_y: bars(list, ratio, (point) => point.low, (point) => point.high, {thickness: 1.2, width: 4}),
    ...more
  });
  const data = [...grouped(thinned(inexact), name_of)].map(
      ([name, list]) => series(list, error, name, {marker: marker(places.get(name))}));
  // An error of 0 has no place on a logarithmic axis: such a point stands on the other axis, beside it.
  if (exact.length)
    data.push(series(exact, () => 0, 'error 0: on the axis at the left', {
      xaxis: 'x2',
      cliponaxis: false,
      marker: {symbol: 'diamond-open', size: 10, color: exact.map(colour), line: {width: 2}}
    }));
  const xaxis = log_axis('norm error against fp64', inexact.map(error), '.2~e');
  data.push(...edge_marks(inexact, error, ratio, text, in_view));
  const told = (point) => point.speedup_text + point.mark;
  const labels = (size, drawn) => [
    ...edge_labels(inexact, error, ratio, told, in_view || [], drawn),
    ...few ? precision_labels(points, error, xaxis.range, size, drawn.yaxis.range, colour) : []
  ];
  return {
    data,
    labels,
    layout: {
      showlegend: true,
      ...few ? {margin: {l: 70, r: precision_margin, t: 30, b: 50}, height: 460} : {},
      xaxis,
      ...exact.length ? {xaxis2: bare_axis('x')} : {},
      yaxis: axis('speedup over fp32', ranged(in_view, {rangemode: 'tozero'})),
      shapes: [across({y: 1}, {color: look.grey, width: 1, dash: 'dash'})]
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
  const across = (point) => point.error > 0 ? size.w * (Math.log10(at(point)) - left) / (right - left) : 0;
  const height = (speedup) => size.h * (speedup - low) / (high - low), line = 13, small = 10;
  const columns =
      label_columns(points, across, seen.map(across), (point) => text_width(text(point), small), size.w + precision_margin);
  // A line across the plot tells less than the pointer does.
  const far = 250, is_near = (edge) => (point) => Math.abs(edge - across(point)) < far;
  const near = (column) => ({...column, list: column.list.filter(is_near(column.edge))});
  return columns.map(near).filter(({list}) => list.length * line <= size.h).flatMap(({list, edge, anchor}) => {
    const up = list.map((point) => height(point.speedup)), high_up = off_the_line(up, line, size.h, height(1));
    const place = (point) => point.error > 0 ? Math.log10(at(point)) : left;
    return list.map((point, i) => pointer(
        place(point), point.speedup, edge - across(point), up[i] - high_up[i], safe(text(point)),
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
  const dash = dashes[Math.floor(curve.place / look.colours.length) % dashes.length];
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
  const texts = new Map(points_of(all).map((point) => [point.bytes, point.bytes_text]));
  return curves_plot(all, (curves, points) => ({
    data: curves.flatMap((curve) => {
      const color = colour_of(curve.place), legendgroup = 'c' + curve.place;
      const text = (point) => lines(
          curve.full, point.bytes_text, point.busbw_text + rows[point.row].mark, point.seconds_text + rows[point.row].mark);
      const own = {marker: marker(curve.place), line: {color, width: 1}, legendgroup};
      return [curve_series(curve, bytes, busbw, text, own), ...fitted_line(curve, {color, width: 2, dash: 'dot'}, legendgroup)];
    }),
    layout: {
      showlegend: true,
      xaxis: count_axis('message size', distinct_counts(points, bytes), (size) => texts.get(size), 0.1),
      yaxis: log_axis('bus bandwidth, B/s', points.map(busbw), '~s')
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
    const text = (curve) => (point) => lines(
        curve.full, point.count + ' ' + over, point.seconds_text,
        known(point.busbw) ? point.busbw_text + point.mark : point.speedup_text + point.mark + ', ideal ' + point.ideal_text,
        'efficiency ' + point.efficiency_text + point.mark);
    const data = curves.map((curve) => curve_series(curve, count, value, text(curve)));
    let in_view = wanted === 'speedup' ? undefined : view_range(points, value, is_disturbed, true);
    if (in_view && wanted === 'efficiency') in_view = [0, Math.max(1.05, in_view[1])];  // with the ideal
    const counts = distinct_counts(points, count), ideal = counts.map((n) => wanted === 'efficiency' ? 1 : n / counts[0]);
    if (wanted !== 'busbw') data.unshift(guide(counts, ideal, {dash: 'dash', width: 1.5}, '', {name: 'ideal'}));
    const number = wanted === 'efficiency' ? {tickformat: '.0%'} : {tickformat: '~s'};
    const yaxis = wanted === 'speedup' ?
        log_axis(title, [...points.map(value), ...ideal]) :
        axis(title, ranged(in_view, {rangemode: 'tozero', ...number}));
    const far = curves.flatMap((curve) => curve.points.map((point) => ({...point, told: text(curve)(point)})));
    data.push(...edge_marks(far, count, value, (point) => point.told, in_view));
    const show = (point) => point[wanted + '_text'] + point.mark;
    const labels = (_, drawn) => edge_labels(points, count, value, show, in_view || [], drawn);
    return {data, labels, layout: {showlegend: true, xaxis: count_axis(over, counts), yaxis}};
  });
}
