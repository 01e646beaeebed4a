// Plots by Plotly, as SVG so that they print. Each is drawn when it comes into view, and all of them before printing.

// Okabe and Ito's palette without its yellow, which white paper swallows; every series has a marker of its own too.
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'];
const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'x', 'star', 'triangle-down', 'hexagon'];
const dashes = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
const most_points = 3000;
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
function thinned_note(list) {
  return list.length <= most_points ?
      null :
      element(
          'p', {class: 'soft'},
          most_points + ' of ' + list.length + ' points are drawn, evenly taken from all; the table has every row.');
}
function marker(i, size) {
  return {
    color: colours[i % colours.length],
    symbol: symbols[i % symbols.length],
    size: size || 8,
    line: {width: 0.5, color: '#fff'}
  };
}
function axis(title, more) {
  return {
    title: {text: title},
    gridcolor: '#e6eaee',
    zerolinecolor: '#b8c0c8',
    linecolor: '#57606a',
    ticks: 'outside',
    automargin: true,
    ...more
  };
}
function log_axis(title, more) {
  return axis(title, {type: 'log', exponentformat: 'SI', dtick: 1, ...more});
}

// A place for a plot; `make()` gives {data, layout}. `title` is what a reader of the screen hears.
function plot(title, make, kind) {
  if (!has_plots) return null;
  const place = element('div', {class: 'plot ' + (kind || ''), role: 'img', 'aria-label': title});
  const one = {
    place,
    done: false,
    draw() {
      if (one.done) return;
      one.done = true;
      watcher.unobserve(place);
      one.again();
    },
    again() {
      const made = make();
      Plotly.react(
          place, made.data, {
            font: {family: getComputedStyle(document.body).fontFamily, size: 13, color: '#1b1f24'},
            paper_bgcolor: '#fff',
            plot_bgcolor: '#fff',
            margin: {l: 70, r: 24, t: 26, b: 60},
            legend: {orientation: 'h', y: -0.2, yanchor: 'top', font: {size: 12}},
            hovermode: 'closest',
            hoverlabel: {align: 'left', namelength: -1},
            ...made.layout,
          },
          {
            responsive: true,
            displaylogo: false,
            modeBarButtonsToRemove: ['lasso2d', 'select2d'],
            toImageButtonOptions: {format: 'svg'}
          });
    },
  };
  all_plots.push(one);
  watcher.observe(place);
  one.place.redraw = () => {
    if (one.done) one.again();
  };
  return place;
}
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries)
    if (entry.isIntersecting) all_plots.find((one) => one.place === entry.target).draw();
}, {rootMargin: '200px'});
window.addEventListener('beforeprint', () => all_plots.forEach((one) => {
  one.draw();
  Plotly.relayout(one.place, {autosize: false, width: 1000});
}));
window.addEventListener(
    'afterprint', () => all_plots.forEach((one) => Plotly.relayout(one.place, {autosize: true, width: null})));

// The range of a linear axis that shows all values which no other work disturbed, so that one row of a busy moment does not
// flatten the rest; undefined where Plotly's own range does that.
function quiet_range(list, value, shared, from_zero) {
  const all = list.map(value).filter(known), quiet = list.filter((one) => !shared(one)).map(value).filter(known);
  if (!quiet.length || quiet.length === all.length) return undefined;
  const low = from_zero ? Math.min(0, ...quiet) : Math.min(...quiet), high = Math.max(...quiet);
  const room = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1;
  const range = [from_zero && low === 0 ? 0 : low - room, high + room];
  return Math.min(...all) < range[0] || Math.max(...all) > range[1] ? range : undefined;
}
function ranged(range, otherwise) {
  return range ? {...otherwise, rangemode: 'normal', range} : otherwise;
}
function outside_note(list, value, range) {
  const count = range ? list.filter((one) => value(one) < range[0] || value(one) > range[1]).length : 0;
  return count === 0 ? [] : [{
    text: '! ' + count + (count === 1 ? ' point' : ' points') + ' of a busy moment outside (double click shows all)',
    xref: 'paper',
    yref: 'paper',
    x: 1,
    y: 1,
    xanchor: 'right',
    yanchor: 'bottom',
    showarrow: false,
    font: {size: 11}
  }];
}

function grouped(list, key) {
  const groups = new Map();
  for (const one of list) {
    const name = key(one);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(one);
  }
  return groups;
}

function roofline_plot(part) {
  const points = thinned(part.points);
  const xs = points.map((one) => one.intensity), low = Math.min(...xs) / 3, high = Math.max(...xs) * 3;
  const data = part.roofs.map((roof, i) => {
    const knee = roof.flops_per_s / roof.bytes_per_s;
    const x = [Math.min(low, knee / 3), knee, Math.max(high, knee * 3)];
    return {
      x,
      y: x.map((one) => Math.min(roof.flops_per_s, roof.bytes_per_s * one)),
      mode: 'lines',
      name: safe('ceiling ' + roof.name),
      line: {color: '#57606a', width: 2, dash: dashes[i % dashes.length]},
      hoverinfo: 'text',
      text: lines('ceiling ' + roof.name, human(roof.flops_per_s, 'FLOP/s'), human(roof.bytes_per_s, 'B/s'))
    };
  });
  let i = 0;
  for (const [name, group] of grouped(
           points, (one) => [rows[one.row].benchmark, rows[one.row].precision, rows[one.row].backend].join(' ')))
    data.push({
      x: group.map((one) => one.intensity),
      y: group.map((one) => one.rate),
      mode: 'markers',
      name: safe(name),
      marker: marker(i++),
      hoverinfo: 'text',
      text: group.map(
          (one) => lines(
              label(rows[one.row]), human(one.rate, 'FLOP/s'), plain(one.intensity) + ' FLOP/B',
              known(one.fraction) ? percent(one.fraction) + ' of its ceiling' : ''))
    });
  return {
    data,
    layout:
        {xaxis: log_axis('arithmetic intensity, FLOP/B', {exponentformat: 'power'}), yaxis: log_axis('rate, FLOP/s')}
  };
}

function precision_plot(points) {
  const exact = points.filter((one) => one.error > 0).map((one) => one.error);
  const floor = exact.length ? Math.min(...exact) / 10 : 1e-17;
  const speedup = (one) => one.speedup, in_view = quiet_range(points, speedup, (one) => one.shared, true);
  const data = [];
  let i = 0;
  for (const [name, group] of grouped(thinned(points), (one) => rows[one.row].precision))
    data.push({
      x: group.map((one) => one.error > 0 ? one.error : floor),
      y: group.map((one) => one.speedup),
      mode: 'markers',
      name: safe(name),
      marker: marker(i++),
      hoverinfo: 'text',
      text: group.map(
          (one) => lines(
              label(rows[one.row]),
              times(one.speedup) + (one.shared ? '!' : '') + ' over fp32 (' + human(rows[one.reference].median, 's') +
                  ')',
              'largest error ' + (one.error > 0 ? error_text(one.error) : '0 (drawn at the left edge)')))
    });
  return {
    data,
    layout: {
      xaxis: log_axis('largest error over the RMS of the reference', {exponentformat: 'power'}),
      yaxis: axis('speedup over fp32', ranged(in_view, {rangemode: 'tozero'})),
      annotations: outside_note(points, speedup, in_view),
      shapes: [
        {type: 'line', xref: 'paper', x0: 0, x1: 1, y0: 1, y1: 1, line: {color: '#57606a', width: 1, dash: 'dash'}}
      ]
    }
  };
}

function collectives_plot(curves) {
  const data = [];
  curves.forEach((curve, i) => {
    data.push({
      x: curve.bytes,
      y: curve.busbw,
      mode: 'lines+markers',
      name: safe(shorter(curve.name, 90)),
      marker: marker(i),
      line: {color: colours[i % colours.length], width: 1},
      legendgroup: 'c' + i,
      hoverinfo: 'text',
      text: curve.bytes.map(
          (size, j) =>
              lines(curve.full, human(size, 'B'), human(curve.busbw[j], 'B/s'), human(curve.seconds[j], 's')))
    });
    if (!curve.fit) return;
    const low = Math.log10(curve.bytes[0]), high = Math.log10(curve.bytes[curve.bytes.length - 1]);
    const x = Array.from({length: 60}, (_, j) => 10 ** (low + (high - low) * j / 59)), last = curve.bytes.length - 1;
    const factor = curve.busbw[last] * curve.seconds[last] / curve.bytes[last];
    data.push({
      x,
      y: x.map((size) => factor * size / (curve.fit.alpha + curve.fit.beta * size)),
      mode: 'lines',
      legendgroup: 'c' + i,
      showlegend: false,
      line: {color: colours[i % colours.length], width: 2, dash: 'dot'},
      hoverinfo: 'skip'
    });
  });
  return {data, layout: {xaxis: log_axis('message, B'), yaxis: log_axis('bus bandwidth, B/s')}};
}

// `wanted`: speedup and efficiency have an ideal, a bandwidth has none.
function scaling_plot(curves, over, wanted, title) {
  const data = curves.map(
      (curve, i) => ({
        x: curve.points.map((one) => one.count),
        y: curve.points.map((one) => one[wanted]),
        mode: 'lines+markers',
        name: safe(shorter(curve.name, 90)),
        marker: marker(i, 9),
        line: {color: colours[i % colours.length], dash: dashes[Math.floor(i / colours.length) % dashes.length]},
        hoverinfo: 'text',
        text: curve.points.map(
            (one) => lines(
                curve.full, one.count + ' ' + over, human(one.seconds, 's'),
                known(one.busbw) ? human(one.busbw, 'B/s') : times(one.speedup) + ', ideal ' + times(one.ideal),
                'efficiency ' + percent(one.efficiency) + (one.shared ? '!' : '')))
      }));
  const points = curves.flatMap((curve) => curve.points), value = (one) => one[wanted];
  let in_view = wanted === 'efficiency' ? quiet_range(points, value, (one) => one.shared, true) : undefined;
  if (in_view) in_view = [0, Math.max(1.05, in_view[1])];  // with the ideal
  const counts = [...new Set(curves.flatMap((curve) => curve.points.map((one) => one.count)))].sort((a, b) => a - b);
  if (wanted !== 'busbw')
    data.unshift({
      x: counts,
      y: counts.map((one) => wanted === 'efficiency' ? 1 : one / counts[0]),
      mode: 'lines',
      name: 'ideal',
      line: {color: '#57606a', dash: 'dash', width: 1.5},
      hoverinfo: 'skip'
    });
  const ticks = {type: 'log', tickvals: counts, ticktext: counts.map(String)};
  const axes = {
    speedup: {type: 'log', exponentformat: 'none', dtick: 'D2'},
    efficiency: {rangemode: 'tozero', tickformat: '.0%'},
    busbw: {rangemode: 'tozero', exponentformat: 'SI'}
  };
  const annotations = outside_note(points, value, in_view), yaxis = axis(title, ranged(in_view, axes[wanted]));
  return {data, layout: {showlegend: true, xaxis: axis(over, ticks), yaxis, annotations}};
}

// speedups[i][j]: of node j over the fleet's median in case i.
function heat_plot(hosts, cases, speedups) {
  const logs = speedups.map((line) => line.map((one) => known(one) && one > 0 ? Math.log2(one) : null));
  const flat = logs.flat().filter(known), extent = Math.max(0.07, ...flat.map(Math.abs));
  const steps = [1 / 2 ** extent, 1 / 2 ** (extent / 2), 1, 2 ** (extent / 2), 2 ** extent];
  const places = hosts.map((_, i) => i), levels = cases.map((_, i) => i);
  return {
    data: [{
      type: 'heatmap',
      z: logs,
      x: places,
      y: levels,
      zmin: -extent,
      zmax: extent,
      xgap: 1,
      ygap: 1,
      hoverongaps: false,
      hoverinfo: 'text',
      colorscale: [[0, '#d55e00'], [0.5, '#f7f7f7'], [1, '#0072b2']],
      colorbar: {
        title: {text: 'speedup over<br>fleet median'},
        tickvals: steps.map(Math.log2),
        ticktext: steps.map((one) => one.toFixed(2))
      },
      hovertext: speedups.map(
          (line, i) => line.map(
              (one, j) => lines(hosts[j], cases[i], known(one) ? times(one) + ' over the fleet' : 'no number'))),
      text: speedups.map((line) => line.map((one) => known(one) ? one.toFixed(2) : '')),
      texttemplate: hosts.length * cases.length <= 400 ? '%{text}' : undefined,
      textfont: {size: 11}
    }],
    layout: {
      height: Math.max(300, 150 + 20 * cases.length),
      margin: {l: 60, r: 20, t: 10, b: 90},
      xaxis: axis('node', {tickvals: places, ticktext: hosts.map((one) => safe(shorter(one, 24))), showgrid: false}),
      yaxis: axis('', {
        tickvals: levels,
        ticktext: cases.map((one) => safe(shorter(one, 56))),
        autorange: 'reversed',
        showgrid: false
      })
    },
  };
}
