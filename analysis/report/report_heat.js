// Nodes beside one another: the same map, words and scale for what `assay accept` judged and for results alone.

// The part that all paths share at their beginnings and ends is said once: {names, common}.
function told_apart(paths) {
  const parts = paths.map((path) => path.split('/')), least = Math.min(...parts.map((part) => part.length));
  const alike = (at) => parts.every((part) => at(part) === at(parts[0]));
  let first = 0, last = 0;
  if (paths.length > 1) {
    while (first < least - 1 && alike((part) => part[first])) ++first;
    while (last < least - 1 - first && alike((part) => part[part.length - 1 - last])) ++last;
  }
  const beginning = parts[0].slice(0, first), end = last ? parts[0].slice(-last) : [];
  return {
    names: parts.map((part) => part.slice(first, part.length - last).join('/')),
    common: first || last ? [...beginning, '\u2026', ...end].join('/') : ''
  };
}

// The largest departure from 1; at most a factor of 2, so that one broken node does not make all others alike.
function extent_of(ratios) {
  const largest = Math.max(0.07, ...ratios.filter((value) => known(value) && value > 0).map((value) => Math.abs(Math.log2(value))));
  return {extent: Math.min(1, largest), cut: largest > 1};
}
// The extent of all maps of nodes on the page, so that one colour means one speedup.
function heat_extent() {
  const judged = each(report.acceptance).flatMap((fleet) => fleet.nodes).flatMap((node) => node.rows);
  return extent_of([...report.nodes ? report.nodes.rows.flatMap((row) => row.speedups) : [], ...judged.map((row) => row.speedup)]);
}

// cells[i][j]: {speedup, text, tip} of column j in line i. `over`: of the colours; `title`: of the columns.
function heat_plot({hosts, cases, cells, over, title, extent: {extent, cut}}, width) {
  if (!hosts.length || !cases.length) return null;
  const tickvals = [-extent, -extent / 2, 0, extent / 2, extent], narrow = is_narrow(width);
  const beyond = (i) => !cut || i % 4 ? '' : i ? '\u2265' : '\u2264';
  const names = hosts.map((host) => shorter(host, narrow ? 14 : 24));
  const rows_named = told_apart(cases).names.map((name) => shorter(name, narrow ? 12 : 48));
  const per_cell = (show) => cells.map((line, i) => line.map((cell, j) => show(cell, i, j)));
  // Names of nodes stand upright where they are wider than their column, and each second, third, … where even that is
  // too much.
  const long = (name) => text_width(name, 13);
  const pitch = (width - (narrow ? 60 : 180) - Math.max(...rows_named.map(long))) / hosts.length;
  const longest = Math.max(...names.map(long)), upright = longest + 10 > pitch, every = Math.ceil(16 / pitch);
  // A number stands in its cell where all have room.
  const widest = Math.max(...cells.flat().map(({text}) => text_width(text, 11)));
  const ticks = [...hosts.keys()].filter((i) => !upright || i % every === 0), bare = {showgrid: false, zeroline: false};
  return {
    data: [{
      type: 'heatmap',
      z: per_cell(({speedup}) => known(speedup) && speedup > 0 ? Math.log2(speedup) : null),
      x: [...hosts.keys()],
      y: [...cases.keys()],
      zmin: -extent,
      zmax: extent,
      xgap: 1,
      ygap: 1,
      hoverongaps: false,
      hoverinfo: 'text',
      colorscale: look.heat.map((color, i) => [i / 2, color]),
      colorbar: {
        title: {text: narrow ? '' : over, side: 'right'},
        thickness: 14,
        tickvals,
        ticktext: tickvals.map((step, i) => beyond(i) + (2 ** step).toFixed(2) + '\u00d7'),
        ...narrow ? {orientation: 'h', x: 0.5, y: 0, yref: 'container', yanchor: 'bottom', tickfont: {size: 11}} : {}
      },
      hovertext: per_cell(({tip}, i, j) => lines(hosts[j], cases[i], tip)),
      text: per_cell(({speedup, text}) => known(speedup) ? safe(text) : ''),
      texttemplate: pitch > Math.max(30, widest + 4) && hosts.length * cases.length <= 600 ? '%{text}' : undefined,
      textfont: {size: 11, color: look.ink}
    }],
    layout: {
      height: Math.max(240, 120 + 22 * cases.length) + (upright ? longest : 0) + (narrow ? 50 : 0),
      margin: narrow ? {l: 20, r: 12, t: 16, b: 110 + (upright ? longest : 0)} : {l: 60, r: 20, t: 16, b: 60},
      xaxis: axis(title, {tickvals: ticks, ticktext: ticks.map((i) => safe(names[i])), tickangle: upright ? -90 : 0, ...bare}),
      yaxis: axis('', {tickvals: [...cases.keys()], ticktext: rows_named.map(safe), autorange: 'reversed', ...bare})
    },
  };
}

// The text and the plot of a map, and the table whose filter leaves some of what it shows: `mapped` are the rows of the
// table that it has, content(rows) gives {hosts, cases, cells}. `which` says which nodes the map has, where it has not all.
function node_map(mapped, content, count, which, ...table) {
  const {cases, cells} = content(mapped), common = told_apart(cases).common, told = cells.flat().map(({mark}) => mark);
  const text = paragraph(
      speedup_header('node', 'the median of the other nodes') + '; for ' +
      (cases.length < count ? 'the ' + cases.length + ' rows of ' + count + ' that differ most' : plural(count, 'row')) +
      (common ? ' ' + common : '') + (which ? ', and ' + which : '') + '. An empty cell has no number.' +
      (told.includes('!') ? ' ! marks a node on which other work wanted the processors.' : '') +
      (told.includes('\u00b0') ? ' \u00b0 marks a node with a throttled device.' : ''));
  const told_cell = ({speedup, text, mark}) => ({
    speedup,
    text: known(speedup) ? text.replace('\u00d7', mark) : '',
    tip: known(speedup) ? text + mark + ' over the median of the other nodes' : 'no number'
  });
  const map_of = ({cells, ...rest}) =>
      ({...rest, cells: cells.map((line) => line.map(told_cell)), over: 'speedup', title: 'node', extent: heat_extent()});
  let shown = mapped;
  const place = plot('Heat map of nodes', (width) => heat_plot(map_of(content(shown)), width), 'free');
  const changed = (list) => {
    shown = mapped.filter((row) => list.includes(row));
    if (place) place.redraw();
  };
  return [text, place, data_table(...table, {changed})];
}
