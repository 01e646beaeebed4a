// Evidence of rows beside their times: devices, burn-in, links, storage, blame. The tables come with their texts; a map
// is a drawing of a table.

// Columns that a narrow page keeps, beside the first.
const kept_titles = ['Errors', 'wrong', 'Rate', 'cost', 'Slow links'];
function made_columns(table) {
  const columns = table.columns.map(({title, right}, i) => {
    const text = (line) => line.cells[i] ?? '', long = Math.max(...table.lines.map((line) => text(line).length)) > 24;
    const flags = (right ? 'right ' : long ? 'wide ' : '') + (i === 0 || kept_titles.includes(title) ? 'keep' : '');
    const name = table.matrix && i ? title : title[0].toUpperCase() + title.slice(1);
    return field(name, (line) => line.numbers[i] ?? (right ? null : text(line)), flags, {
      show: (_, line) => text(line),
      tip: (line) => known(line.numbers[i]) ? String(line.numbers[i]) : null
    });
  });
  const noted = table.lines.some((line) => line.note);
  return noted ? [...columns, field('Note', 'note', 'wide')] : columns;
}

// The unit that all numbers of a matrix have, or ''. It is then said once, so that numbers fit into narrow cells.
const number_parts = /^([\d.]+) ([^\d\s!\u00b0~]+)(.*)$/;
function common_unit(table) {
  const cells = table.lines.flatMap((line) => line.cells.slice(1).filter((_, j) => known(line.numbers[j + 1])));
  const units = new Set(cells.map((text) => (number_parts.exec(text) || [])[2]));
  return units.size === 1 && !units.has(undefined) ? [...units][0] : '';
}
// The map of a matrix: its first column names the lines.
function matrix_map(table, unit) {
  const hosts = table.columns.slice(1).map((column) => column.title), cases = table.lines.map((line) => line.cells[0]);
  const cells = table.lines.map((line) => hosts.map((host, j) => {
    const speedup = line.ratios[j + 1], text = line.cells[j + 1];
    const tip = known(speedup) ? text + ', ' + line.ratios_text[j + 1] + ' of the median' : 'no number';
    return {speedup, text: unit ? text.replace(number_parts, '$1$3') : text, tip};
  }));
  return {hosts, cases, cells, over: 'of the median', title: '', extent: extent_of(cells.flat().map(({speedup}) => speedup))};
}
function evidence_table(table, caption) {
  const made = data_table(table.title || caption, made_columns(table), table.lines);
  const unit = table.matrix ? common_unit(table) : '', title = table.title && table.title[0].toUpperCase() + table.title.slice(1);
  const heading = title ? subtitle(title + (unit ? ', ' + unit : '')) : null;
  if (!table.matrix || !has_plots) return [heading, made];
  // The table of a narrow map, whose cells have no room for numbers, is open: no number is a colour alone.
  const map = matrix_map(table, unit), roomy = unit && map.hosts.length <= 8;
  return [
    heading, plot('Map: ' + table.title, (width) => heat_plot(map, width), 'free'),
    roomy ? fold('Table of the ' + table.title, made) : made
  ];
}

function drift_plot(curves) {
  const minutes = (point) => point.minutes, ratio = (point) => point.ratio;
  return {
    data: curves.map((curve, place) => curve_series(
        {...curve, name: shorter(curve.name, 44), place}, minutes, ratio, (point) => lines(curve.full, point.minutes_text + ' min', point.ratio_text))),
    layout: {
      showlegend: true,
      xaxis: axis('minutes of burn-in', {rangemode: 'tozero'}),
      yaxis: axis('time of a run over its median', {tickformat: '.4~g'})
    }
  };
}

function evidence() {
  for (const part of each(report.evidence)) {
    const curves = each(part.curves), notes = each(part.notes);
    section(
        part.id, part.title, paragraph(part.text),
        curves.length ? plot('Time of a run during the burn-in', () => drift_plot(curves)) : null,
        part.tables.map((table) => evidence_table(table, part.title)), notes.length ? bullets(notes) : null);
  }
}
