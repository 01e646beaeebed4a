// Every row, the environments and the files.

// A collective's problem is the size of its message.
function is_message(row) {
  return known(row.busbw) && Number(row.problem) > 0;
}
function problem_column() {
  const more = {kind: 'name', tip: (row) => row.id, find: (row) => row.id, keep: true};
  return {
    ...field('Problem', (row) => row.problem, more),
    show: (row) => is_message(row) ? binary(Number(row.problem)) : whole(row.problem)
  };
}
function precision_column() {
  return field('Precision', (row) => row.precision, {fold: true, bare: true});
}
// What else tells rows apart, but for what `without` names.
function work_columns(without) {
  return [
    field('Benchmark', (row) => row.benchmark, {fold: true, bare: true}),
    field('Direction', (row) => row.direction, {fold: true, bare: true}),
    without === 'precision' ? null : precision_column(),
    field('Backend', (row) => row.backend, {fold: true, bare: true}),
    field('Algorithm', (row) => row.algorithm, {fold: true, bare: true}),
    field('System', (row) => row.system, {kind: 'short', fold: true}),
  ].filter(Boolean);
}
function time_column() {
  return {
    title: 'Time',
    right: true,
    keep: true,
    get: (row) => row.median,
    show: (row) => seconds(row.median) + (row.published ? '*' : row.mark),
    tip: (row) => !known(row.median) ? row.reason :
                                       row.median + ' s' + (row.published ? ' (published: no interval)' : row.mark && ' ' + mark_texts[row.mark])
  };
}

// The file of a row, without the folder that all share, where neither system nor host tells it: runs of several weeks.
function file_column(list) {
  const files = new Map();
  for (const row of list) {
    const place = row.system + '\n' + row.host;
    files.set(place, (files.get(place) || new Set()).add(row.file));
  }
  if (![...files.values()].some((names) => names.size > 1)) return null;
  const names = [...new Set(list.map((row) => row.file))], first = names[0];
  let start = 0;
  for (let at = first.indexOf('/') + 1; at > 0; at = first.indexOf('/', at) + 1) {
    if (!names.every((name) => name.length > at && name.startsWith(first.slice(0, at)))) break;
    start = at;
  }
  return field(
      'File', (row) => row.file.slice(start).replace(/\/$/, ''), {kind: 'short', tip: (row) => row.file, keep: true});
}

// What tells the rows of one benchmark apart.
function telling_columns(list) {
  const has = (name) => list.some((row) => row['parameter/' + name]);
  // A collective's transport stands where others have their backend, its message size where they have their problem.
  const messages = list.every((row) => !known(row.busbw) || row['parameter/bytes'] === row.problem);
  const by_transport = has('transport') && list.every((row) => row['parameter/transport'] === row.backend);
  const named = report.rows.parameters.filter(
      (name) => has(name) && !(name === 'transport' && by_transport) && !(name === 'bytes' && messages));
  const parameter = (name) => field(name, (row) => row['parameter/' + name], {fold: true});
  const size = {
    ...parameter('bytes'),
    right: true,
    get: (row) => Number(row['parameter/bytes']) || null,
    show: (row) => row['parameter/bytes'] ? binary(Number(row['parameter/bytes'])) : ''
  };
  return [
    field('Status', (row) => row.status, {
      show: (row) => badge(row.status),
      tip: (row) => row.reason,
      fold: true,
      keep: true,
      bare: true
    }),
    field('System', (row) => row.system, {kind: 'short', fold: true}),
    field('Host', (row) => row.host, {kind: 'short', fold: true}),
    file_column(list),
    problem_column(),
    field('Direction', (row) => row.direction, {fold: true, bare: true}),
    precision_column(),
    field(by_transport ? 'Transport' : 'Backend', (row) => row.backend, {fold: true, bare: true}),
    field('Algorithm', (row) => row.algorithm, {fold: true, bare: true}),
    ...named.map((name) => name === 'bytes' ? size : parameter(name)),
  ].filter(Boolean);
}
// What was measured of them, beyond the time; what no row has is left out.
function measured_columns(list) {
  const unit = (name) => (value) => human(value, name);
  const plain_number = (key, title, show, more) =>
      list.some((row) => known(row[key])) ? measure(title, (row) => row[key], show, more) : null;
  const number = (...about) => {
    const column = plain_number(...about);
    return column && marked(column, (row) => row.mark);
  };
  return [
    number('flops_per_s', 'Rate', unit('FLOP/s')),
    number('busbw', 'Bus bandwidth', unit('B/s')),
    number('images_per_s', 'Images', unit('/s')),
    list.some((row) => row.convergence) ? field('Convergence', (row) => row.convergence) : null,
    number('fraction', 'Of ceiling', percent),
    plain_number('max_error', 'Largest error', error_text),
    plain_number('error_over_bound', 'Of its bound', percent),
    number('bytes_per_s', 'Bandwidth', unit('B/s')),
    plain_number('launches', 'Launches', plain),
    plain_number('samples', 'Samples', plain),
    number('p95', 'p95', seconds, {aside: true}),
    number('p99', 'p99', seconds, {aside: true}),
    number('energy', 'Energy', unit('J'), {aside: true, tip: (row) => known(row.energy) ? 'per run, of ' + row.energy_domains : null}),
  ].filter(Boolean);
}
function interval_column() {
  return {
    ...measure('Interval', (row) => row.low, seconds),
    show: (row) => (row.range ? 'range ' : '') + range(row.low, row.high, seconds),
    tip: (row) => known(row.low) ?
        (row.range ? 'range of the launches: ' : '95 % interval: ') + row.low + ' \u2026 ' + row.high + ' s' :
        null
  };
}
// What differs first, then the time, then all else.
function row_columns(list) {
  // What is the same in all rows is folded. Of what varies no more than this stands before the time.
  const most_before = 6, telling = telling_columns(list);
  const varies = (column) => column.title === 'Problem' || list.length === 1 || new Set(list.map(column.get)).size > 1;
  const varying = telling.filter(varies);
  return [
    ...telling.filter((column) => !varies(column)), ...varying.slice(0, most_before), time_column(),
    list.some((row) => known(row.low)) ? interval_column() : null, ...varying.slice(most_before),
    ...measured_columns(list), field('Id', (row) => row.id, {wide: true, aside: true}),
    list.some((row) => row.reason) ? field('Reason', (row) => row.reason, {wide: true}) : null,
    field('Repeat', (row) => row.repeat, {
      aside: true,
      kind: 'command',
      show: (row) => row.repeat ? element('code', {}, row.repeat) : 'published, not measured here'
    })
  ].filter(Boolean);
}

// What no backend could run is one line until it is opened.
function unsupported_rows(list) {
  if (!list.length) return null;
  const summary = element('summary', {}), left = () => list.filter((row) => passes(row.index)).length;
  const tell = () => {
    const count = left();
    summary.replaceChildren(
        badge('unsupported'), ' ' + (count === list.length ? '' : count + ' of ') + plural(list.length, 'row') +
            ' without a number: no backend that was asked supports them');
  };
  tell();
  on_filter(tell);
  const columns = [
    file_column(list), problem_column(), ...work_columns(), field('Reason', (row) => row.reason, {wide: true, keep: true}),
    field('Required', (row) => row.required, {fold: true, bare: true}),
    field('Id', (row) => row.id, {wide: true, aside: true})
  ].filter(Boolean);
  return element(
      'details', {class: 'fold unsupported'}, summary,
      data_table('Unsupported rows', columns, list, {rows: (row) => [row.index]}));
}

function all_rows() {
  if (!rows.length) return;
  const made = section(
      'rows', 'Every row',
      element(
          'p', {},
          'Open a row (\u25b8) for all that is known of it and the command that measures it again. Times are the ' +
              'median, with a 95 % interval: of the samples of one launch, or of the medians of several launches. Fewer ' +
              'than ' + report.least_for_interval + ' launches have none: their range is shown.' + mark_sentences()),
      fleet_note());
  const benchmarks = grouped(rows, (row) => row.benchmark);
  for (const [name, list] of benchmarks) {
    const shown = list.filter((row) => row.status !== 'unsupported');
    append(
        made, benchmarks.size > 1 ? element('h3', {}, name) : null,
        shown.length ? data_table('Every row of ' + name, row_columns(shown), shown, {rows: (row) => [row.index]}) : null,
        unsupported_rows(list.filter((row) => row.status === 'unsupported')));
  }
}
// Of many nodes the page has medians; what is said here is all that is left out.
function fleet_note() {
  const fleet = report.fleet;
  if (!fleet) return null;
  return element(
      'p', {class: 'notice'},
      plural(fleet.rows, 'row') + ' of ' + fleet.nodes + ' nodes: each is the median of the nodes\u2019 medians with the 95 % ' +
          'interval of that median, ratios within a row are those of a typical node. By themselves stand rows of nodes that ' +
          'are not ok, were disturbed, or took more than ' + percent(fleet.listed_above) +
          ' longer than the median of the other nodes. The other ' + (fleet.verified + fleet.unsupported) +
          ' rows of nodes are in the files' +
          (fleet.not_listed ? ', and so are ' + fleet.not_listed + ' more that need a look: the gravest are shown.' : '.'));
}
function mark_sentences() {
  const has = (mark) => rows.some((row) => row.mark === mark);
  return (has('!') ? ' ! marks a time, and what is made of it, while other work wanted the processors: an upper limit.' : '') +
      (has('\u00b0') ? ' \u00b0 marks a time while power or heat held the clock of the device down.' : '') +
      (has('~') ? ' ~ marks more threads or ranks than processors.' : '') +
      (rows.some((row) => row.published) ? ' * marks numbers that others published; nothing here has verified them.' : '');
}

function files() {
  const columns = [
    field('File', (item) => item.name || 'result', {wide: true, keep: true}),
    field('Kind', (item) => item.kind),
    field('System', (item) => item.system, {kind: 'short'}),
    field('Suite', (item) => item.suite),
    field('Started', (item) => day(item.started)),
    measure('Rows', (item) => item.rows ?? null, plain),
    field('Run', (item) => item.run, {wide: true, aside: true}),
    field('Command', (item) => item.command, {
      aside: true,
      kind: 'command',
      show: (item) => element('code', {}, item.command || '\u2013')
    }),
  ];
  section('files', 'Files', data_table('Files', columns, report.files));
}

function environments() {
  const part = report.environments;
  if (!part) return;
  const name = (item, i) => 'E' + (i + 1) + ' ' + item.system;
  const columns = [
    field('Environment', (item) => name(item, part.distinct.indexOf(item)), {wide: true}),
    field('Hosts', (item) => few(item.hosts, 12), {wide: true}),
    field('Files', (item) => few(item.files, 12), {wide: true}),
  ];
  const made = section('environments', 'Environments', data_table('Environments', columns, part.distinct));
  append(made, element('h3', {}, 'Differences'));
  const most = 4, shown = part.distinct.slice(0, most);
  if (part.differences.length) {
    if (shown.length < part.distinct.length)
      append(
          made,
          element(
              'p', {class: 'soft'},
              'The first ' + most + ' of ' + part.distinct.length + ' environments are set side by side.'));
    append(
        made,
        data_table(
            'Differences',
            [
              field('Field', (item) => item.field, {keep: true}),
              ...shown.map((item, i) => field('E' + (i + 1), (row) => row.values[i] ?? 'absent', {wide: true}))
            ],
            part.differences));
  } else {
    append(
        made,
        element(
            'p', {},
            part.distinct.length > 1 ? 'None in hardware and software.' : 'There is one environment alone.'));
  }
  append(
      made,
      folded_table(
          'What all have in common (' + part.common.length + ' fields)',
          data_table(
              'Common fields',
              [field('Field', (item) => item.field, {keep: true}), field('Value', (item) => item.value ?? 'unknown', {wide: true})],
              part.common)));
}
