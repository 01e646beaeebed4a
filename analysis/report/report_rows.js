// Every row, the environments and the files.

const problem_column = () => field('Problem', 'problem', 'name keep', {
  show: (text, row) => row.message || whole(text),
  tip: (row) => row.id,
  find: (row) => row.id
});
const direction_column = field('Direction', 'direction', 'fold bare'), algorithm_column = field('Algorithm', 'algorithm', 'fold bare');
const precision_column = field('Precision', 'precision', 'fold bare'), system_column = field('System', 'system', 'short fold');
const reason_column = field('Reason', 'reason', 'wide'), id_column = field('Id', 'id', 'wide aside');
const backend_column = (title = 'Backend') => field(title, 'backend', 'fold bare');
// Further properties that tell rows apart.
function work_columns(precision = precision_column) {
  const benchmark = field('Benchmark', 'benchmark', 'fold bare');
  return [benchmark, direction_column, precision, backend_column(), algorithm_column, system_column];
}
const time_column = () =>
    measure('Time', 'median', 'keep', {
    mark: (row) => row.published ? '*' : row.mark,
    tip: (row) => !known(row.median) ? row.reason :
        row.median + ' s' + (row.published ? ' (published: no interval)' : row.mark && ' ' + mark_texts[row.mark])
  });

// The file of a row, without the folder that all share, where neither system nor host tells it: runs of several weeks.
function file_column(list) {
  const places = [...grouped(list, (row) => row.system + '\n' + row.host).values()];
  if (!places.some((place) => new Set(place.map((row) => row.file)).size > 1)) return null;
  const names = [...new Set(list.map((row) => row.file))], first = names[0];
  let start = 0;
  for (let at = first.indexOf('/') + 1; at > 0; at = first.indexOf('/', at) + 1) {
    if (!names.every((name) => name.length > at && name.startsWith(first.slice(0, at)))) break;
    start = at;
  }
  return field('File', (row) => row.file.slice(start).replace(/\/$/, ''), 'short keep', {tip: (row) => row.file});
}

// The columns that tell the rows of one benchmark apart.
function telling_columns(list) {
  const has = (name) => list.some((row) => row['parameter/' + name]);
  // A collective's transport stands where others have their backend, its message size where they have their problem.
  const messages = list.every((row) => !known(row.busbw) || row['parameter/bytes'] === row.problem);
  const by_transport = has('transport') && list.every((row) => row['parameter/transport'] === row.backend);
  const parameters = Object.keys(list[0]).filter((key) => key.startsWith('parameter/')).map((key) => key.slice(10));
  const named = parameters.filter(
      (name) => has(name) && !(name === 'transport' && by_transport) && !(name === 'bytes' && messages));
  const parameter = (name) => name === 'bytes' ?
      measure(name, (row) => Number(row['parameter/bytes']) || null, 'fold', {show: (_, row) => row.bytes_text}) :
      field(name, 'parameter/' + name, 'fold');
  return [
    badge_column('Status', 'status', 'fold keep bare', {tip: (row) => row.reason}), system_column,
    field('Host', 'host', 'short fold'), file_column(list), problem_column(), direction_column, precision_column,
    backend_column(by_transport ? 'Transport' : 'Backend'), algorithm_column, ...named.map(parameter)
  ].filter(Boolean);
}
// The columns of measured values beyond the time; what no row has is left out.
function measured_columns(list) {
  const number = (title, key, flags, more) => measure(title, key, flags, {mark: (row) => row.mark, ...more});
  const energy_tip = (row) => known(row.energy) ? 'per run, of ' + row.energy_domains : null;
  return [
    ['flops_per_s', number('Rate', 'flops_per_s')],
    ['busbw', number('Bus bandwidth', 'busbw')],
    ['images_per_s', number('Images', 'images_per_s')],
    ['convergence', field('Convergence', 'convergence')],
    ['burn', field('Burn-in', 'burn')],
    ['fraction', number('Of ceiling', 'fraction', '', {mark: ceiling_mark})],
    ['max_error', measure('Largest error', 'max_error')],
    ['error_over_bound', measure('Of its bound', 'error_over_bound')],
    ['bytes_per_s', number('Bandwidth', 'bytes_per_s')],
    ['launches', measure('Launches', 'launches')],
    ['samples', measure('Samples', 'samples')],
    ['p95', number('p95', 'p95', 'aside')],
    ['p99', number('p99', 'p99', 'aside')],
    ['energy', number('Energy', 'energy', 'aside', {tip: energy_tip})],
  ].filter(([key]) => list.some((row) => known(row[key]) || typeof row[key] === 'string' && row[key]))
      .map(([, column]) => column);
}
const interval_column = () =>
    measure('Interval', 'low', '', {
    show: (_, row) => (row.range ? 'range ' : '') + range(row.low_text, row.high_text),
    tip: (row) => known(row.low) ?
        (row.range ? 'range of the launches: ' : '95 % interval: ') + row.low + ' \u2026 ' + row.high + ' s' :
        null
  });
// First the columns that differ, then the time, then all else.
function row_columns(list) {
  // Columns with the same in all rows are folded. No more of those that vary than this stand before the time.
  const most_before = 6, telling = telling_columns(list);
  const varies = (column) => column.title === 'Problem' || list.length === 1 || new Set(list.map(column.get)).size > 1;
  const varying = telling.filter(varies);
  return [
    ...telling.filter((column) => !varies(column)), ...varying.slice(0, most_before), time_column(),
    list.some((row) => known(row.low)) ? interval_column() : null, ...varying.slice(most_before),
    ...measured_columns(list), id_column, list.some((row) => row.reason) ? reason_column : null,
    field('Repeat', 'repeat', 'aside command', {show: (text) => text ? code(text) : 'published, not measured here'})
  ];
}

const by_index = {rows: (row) => [row.index]};
// The rows that no backend could run are one line until it is opened.
function unsupported_rows(list) {
  if (!list.length) return null;
  const columns = [
    file_column(list), problem_column(), ...work_columns(), {...reason_column, keep: true},
    field('Required', 'required', 'fold bare'), id_column
  ];
  const folded = fold('', data_table('Unsupported rows', columns, list, by_index));
  folded.classList.add('unsupported');
  now_and_on_filter(() => folded.firstChild.replaceChildren(
      badge('unsupported'), ' ' + part_of(list.filter((row) => passes(row.index)).length, list.length, 'row') +
          ' without a number: no backend that was asked supports them'));
  return folded;
}

function all_rows() {
  if (!rows.length) return;
  const benchmarks = grouped(rows, (row) => row.benchmark);
  section(
      'rows', 'Every row',
      paragraph(
          'Open a row (\u25b8) for all that is known of it and the command that measures it again. Times are the ' +
          'median, with a 95 % interval: of the samples of one launch, or of the medians of several launches. Fewer ' +
          'than ' + report.least_for_interval + ' launches have none: their range is shown.' + mark_sentences()),
      fleet_note(), [...benchmarks].map(([name, list]) => {
        const shown = list.filter((row) => row.status !== 'unsupported');
        return [
          benchmarks.size > 1 ? subtitle(name) : null,
          shown.length ? data_table('Every row of ' + name, row_columns(shown), shown, by_index) : null,
          unsupported_rows(list.filter((row) => row.status === 'unsupported'))
        ];
      }));
}
// The page of many nodes has medians; this says all that is left out.
function fleet_note() {
  const fleet = report.fleet;
  return fleet ? paragraph(
      plural(fleet.rows, 'row') + ' of ' + fleet.nodes + ' nodes: each is the median of the nodes\u2019 medians with the ' +
      '95 % interval of that median, ratios within a row are those of a typical node. By themselves stand rows of nodes ' +
      'that are not ok, were disturbed, or took more than ' + fleet.listed_above_text +
      ' longer than the median of the other nodes. The other ' + (fleet.verified + fleet.unsupported) +
      ' rows of nodes are in the files' +
      (fleet.not_listed ? ', and so are ' + fleet.not_listed + ' more that need a look: the gravest are shown.' : '.'),
      'notice') : null;
}
function mark_sentences() {
  const has = (mark) => rows.some((row) => row.mark === mark);
  return (has('!') ? ' ! marks a time, and what is made of it, while other work wanted the processors: an upper limit.' : '') +
      (has('\u00b0') ? ' \u00b0 marks a time while power or heat held the clock of the device down.' : '') +
      (has('~') ? ' ~ marks more threads or ranks than processors.' : '') +
      (rows.some((row) => row.exceeded) ? exceeded_sentence : '') +
      (rows.some((row) => row.published) ? ' * marks numbers that others published; nothing here has verified them.' : '');
}

function files() {
  const columns = [
    field('File', (item) => item.name || 'result', 'wide keep'), field('Kind', 'kind'), field('System', 'system', 'short'),
    field('Suite', 'suite'), field('Started', (item) => day(item.started)), measure('Rows', 'rows'),
    field('Run', 'run', 'wide aside'), field('Command', 'command', 'aside command', {show: (text) => code(text || '\u2013')})
  ];
  section('files', 'Files', data_table('Files', columns, report.files));
}

function environments() {
  const part = report.environments;
  if (!part) return;
  const most = 4, shown = part.distinct.slice(0, most), field_column = field('Field', 'field', 'keep name');
  const columns = [
    field('Environment', (item) => 'E' + (part.distinct.indexOf(item) + 1) + ' ' + item.system, 'wide'),
    field('Hosts', (item) => few(item.hosts, 12), 'wide'), field('Files', (item) => few(item.files, 12), 'wide')
  ];
  const side_by_side =
      [field_column, ...shown.map((_, i) => field('E' + (i + 1), (row) => row.values[i] ?? 'absent', 'wide'))];
  const not_shown = 'The first ' + most + ' of ' + part.distinct.length + ' environments are set side by side.';
  const none = part.distinct.length > 1 ? 'None in hardware and software.' : 'There is one environment alone.';
  section(
      'environments', 'Environments', data_table('Environments', columns, part.distinct), subtitle('Differences'),
      part.differences.length && shown.length < part.distinct.length ? paragraph(not_shown, 'soft') : null,
      part.differences.length ? data_table('Differences', side_by_side, part.differences) : paragraph(none),
      fold('What all have in common (' + part.common.length + ' fields)', data_table(
          'Common fields', [field_column, field('Value', (item) => item.value ?? 'unknown', 'wide')], part.common)));
}
