// The last sections, and the order of all: verdicts come first.

function environments() {
  const part = report.environments;
  if (!part) return;
  const name = (one, i) => 'E' + (i + 1) + ' ' + one.system;
  const few = (list) =>
      list.slice(0, 12).join(', ') + (list.length > 12 ? ' and ' + (list.length - 12) + ' more' : '');
  const columns = [
    field('Environment', (one) => name(one, part.distinct.indexOf(one))),
    field('Hosts', (one) => few(one.hosts), {wide: true}),
    field('Files', (one) => few(one.files), {wide: true}),
  ];
  const made = section('environments', 'Environments', data_table('Environments', columns, part.distinct));
  append(made, element('h3', {}, 'Differences'));
  if (part.differences.length) {
    const shown = part.distinct.slice(0, 8);
    if (shown.length < part.distinct.length)
      append(
          made,
          element(
              'p', {class: 'soft'},
              'The first 8 of ' + part.distinct.length + ' environments are set side by side.'));
    append(
        made,
        data_table(
            'Differences',
            [
              {title: 'Field', get: (one) => one.field},
              ...shown.map((one, i) => ({title: name(one, i), get: (row) => row.values[i] ?? 'absent', wide: true}))
            ],
            part.differences));
  } else
    append(
        made,
        element(
            'p', {},
            part.distinct.length > 1 ? 'None in hardware and software.' : 'There is one environment alone.'));
  append(
      made,
      element(
          'details', {}, element('summary', {}, 'What all have in common (' + part.common.length + ' fields)'),
          data_table(
              'Common fields',
              [
                {title: 'Field', get: (one) => one.field},
                {title: 'Value', get: (one) => one.value ?? 'unknown', wide: true}
              ],
              part.common)));
}

function all_rows() {
  if (!rows.length) return;
  const number = (key, title, show) =>
      rows.some((row) => known(row[key])) ? measure(title, (row) => row[key], show) : null;
  const unit = (name) => (value) => human(value, name);
  const interval = {
    show: (row) => (row.range ? 'range ' : '') + range(row.low, row.high, seconds),
    tip: (row) => known(row.low) ?
        (row.range ? 'range of the launches: ' : '95 % interval: ') + row.low + ' \u2026 ' + row.high + ' s' :
        null
  };
  const columns = [
    field('Status', (row) => row.status, {show: (row) => badge(row.status), tip: (row) => row.reason, choose: true}),
    ...work_columns(),
    field('Settings', (row) => row.settings, {kind: 'short'}),
    time_column(),
    {...measure('Interval', (row) => row.low, seconds), ...interval},
    number('launches', 'Launches', plain),
    number('samples', 'Samples', plain),
    number('p95', 'p95', seconds),
    number('p99', 'p99', seconds),
    number('flops_per_s', 'Rate', unit('FLOP/s')),
    number('images_per_s', 'Images', unit('/s')),
    number('bytes_per_s', 'Bandwidth', unit('B/s')),
    number('busbw', 'Bus bandwidth', unit('B/s')),
    number('fraction', 'Of ceiling', percent),
    number('max_error', 'Largest error', error_text),
    number('bound', 'Its bound', error_text),
    number('energy', 'Energy', unit('J')),
    field(
        'Repeat', (row) => row.repeat,
        {kind: 'command', show: (row) => row.repeat ? element('code', {}, row.repeat) : 'published'}),
  ].filter(Boolean);
  section(
      'rows', 'Every row',
      element(
          'p', {},
          'The last column measures a row again. Times are the median, with a 95 % interval: of the samples of ' +
              'one launch, or of the medians of several launches. Fewer than ' + report.least_for_interval +
              ' launches have none: their range is shown. p95 and p99 are of single launches.'),
      data_table('Every row', columns, rows));
}

function files() {
  const columns = [
    field('File', (one) => one.name || 'result', {wide: true}),
    field('Kind', (one) => one.kind),
    field('System', (one) => one.system, {kind: 'short'}),
    field('Run', (one) => one.run),
    field('Suite', (one) => one.suite),
    field('Started', (one) => one.started, {kind: 'short'}),
    measure('Rows', (one) => one.rows ?? null, plain),
    field(
        'Command', (one) => one.command,
        {kind: 'command', show: (one) => element('code', {}, one.command || '\u2013')}),
  ];
  section('files', 'Files', data_table('Files', columns, report.files));
}

function navigation() {
  document.getElementById('sections')
      .append(element(
          'ul', {},
          sections.map(
              ([id, title]) =>
                  element('li', {}, element('a', {href: '#' + id}, title.replace(/, .*|: .*| over other.*/, ''))))));
  document.getElementById('foot').append(element(
      'p', {},
      'Times are medians of verified runs; ratios are never without both of their values. ' +
          'Hold the pointer over a number for all of its digits. ' +
          (has_plots ? 'Plots: plotly.js (MIT licence, in this file).' : '')));
}

const parts = [
  heading, summary, comparisons, acceptance, speedups, roofline, precision, collectives, scaling, nodes, histories,
  models, environments, all_rows, files, navigation
];
for (const draw of parts) {
  try {
    draw();
  } catch (error) {
    // One part that fails must not take the verdicts of the others with it, nor vanish in silence.
    console.error(error);
    main.append(element('p', {class: 'problem'}, 'The part "' + draw.name + '" cannot be drawn (' + error + ').'));
  }
}
document.documentElement.dataset.ready = 'true';
