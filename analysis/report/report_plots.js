// Plots by Plotly, as SVG so that they print. Each is drawn when it comes into view, and all of them before printing.

// Okabe and Ito's palette without its yellow, which white paper swallows; every series has a marker of its own too.
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'];
const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'x', 'star', 'triangle-down', 'hexagon'];
const dashes = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
const most_points = 3000, least_height = 270;
const has_plots = typeof Plotly !== 'undefined';
const all_plots = [];

// Plotly reads a little markup in texts: what comes from a file is shown as it is.
function safe(text) {
  return String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
function lines(...texts) {
  return texts.filter(Boolean).map(safe).join('<br>');
}
function shorter(text, most) {
  return text.length <= most ?
      text :
      text.slice(0, Math.ceil(most / 2) - 1) + '\u2026' + text.slice(1 - Math.floor(most / 2));
}
function thinned(list) {
  if (list.length <= most_points) return list;
  return Array.from({length: most_points}, (_, i) => list[Math.floor(i * list.length / most_points)]);
}
function thinned_text(count) {
  return count <= most_points ?
      '' :
      most_points + ' of ' + count + ' points are drawn, evenly taken from all; the table has every row.';
}
function marker(i, size) {
  return {
    color: colours[i % colours.length],
    symbol: symbols[i % symbols.length],
    size: size || 8,
    line: {width: 0.5, color: '#fff'}
  };
}

// A place for a plot. make(width) gives {data, layout}, or null where nothing passes the filter; `labels(layout, size)`
// gives annotations that need to know how large it came out. `title` is what a reader of the screen hears.
function plot(title, make, kind) {
  if (!has_plots) return null;
  const place = element('div', {class: 'plot ' + (kind || ''), role: 'img', 'aria-label': title});
  const drawn = {
    place,
    done: false,
    draw() {
      if (drawn.done) return;
      drawn.done = true;
      watcher.unobserve(place);
      drawn.again();
    },
    again() {
      const made = make(place.clientWidth || 1000);
      place.classList.toggle('empty', !made);
      if (!made) {
        if (place.data) Plotly.purge(place);
        place.textContent = 'No row passes the filter.';
        return;
      }
      if (!place.data) place.textContent = '';
      const legend = made.data.filter((series) => series.name && series.showlegend !== false).length > 1;
      Plotly.react(
          place, made.data, {
            font: {family: getComputedStyle(document.body).fontFamily, size: 13, color: '#1b1f24'},
            paper_bgcolor: '#fff',
            plot_bgcolor: '#fff',
            margin: {l: 70, r: 24, t: 30, b: 50},
            showlegend: legend,
            legend: {orientation: 'h', x: 0, y: 0, yref: 'container', yanchor: 'bottom', font: {size: 12}},
            hovermode: 'closest',
            hoverlabel: {align: 'left', namelength: -1},
            ...made.layout,
          },
          {
            displaylogo: false,
            modeBarButtonsToRemove: ['lasso2d', 'select2d'],
            toImageButtonOptions: {format: 'svg'}
          });
      // A long legend takes room below the plot, not from it.
      const lack = least_height - place._fullLayout._size.h;
      if (lack > 0 && !made.layout.height) Plotly.relayout(place, {height: place._fullLayout.height + lack});
      if (made.labels) Plotly.relayout(place, {annotations: made.labels(place._fullLayout._size, place._fullLayout)});
    },
  };
  all_plots.push(drawn);
  watcher.observe(place);
  on_filter(() => drawn.place.redraw());
  drawn.place.redraw = () => {
    if (drawn.done) drawn.again();
  };
  return place;
}
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries)
    if (entry.isIntersecting) all_plots.find((drawn) => drawn.place === entry.target).draw();
}, {rootMargin: '200px'});
let resized = null;
window.addEventListener('resize', () => {
  clearTimeout(resized);
  resized = setTimeout(() => all_plots.forEach((drawn) => drawn.place.redraw()), 150);
});
window.addEventListener('beforeprint', () => all_plots.forEach((drawn) => {
  drawn.draw();
  if (drawn.place.data) Plotly.relayout(drawn.place, {autosize: false, width: drawn.place.classList.contains('half') ? 500 : 1000});
}));
window.addEventListener('afterprint', () => all_plots.forEach((drawn) => {
  if (drawn.place.data) Plotly.relayout(drawn.place, {autosize: true, width: null});
}));

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
function places_of(list, key) {
  return new Map([...new Set(list.map(key))].map((name, i) => [name, i]));
}

function roofline_plot(part) {
  const all = part.points, points = thinned(all.filter((point) => passes(point.row)));
  if (!points.length) return null;
  const group = (point) => [rows[point.row].benchmark, rows[point.row].precision, rows[point.row].backend].join(' ');
  const places = places_of(all, group), used = new Set(points.map((point) => point.roof));
  const roofs = part.roofs.map((roof, i) => ({...roof, dash: dashes[i % dashes.length]})).filter((roof) => used.has(roof.name));
  const knees = roofs.map((roof) => roof.flops_per_s / roof.bytes_per_s);
  const xaxis = log_axis(
      'arithmetic intensity, FLOP/B', [...points.map((point) => point.intensity), ...knees.flatMap((knee) => [knee / 4, knee * 2])], plain);
  const [left, right] = xaxis.range.map((power) => 10 ** power);
  const height_at = (roof, x) => Math.min(roof.flops_per_s, roof.bytes_per_s * x);
  const data = roofs.map((roof, i) => {
    const x = [left, knees[i], right].filter((at) => at >= left && at <= right);
    return {
      x,
      y: x.map((at) => height_at(roof, at)),
      mode: 'lines',
      showlegend: false,
      line: {color: '#57606a', width: 2, dash: roof.dash},
      hoverinfo: 'text',
      text: lines('ceiling ' + roof.name, human(roof.flops_per_s, 'FLOP/s'), human(roof.bytes_per_s, 'B/s'))
    };
  });
  for (const [name, list] of grouped(points, group))
    data.push({
      x: list.map((point) => point.intensity),
      y: list.map((point) => point.rate),
      mode: 'markers',
      name: safe(name),
      marker: marker(places.get(name)),
      hoverinfo: 'text',
      text: list.map(
          (point) => lines(
              label(rows[point.row]), human(point.rate, 'FLOP/s') + rows[point.row].mark,
              plain(point.intensity) + ' FLOP/B',
              known(point.fraction) ? percent(point.fraction) + rows[point.row].mark + ' of its ceiling' : ''))
    });
  const peaks = ceiling_parts(roofs, (roof) => human(roof.flops_per_s, 'FLOP/s'), (roof) => height_at(roof, right));
  const slopes = ceiling_parts(roofs, (roof) => human(roof.bytes_per_s, 'B/s'), (roof) => height_at(roof, left));
  const ends = [...peaks, ...slopes].map((part) => part.y);
  const yaxis = log_axis('rate', [...points.map((point) => point.rate), ...ends], (value) => brief(value, 'FLOP/s'));
  const labels = (size) => [
    ...ceiling_labels(peaks, xaxis.range[1], yaxis, size, 0), ...ceiling_labels(slopes, xaxis.range[0], yaxis, size, 12)
  ];
  const margin = {l: 90, r: 190, t: 20, b: 50}, height = Math.max(500, 140 + 36 * peaks.length, 140 + 36 * slopes.length);
  return {data, layout: {xaxis, yaxis, margin, height, showlegend: true}, labels};
}
// The peaks, or the bandwidths, of all roofs: those that read alike are a single part, with the names of their roofs.
function ceiling_parts(roofs, text, y) {
  return [...grouped(roofs, text)].map(
      ([value, list]) => ({value, y: Math.max(...list.map(y)), names: list.map((roof) => roof.label)}));
}
// All of them where there is room for all, else the first.
function ceiling_names(names) {
  const all = names.join(', '), rest = names.length > 1 ? ' and ' + (names.length - 1) + ' more' : '';
  return all.length <= 26 ? all : shorter(names[0], 26 - rest.length) + rest;
}
// Each beside the end of its line, `below` it by so much.
function ceiling_labels(list, x, yaxis, size, below) {
  const up = (part) => size.h * (Math.log10(part.y) - yaxis.range[0]) / (yaxis.range[1] - yaxis.range[0]);
  const high = spread(list.map((part) => up(part) - below), 34, 16, size.h - 8);
  return list.map((part, i) => ({
                    x,
                    y: Math.log10(part.y),
                    ax: 18,
                    ay: up(part) - high[i],
                    text: '<b>' + part.value + '</b><br>' + safe(ceiling_names(part.names)),
                    align: 'left',
                    xanchor: 'left',
                    font: {size: 11, color: '#3d444d'},
                    bgcolor: '#ffffffd9',
                    arrowhead: 0,
                    arrowwidth: 1,
                    arrowcolor: '#8c959f',
                  }));
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
  const places = places_of(all, name_of);
  const data = [];
  for (const [name, group] of grouped(thinned(points), name_of))
    data.push({
      x: group.map(at),
      y: group.map(ratio),
      error_y: {
        type: 'data',
        symmetric: false,
        array: group.map((point) => known(point.high) ? point.high - point.speedup : 0),
        arrayminus: group.map((point) => known(point.low) ? point.speedup - point.low : 0),
        thickness: 1.2,
        width: 4
      },
      mode: 'markers',
      name: safe(name),
      marker: marker(places.get(name)),
      hoverinfo: 'text',
      text: group.map(
          (point) => lines(
              label(rows[point.row]), point.executed,
              times(point.speedup) + point.mark + ' over fp32 (' + human(rows[point.reference].median, 's') + ')',
              known(point.low) ? (point.range ? 'range ' : '95 % interval ') + range(point.low, point.high, times) : '',
              'norm error ' + (point.error > 0 ? error_text(point.error) : '0 (drawn at the left edge)')))
    });
  const xaxis = log_axis('norm error against fp64', points.map(at), power_of_ten);
  const annotations = outside_note(points, ratio, in_view);
  return {
    data,
    labels: (size, drawn) =>
        [...annotations,
         ...(few ? precision_labels(points, at, xaxis.range, size, drawn.yaxis.range, (point) => places.get(problem(point))) : [])],
    layout: {
      showlegend: true,
      margin: {l: 70, r: few ? precision_margin : 24, t: 30, b: 50},
      height: few ? 460 : undefined,
      xaxis,
      yaxis: axis('speedup over fp32', ranged(in_view, {rangemode: 'tozero'})),
      annotations,
      shapes: [
        {type: 'line', xref: 'paper', x0: 0, x1: 1, y0: 1, y1: 1, line: {color: '#57606a', width: 1, dash: 'dash'}}
      ]
    }
  };
}
// Each point's precision and backend beside it in its problem's colour, one below the other where points lie close: rows of
// one precision have nearly the same error, so their labels are columns. A column with no room for all of them has none.
// The fp32 that the others are set beside is where the line is, and needs no label.
function precision_labels(all, at, [left, right], size, [low, high], place_of) {
  const seen = all.filter((point) => point.speedup >= low && point.speedup <= high);
  const points = seen.filter((point) => point.row !== point.reference);
  const text = (point) => point.executed + ' \u00b7 ' + rows[point.row].backend;
  const across = (point) => size.w * (Math.log10(at(point)) - left) / (right - left);
  const height = (speedup) => size.h * (speedup - low) / (high - low), line = 13, small = 10;
  const columns =
      label_columns(points, across, seen.map(across), (point) => text_width(text(point), small), size.w + precision_margin);
  return columns.filter(({list}) => list.length * line <= size.h).flatMap(({list, edge, anchor}) => {
    const up = list.map((point) => height(point.speedup)), high_up = off_the_line(up, line, size.h, height(1));
    return list.map((point, i) => ({
                      x: Math.log10(at(point)),
                      y: point.speedup,
                      ax: edge - across(point),
                      ay: up[i] - high_up[i],
                      text: safe(text(point)),
                      xanchor: anchor,
                      align: 'left',
                      font: {size: small, color: colours[place_of(point) % colours.length]},
                      arrowhead: 0,
                      arrowwidth: 0.7,
                      arrowcolor: '#8c959f',
                    }));
  });
}

// The curves, each with those of its points that pass the filter and its place among all of them.
function shown_curves(curves, least) {
  return curves
      .map((curve, place) => ({...curve, place, points: curve.points.filter((point) => passes(point.row))}))
      .filter((curve) => curve.points.length >= least);
}

function collectives_plot(all) {
  const curves = shown_curves(all, 1).slice(0, most_curves);
  if (!curves.length) return null;
  const data = [];
  for (const curve of curves) {
    const colour = colours[curve.place % colours.length], points = curve.points;
    data.push({
      x: points.map((point) => point.bytes),
      y: points.map((point) => point.busbw),
      mode: 'lines+markers',
      name: safe(shorter(curve.name, 72)),
      marker: marker(curve.place),
      line: {color: colour, width: 1},
      legendgroup: 'c' + curve.place,
      hoverinfo: 'text',
      text: points.map(
          (point) => lines(
              curve.full, binary(point.bytes), human(point.busbw, 'B/s') + rows[point.row].mark,
              human(point.seconds, 's') + rows[point.row].mark))
    });
    if (!curve.fit || points.length < 2) continue;
    const last = points[points.length - 1], low = Math.log10(points[0].bytes), high = Math.log10(last.bytes);
    const x = Array.from({length: 60}, (_, j) => 10 ** (low + (high - low) * j / 59));
    const factor = last.busbw * last.seconds / last.bytes;
    data.push({
      x,
      y: x.map((size) => factor * size / (curve.fit.alpha + curve.fit.beta * size)),
      mode: 'lines',
      legendgroup: 'c' + curve.place,
      showlegend: false,
      line: {color: colour, width: 2, dash: 'dot'},
      hoverinfo: 'skip'
    });
  }
  const points = curves.flatMap((curve) => curve.points);
  return {
    data,
    layout: {
      showlegend: true,
      xaxis: log_axis('message size', points.map((point) => point.bytes), binary, {binary: true}),
      yaxis: log_axis('bus bandwidth', points.map((point) => point.busbw), (value) => brief(value, 'B/s'))
    }
  };
}

// `wanted`: speedup and efficiency have an ideal, a bandwidth has none.
function scaling_plot(all, over, wanted, title) {
  const curves = shown_curves(all, 1).slice(0, most_curves);
  if (!curves.length) return null;
  const data = curves.map(
      (curve) => ({
        x: curve.points.map((point) => point.count),
        y: curve.points.map((point) => point[wanted]),
        mode: 'lines+markers',
        name: safe(shorter(curve.name, 72)),
        marker: marker(curve.place, 9),
        line: {
          color: colours[curve.place % colours.length],
          dash: dashes[Math.floor(curve.place / colours.length) % dashes.length]
        },
        hoverinfo: 'text',
        text: curve.points.map(
            (point) => lines(
                curve.full, point.count + ' ' + over, human(point.seconds, 's'),
                known(point.busbw) ? human(point.busbw, 'B/s') + point.mark :
                                     times(point.speedup) + point.mark + ', ideal ' + times(point.ideal),
                'efficiency ' + percent(point.efficiency) + point.mark))
      }));
  const points = curves.flatMap((curve) => curve.points), value = (point) => point[wanted];
  let in_view = wanted === 'efficiency' ? quiet_range(points, value, is_disturbed, true) : undefined;
  if (in_view) in_view = [0, Math.max(1.05, in_view[1])];  // with the ideal
  const counts = [...new Set(points.map((point) => point.count))].sort((a, b) => a - b);
  const ideal = counts.map((count) => wanted === 'efficiency' ? 1 : count / counts[0]);
  if (wanted !== 'busbw')
    data.unshift({
      x: counts,
      y: ideal,
      mode: 'lines',
      name: 'ideal',
      line: {color: '#57606a', dash: 'dash', width: 1.5},
      hoverinfo: 'skip'
    });
  const ticks = count_ticks(counts);
  const xaxis = axis(over, {type: 'log', tickvals: ticks, ticktext: ticks.map(String)});
  const annotations = outside_note(points, value, in_view);
  const ticked = even_ticks(0, Math.max(...points.map(value).filter(known)));
  const number = wanted === 'efficiency' ?
      {tickformat: '.0%'} :
      {tickmode: 'array', tickvals: ticked, ticktext: ticked.map((tick) => tick ? brief(tick, 'B/s') : '0')};
  const yaxis = wanted === 'speedup' ?
      log_axis(title, [...points.map(value), ...ideal], (tick) => plain(tick) + '\u00d7') :
      axis(title, ranged(in_view, {rangemode: 'tozero', ...number}));
  return {data, layout: {showlegend: true, xaxis, yaxis, annotations}};
}
