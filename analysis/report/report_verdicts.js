// Summary and verdicts, comparisons, acceptance. A part without data is left out.

const seconds = (value) => human(value, 's');
function dual(value, show) {
  return element('span', {title: known(value) ? String(value) : null}, show(value));
}
function notes_of(document) {
  const list = (document.notes || []).filter(Boolean);
  return list.length ? element('div', {class: 'notice'}, list.map((one) => element('p', {}, one))) : null;
}
function source_of(document) {
  return element(
      'p', {class: 'soft'}, document.file,
      document.command ? [' \u00b7 ', element('code', {}, document.command)] : null);
}
function each(list) {
  return list || [];
}

function heading() {
  document.getElementById('head').append(
      element('h1', {}, report.title),
      element(
          'p', {class: 'soft'},
          'Made ' + report.made + ' by Assay ' + report.version + ' from ' + report.files.length +
              (report.files.length === 1 ? ' file' : ' files') +
              '. A row counts as ok only when its result was verified before and after timing; ' +
              'any other row has no number.'));
}

function summary() {
  const counts = report.counts || {}, list = [];
  if (report.counts) {
    list.push(tile(counts.ok, 'rows ok', 'good'));
    for (const [name, mood] of [['incorrect', 'bad'], ['failed', 'bad'], ['timeout', 'bad'], ['unsupported', 'mid']])
      if (counts[name] > 0) list.push(tile(counts[name], name, mood));
    if (counts.published > 0) list.push(tile(counts.published, 'of them published, not measured', ''));
  }
  const made = section('summary', 'Summary and verdicts', tiles(...list));
  for (const one of each(report.comparison)) {
    const sum = one.summary || {};
    append(
        made,
        element(
            'h3', {},
            'Comparison: ' + one.new.name + ' (' + one.new.system + ') against ' + one.base.name + ' (' +
                one.base.system + ')'));
    if (one.allow_mismatch && each(one.mismatches).length)
      append(
          made,
          element(
              'p', {class: 'problem'},
              'Compared by --allow-mismatch although more differed than was meant: ' +
                  one.mismatches.map((m) => m.field).join(', ')));
    if (one.refused)
      append(
          made,
          element(
              'p', {class: 'problem'},
              'Refused: more differed than was meant (' + each(one.mismatches).map((m) => m.field).join(', ') +
                  '). Nothing was compared.'));
    append(
        made,
        tiles(
            tile(sum.slower, 'slower', sum.slower > 0 ? 'bad' : ''),
            tile(sum.faster, 'faster', sum.faster > 0 ? 'good' : ''), tile(sum.same, 'same', ''),
            tile(sum.inconclusive, 'inconclusive', sum.inconclusive > 0 ? 'mid' : ''),
            one.only_base && one.only_base.length ? tile(one.only_base.length, 'vanished', 'bad') : null,
            one.only_new && one.only_new.length ? tile(one.only_new.length, 'new', '') : null,
            one.geometric_mean ?
                tile(
                    times(one.geometric_mean.speedup),
                    'geometric mean, new over base, ' + one.geometric_mean.rows + ' of ' + one.geometric_mean.of + ' rows',
                    '') :
                null));
    if (!one.geometric_mean && one.geometric_mean_reason)
      append(made, element('p', {class: 'soft'}, 'No geometric mean: ' + one.geometric_mean_reason));
  }
  for (const one of each(report.acceptance)) {
    const verdicts = count_of(one.nodes, 'verdict');
    append(
        made, element('h3', {}, 'Acceptance'),
        one.verdict ? element('p', {}, badge(one.verdict), one.reason ? ' ' + one.reason : '') : null,
        tiles(...['PASS', 'PERF-FAIL', 'INCORRECT', 'MISSING', 'NOT-QUIET']
                  .filter((name) => verdicts.get(name))
                  .map((name) => tile(verdicts.get(name), name, moods[name]))));
    const marked = each(one.nodes).flatMap((node) => each(node.rows).filter((row) => row.disturbed)).length;
    if (marked)
      append(
          made,
          element(
              'p', {class: 'notice'},
              '! Other work wanted the processors while ' + marked + ' of the judged rows were timed.'));
    const bad = each(one.nodes).filter((node) => node.verdict !== 'PASS');
    if (bad.length)
      append(
          made,
          element(
              'p', {}, bad.slice(0, 20).map((node) => [badge(node.verdict), ' ' + node.node + ' \u2002']),
              bad.length > 20 ? 'and ' + (bad.length - 20) + ' more' : ''));
  }
  for (const one of each(report.history)) {
    const states = count_of(one.series, 'state');
    append(
        made, element('h3', {}, 'History'),
        tiles(...[...states].map(([name, count]) => tile(count, name, moods[name]))));
  }
  if (counts.shared > 0)
    append(
        made,
        element(
            'p', {class: 'notice'},
            '! Other work wanted the processors while ' + counts.shared +
                ' rows were timed: their times are upper limits. Repeat them on a quiet machine.'));
  if (report.several_environments)
    append(
        made,
        element(
            'p', {class: 'notice'},
            'One id stands more than once: the hardware or the software of its launches differed, ' +
                'and such launches are never brought to one number.'));
  if (report.plotly_reason)
    append(
        made,
        element(
            'p', {class: 'notice'},
            'Plots are left out (' + report.plotly_reason + '). The tables hold every number.'));
  const bad = rows.filter((row) => row.status !== 'ok');
  if (bad.length)
    append(
        made, element('h3', {}, 'Rows without a result'),
        data_table(
            'Rows without a result',
            [
              {title: 'Status', get: (row) => row.status, show: (row) => badge(row.status), choose: true},
              ...work_columns(), {title: 'Reason', get: (row) => row.reason, wide: true}
            ],
            bad));
}

function work_columns() {
  const several = new Set(rows.map((row) => row.system)).size > 1;
  return [
    several ? field('System', (row) => row.system, {choose: true, kind: 'short'}) : null,
    field('Problem', (row) => row.problem, {kind: 'short', tip: (row) => row.id, find: (row) => row.id}),
    field('Benchmark', (row) => row.benchmark, {choose: true, fold: true}),
    field('Direction', (row) => row.direction, {choose: true, fold: true}),
    field('Precision', (row) => row.precision, {choose: true, fold: true}),
    field('Backend', (row) => row.backend, {choose: true, fold: true}),
    field('Algorithm', (row) => row.algorithm, {fold: true}),
  ].filter(Boolean);
}
function time_column() {
  return {
    title: 'Time',
    right: true,
    get: (row) => row.median,
    show: (row) => seconds(row.median) +
        (row.published  ? '*' :
             row.shared ? '!' :
                          ''),
    tip: (row) => !known(row.median) ? row.reason :
                                       row.median + ' s' +
            (row.published  ? ' (published: no interval)' :
                 row.shared ? ' (other work wanted the processors)' :
                              '')
  };
}
function of_row(columns) {
  return columns.map((column) => ({
                       ...column,
                       get: (one) => column.get(rows[one.row]),
                       show: column.show && ((one) => column.show(rows[one.row])),
                       tip: column.tip && ((one) => column.tip(rows[one.row])),
                       find: column.find && ((one) => column.find(rows[one.row]))
                     }));
}

function comparison_columns() {
  const star = (row) => row.published ? '*' : '';
  // Documents of before hold the ratio of times alone.
  const faster = (row) => row.speedup ?? speedup_of(row.ratio);
  const interval = (row) =>
      row.speedup_interval ?? (row.interval && [speedup_of(row.interval[1]), speedup_of(row.interval[0])]);
  const low = (row) => interval(row) ? interval(row)[0] : null;
  return [
    field('Verdict', verdict_of, {show: (row) => badge(verdict_of(row)), tip: (row) => row.reason, choose: true}),
    field('Row', (row) => row.id, {wide: true, find: (row) => each(row.names).join(' ')}),
    {...measure('Base', (row) => row.base.median, seconds), show: (row) => seconds(row.base.median) + star(row)},
    {...measure('New', (row) => row.new.median, seconds), show: (row) => seconds(row.new.median) + star(row)},
    measure('New over base', faster, times),
    {
      ...measure('Interval', low, times),
      show: (row) => range(low(row), (interval(row) || [])[1], times),
      tip: (row) => (interval(row) || []).join(' \u2026 ') || null
    },
    measure('p', (row) => row.p, plain),
    measure('Detectable', (row) => row.minimum_detectable, percent),
    {
      ...measure('Launches', (row) => row.base.launches, String),
      show: (row) => row.base.launches + ' + ' + row.new.launches
    },
    field('Stage', (row) => row.stage),
    field('Reason', (row) => [row.reason, ...each(row.notes)].filter(Boolean).join('; '), {wide: true}),
  ];
}
function verdict_of(row) {
  return row.verdict || 'no verdict';
}

function comparisons() {
  each(report.comparison).forEach((one, i) => {
    const made = section(
        'comparison' + (i || ''), 'Comparison, row by row', source_of(one),
        element(
            'p', {},
            speedup_header('new', 'base') + '; by launch medians. Meant to vary: ' + one.vary +
                '. Stage: ' + one.stage + '.'),
        notes_of(one));
    if (each(one.rows).length) append(made, data_table('Comparison', comparison_columns(), one.rows));
    const lone = [
      ...each(one.only_base).map((row) => ({...row, what: 'only in base (vanished)'})),
      ...each(one.only_new).map((row) => ({...row, what: 'only in new'})),
      ...each(one.not_compared).map((row) => ({
                                      ...row,
                                      what: 'not compared',
                                      status: row.base_status && row.base_status + ' / ' + row.new_status
                                    }))
    ];
    if (lone.length)
      append(
          made, element('h3', {}, 'Rows without a ratio'),
          data_table(
              'Rows without a ratio',
              [
                {title: 'Row', get: (row) => row.id, wide: true},
                {title: 'What', get: (row) => row.what, choose: true},
                {title: 'Status', get: (row) => row.status || ''},
                {title: 'Reason', get: (row) => row.reason || '', wide: true}
              ],
              lone));
    if (each(one.mismatches).length)
      append(
          made, element('h3', {}, 'What differed and was not meant to'),
          data_table(
              'Mismatches',
              ['field', 'base', 'new'].map(
                  (key) => ({
                    title: key,
                    get: (row) => typeof row[key] === 'string' ? row[key] : JSON.stringify(row[key]),
                    wide: true
                  })),
              one.mismatches));
    if (each(one.rows).some((row) => row.published))
      append(made, element('p', {class: 'soft'}, '* published, not measured: no interval and no verdict.'));
  });
}

function acceptance() {
  each(report.acceptance).forEach((one, i) => {
    const made = section(
        'acceptance' + (i || ''), 'Acceptance, node by node', source_of(one),
        element(
            'p', {},
            speedup_header('node', 'the median of the other nodes') +
                '; of a node the median over its rows.'),
        notes_of(one));
    const rank = new Map(each(one.stragglers).map((node) => [node.node, node.rank]));
    append(
        made,
        data_table(
            'Nodes',
            [
              {title: 'Verdict', get: (node) => node.verdict, show: (node) => badge(node.verdict), choose: true},
              {title: 'Node', get: (node) => node.node}, {
                title: 'Node over fleet',
                right: true,
                get: (node) => node.speedup ?? speedup_of(node.score),
                show: (node) => times(node.speedup ?? speedup_of(node.score))
              },
              {
                title: 'Straggler',
                right: true,
                get: (node) => rank.get(node.node) ?? null,
                show: (node) => rank.has(node.node) ? 'rank ' + rank.get(node.node) : '\u2013'
              },
              {
                title: 'Findings',
                wide: true,
                get: (node) => {
                  const found = [
                    ...each(node.rows)
                        .filter((row) => row.verdict && row.verdict !== 'PASS' && row.verdict !== 'ok')
                        .map((row) => (row.disturbed ? '! ' : '') + row.id + ': ' + (row.reason || row.verdict)),
                    ...each(node.health && node.health.findings)
                        .filter((f) => f.verdict !== 'PASS')
                        .map((f) => f.criterion + ': ' + (f.reason || f.verdict))
                  ];
                  return (
                      found.length ? found.slice(0, 6).join('; ') +
                              (found.length > 6 ? '; and ' + (found.length - 6) + ' more' : '') :
                                     node.reason || '');
                }
              }
            ],
            each(one.nodes)));
    if (each(one.unmet).length)
      append(
          made, element('h3', {}, 'Criteria of the fleet that are not met'),
          element(
              'ul', {},
              one.unmet.map((u) => element('li', {}, badge('not met'), ' ' + u.criterion + ': ' + u.reason))));
    if (each(one.optional_unmatched).length)
      append(
          made, element('h3', {}, 'Optional criteria that hold for nothing'),
          element('ul', {}, one.optional_unmatched.map((u) => element('li', {}, u.criterion + ': ' + u.reason))));
    if (each(one.unexpected).length)
      append(
          made,
          element(
              'p', {class: 'notice'},
              'Nodes that the criteria do not name: ' +
                  one.unexpected.map((u) => typeof u === 'string' ? u : u.node || JSON.stringify(u)).join(', ')));
    if (each(one.not_judged).length)
      append(
          made, element('h3', {}, 'Rows that count for nothing'),
          data_table(
              'Rows that count for nothing',
              [
                {title: 'Row', get: (row) => row.id, wide: true},
                {title: 'Reason', get: (row) => row.reason, wide: true}
              ],
              one.not_judged));
    const ids = [...new Set(
        each(one.nodes).flatMap((node) => each(node.rows).filter((row) => known(row.ratio)).map((row) => row.id)))];
    if (ids.length && one.nodes.length > 1) {
      const faster = one.nodes.map(
          (node) => new Map(each(node.rows).map((row) => [row.id, row.speedup ?? speedup_of(row.ratio)])));
      const shown = ids.slice(0, 150);
      if (has_plots)
        append(
            made,
            element(
                'h3', {},
                'Speedup of each node over the others\' median' +
                    (ids.length > 150 ? ', the first 150 of ' + ids.length + ' rows' : '')),
            plot(
                'Heat map of nodes',
                () => heat_plot(
                    one.nodes.map((node) => node.node), shown,
                    shown.map((id) => faster.map((of) => of.get(id) ?? null))),
                'free'));
    }
  });
}
