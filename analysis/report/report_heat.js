// Nodes beside one another: the same map, words and scale for what `assay accept` judged and for results alone.

// The largest departure from 1 in all maps of the page, so that one colour means one speedup.
function heat_extent() {
  const all = [];
  if (report.nodes)
    for (const row of report.nodes.rows) all.push(...row.speedups);
  for (const fleet of each(report.acceptance))
    for (const node of each(fleet.nodes))
      for (const row of each(node.rows)) all.push(row.speedup ?? speedup_of(row.ratio));
  return Math.max(0.07, ...all.filter((value) => known(value) && value > 0).map((value) => Math.abs(Math.log2(value))));
}

// cells[i][j]: {speedup, mark} of node j in case i.
function heat_plot(hosts, cases, cells, width) {
  const logs = cells.map((line) => line.map(({speedup}) => known(speedup) && speedup > 0 ? Math.log2(speedup) : null));
  const extent = heat_extent(), steps = [-extent, -extent / 2, 0, extent / 2, extent];
  const places = hosts.map((_, i) => i), levels_of = cases.map((_, i) => i);
  const names = hosts.map((host) => shorter(host, 24)), told = told_apart(cases);
  const rows_named = told.names.map((name) => shorter(name, 48));
  // Names of nodes stand upright where they are wider than their column, and each second, third, … where even that is too much.
  const pitch = (width - 180 - Math.max(...rows_named.map((name) => text_width(name, 13)))) / hosts.length;
  const longest = Math.max(...names.map((name) => text_width(name, 13))), upright = longest + 10 > pitch;
  const every = Math.ceil(16 / pitch), ticks = places.filter((i) => !upright || i % every === 0);
  return {
    data: [{
      type: 'heatmap',
      z: logs,
      x: places,
      y: levels_of,
      zmin: -extent,
      zmax: extent,
      xgap: 1,
      ygap: 1,
      hoverongaps: false,
      hoverinfo: 'text',
      colorscale: [[0, '#f0a06a'], [0.5, '#f7f7f7'], [1, '#76b5de']],
      colorbar: {
        title: {text: 'speedup', side: 'right'},
        thickness: 14,
        tickvals: steps,
        ticktext: steps.map((step) => (2 ** step).toFixed(2) + '\u00d7')
      },
      hovertext: cells.map(
          (line, i) => line.map(
              ({speedup, mark}, j) => lines(
                  hosts[j], cases[i],
                  known(speedup) ? times(speedup) + mark + ' over the median of the other nodes' : 'no number'))),
      text: cells.map((line) => line.map(({speedup, mark}) => known(speedup) ? speedup.toFixed(2) + mark : '')),
      texttemplate: hosts.length <= 24 && hosts.length * cases.length <= 600 ? '%{text}' : undefined,
      textfont: {size: 11, color: '#1b1f24'}
    }],
    layout: {
      height: Math.max(240, 120 + 22 * cases.length) + (upright ? longest : 0),
      margin: {l: 60, r: 20, t: 16, b: 60},
      xaxis: axis('node', {
        tickvals: ticks,
        ticktext: ticks.map((i) => safe(names[i])),
        tickangle: upright ? -90 : 0,
        showgrid: false,
        zeroline: false
      }),
      yaxis: axis('', {
        tickvals: levels_of,
        ticktext: rows_named.map(safe),
        autorange: 'reversed',
        showgrid: false,
        zeroline: false
      })
    },
  };
}

// What stands around a map: who over whom, and what its cells are. `hosts` and `cells` are functions: a filter changes
// what they give. `which` says which nodes the map has, where it has not all. {parts, redraw}
function node_map(hosts, cases, cells, of, which) {
  const all = cases(), common = told_apart(all).common, told = cells().flatMap((line) => line.map(({mark}) => mark));
  const text = element(
      'p', {},
      speedup_header('node', 'the median of the other nodes') + '; for ' +
          (all.length < of ? 'the ' + all.length + ' rows of ' + of + ' that differ most' : plural(of, 'row')) +
          (common ? ' ' + common : '') + (which ? ', and ' + which : '') + '. An empty cell has no number.' +
          (told.includes('!') ? ' ! marks a node on which other work wanted the processors.' : '') +
          (told.includes('\u00b0') ? ' \u00b0 marks a node with a throttled device.' : ''));
  const place = plot(
      'Heat map of nodes',
      (width) => hosts().length && cases().length ? heat_plot(hosts(), cases(), cells(), width) : null, 'free');
  return {parts: [text, place], redraw: () => place && place.redraw()};
}
