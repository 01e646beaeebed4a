// What `assay compare` and `assay accept` found. A part without data is left out.

const seconds = (value) => human(value, 's');
function notes_of(document) {
  const list = (document.notes || []).filter(Boolean);
  return list.length ? element('div', {class: 'notice'}, list.map((text) => element('p', {}, text))) : null;
}
function source_of(document) {
  return element(
      'p', {class: 'soft'}, breakable(document.file),
      document.command ? [' \u00b7 ', element('code', {}, document.command)] : null);
}
function each(list) {
  return list || [];
}

function comparison_columns() {
  const star = (row) => row.published ? '*' : '';
  // Documents of before hold the ratio of times alone.
  const faster = (row) => row.speedup ?? speedup_of(row.ratio);
  const interval = (row) =>
      row.speedup_interval ?? (row.interval && [speedup_of(row.interval[1]), speedup_of(row.interval[0])]);
  const low = (row) => interval(row) ? interval(row)[0] : null;
  const both = (row) => worst_mark([mark_told(row.base), mark_told(row.new)]);
  return [
    field('Verdict', verdict_of, {show: (row) => badge(verdict_of(row)), tip: (row) => row.reason, choose: true, keep: true}),
    field('Row', (row) => row.id, {wide: true, find: (row) => each(row.names).join(' '), keep: true}),
    marked(measure('New over base', faster, times, {keep: true}), both),
    {
      ...measure('Interval', low, times),
      show: (row) => range(low(row), (interval(row) || [])[1], times),
      tip: (row) => (interval(row) || []).join(' \u2026 ') || null
    },
    {...measure('Base', (row) => row.base.median, seconds), show: (row) => seconds(row.base.median) + star(row) + mark_told(row.base)},
    {...measure('New', (row) => row.new.median, seconds), show: (row) => seconds(row.new.median) + star(row) + mark_told(row.new)},
    measure('p', (row) => row.p, plain),
    measure('Detectable', (row) => row.minimum_detectable, percent),
    {
      ...measure('Launches', (row) => row.base.launches, String),
      show: (row) => row.base.launches + ' + ' + row.new.launches
    },
    field('Reason', (row) => [row.reason, ...each(row.notes)].filter(Boolean).join('; '), {wide: true}),
    field('Stage', (row) => row.stage, {fold: true}),
  ];
}
function verdict_of(row) {
  return row.verdict || 'no verdict';
}

function comparison_tiles(comparison) {
  const sum = comparison.summary || {}, mean = comparison.geometric_mean;
  const noisy = worst_mark(each(comparison.rows).flatMap((row) => [mark_told(row.base), mark_told(row.new)]));
  return tiles(
      tile(sum.slower, 'slower', sum.slower > 0 ? 'bad' : ''), tile(sum.faster, 'faster', sum.faster > 0 ? 'good' : ''),
      tile(sum.same, 'same', ''), tile(sum.inconclusive, 'inconclusive', sum.inconclusive > 0 ? 'mid' : ''),
      each(comparison.only_base).length ? tile(comparison.only_base.length, 'vanished', 'bad') : null,
      each(comparison.only_new).length ? tile(comparison.only_new.length, 'new', '') : null,
      mean ? tile(
                 times(mean.speedup) + noisy,
                 'geometric mean, new over base, ' + mean.rows + ' of ' + mean.of + ' rows', '') :
             null);
}
function comparison_warnings(comparison) {
  const fields = each(comparison.mismatches).map((mismatch) => mismatch.field).join(', ');
  const warn = (text) => element('p', {class: 'problem'}, text);
  return [
    comparison.refused ? warn('Refused: more differed than was meant (' + fields + '). Nothing was compared.') : null,
    comparison.allow_mismatch && fields ?
        warn('Compared by --allow-mismatch although more differed than was meant: ' + fields + '.') :
        null,
    !comparison.geometric_mean && comparison.geometric_mean_reason ?
        element('p', {class: 'soft'}, 'No geometric mean: ' + comparison.geometric_mean_reason) :
        null
  ];
}

function comparisons() {
  each(report.comparison).forEach((comparison, i) => {
    const made = section(
        'comparison' + (i || ''), 'Comparison, row by row',
        element('h3', {}, comparison.new.name + ' (' + comparison.new.system + ') against ' + comparison.base.name + ' (' + comparison.base.system + ')'),
        source_of(comparison), comparison_tiles(comparison), comparison_warnings(comparison),
        element(
            'p', {},
            speedup_header('new', 'base') + '; by launch medians. Meant to vary: ' + comparison.vary +
                '. Stage: ' + comparison.stage + '.'),
        notes_of(comparison));
    if (each(comparison.rows).length) append(made, data_table('Comparison', comparison_columns(), comparison.rows));
    const lone = [
      ...each(comparison.only_base).map((row) => ({...row, what: 'only in base (vanished)'})),
      ...each(comparison.only_new).map((row) => ({...row, what: 'only in new'})),
      ...each(comparison.not_compared).map((row) => ({
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
                field('What', (row) => row.what, {choose: true}), field('Row', (row) => row.id, {wide: true, keep: true}),
                field('Status', (row) => row.status), field('Reason', (row) => row.reason, {wide: true})
              ],
              lone));
    if (each(comparison.mismatches).length)
      append(
          made, element('h3', {}, 'What differed and was not meant to'),
          data_table(
              'Mismatches',
              ['field', 'base', 'new'].map(
                  (key) => field(
                      key, (row) => typeof row[key] === 'string' ? row[key] : JSON.stringify(row[key]), {wide: true})),
              comparison.mismatches));
    const told = each(comparison.rows).flatMap((row) => [mark_told(row.base), mark_told(row.new)]);
    for (const [mark, text] of Object.entries(mark_texts))
      if (told.includes(mark)) append(made, element('p', {class: 'soft'}, mark + ' The side was disturbed while it was timed ' + text + '.'));
    if (each(comparison.rows).some((row) => row.published))
      append(made, element('p', {class: 'soft'}, '* published, not measured: no interval and no verdict.'));
  });
}

// Why a node has its verdict.
function findings_of(node) {
  const found = [
    ...each(node.rows)
        .filter((row) => row.verdict && row.verdict !== 'PASS' && row.verdict !== 'ok')
        .map((row) => [mark_told(row), row.id].filter(Boolean).join(' ') + ': ' + (row.reason || row.verdict)),
    ...each(node.health && node.health.findings)
        .filter((judgement) => judgement.verdict !== 'PASS')
        .map((judgement) => judgement.criterion + ': ' + (judgement.reason || judgement.verdict))
  ];
  if (!found.length) return node.reason || '';
  return found.slice(0, 6).join('; ') + (found.length > 6 ? '; and ' + (found.length - 6) + ' more' : '');
}
function node_columns(acceptance) {
  const rank = new Map(each(acceptance.stragglers).map((node) => [node.node, node.rank]));
  const noisy = (node) => worst_mark(each(node.rows).map(mark_told));
  return [
    field('Verdict', (node) => node.verdict, {show: (node) => badge(node.verdict), choose: true, keep: true}),
    field('Node', (node) => node.node, {show: (node) => whole(node.node), keep: true}),
    marked(measure('Node over the others', (node) => node.speedup ?? speedup_of(node.score), times), noisy),
    {
      ...measure('Straggler', (node) => rank.get(node.node) ?? null, plain),
      show: (node) => rank.has(node.node) ? 'rank ' + rank.get(node.node) : ''
    },
    field('Findings', findings_of, {wide: true}),
  ];
}

// The rows of all nodes as a map, and the table whose filter leaves some of its columns.
function acceptance_map(acceptance) {
  const nodes = each(acceptance.nodes), most = 150;
  // Of a fleet, the nodes that passed have no rows here.
  const whole_fleet = nodes.every((node) => !known(node.rows_of) || node.rows_of === each(node.rows).length);
  const mapped = whole_fleet ? nodes : nodes.filter((node) => node.verdict !== 'PASS' && each(node.rows).length === node.rows_of);
  let shown = mapped;
  const ids = [...new Set(mapped.flatMap((node) => each(node.rows).filter((row) => known(row.ratio)).map((row) => row.id)))];
  const of = new Map(nodes.map((node) => [node, new Map(each(node.rows).map((row) => [row.id, row]))]));
  const cell = (node, id) => {
    const row = of.get(node).get(id);
    return {speedup: row ? row.speedup ?? speedup_of(row.ratio) : null, mark: row ? mark_told(row) : ''};
  };
  const drawn = ids.slice(0, most);
  const map = ids.length && mapped.length > (whole_fleet ? 1 : 0) ?
      node_map(
          () => shown.map((node) => node.node), () => drawn, () => drawn.map((id) => shown.map((node) => cell(node, id))),
          ids.length, whole_fleet ? null : 'the ' + mapped.length + ' gravest of the nodes that have results and did not pass') :
      null;
  const table = data_table('Nodes', node_columns(acceptance), nodes, {
    changed: (list) => {
      shown = mapped.filter((node) => list.includes(node));
      if (map) map.redraw();
    }
  });
  return [map ? map.parts : null, table];
}

function acceptance() {
  each(report.acceptance).forEach((acceptance, i) => {
    const disturbed = each(acceptance.nodes).flatMap((node) => each(node.rows)).filter((row) => row.disturbed).length;
    const made = section('acceptance' + (i || ''), 'Acceptance, node by node', source_of(acceptance));
    const verdicts = count_of(acceptance.nodes, 'verdict');
    append(
        made, element('p', {}, badge(acceptance.verdict), acceptance.reason ? ' ' + acceptance.reason : ''),
        tiles(...['PASS', 'PERF-FAIL', 'INCORRECT', 'MISSING', 'NOT-QUIET'].filter((word) => verdicts.get(word)).map(
            (word) => tile(verdicts.get(word), word, moods[word]))),
        disturbed ? element(
                        'p', {class: 'notice'},
                        '! Other work wanted the processors while ' + disturbed + ' of the judged rows were timed.') :
                    null,
        notes_of(acceptance), acceptance_map(acceptance));
    const list = (title, entries) =>
        entries.length ? [element('h3', {}, title), element('ul', {}, entries.map((entry) => element('li', {}, entry)))] : null;
    append(
        made,
        list(
            'Criteria of the fleet that are not met',
            each(acceptance.unmet).map((unmet) => [badge('not met'), ' ' + unmet.criterion + ': ' + unmet.reason])),
        list(
            'Optional criteria that hold for nothing',
            each(acceptance.optional_unmatched).map((unmet) => unmet.criterion + ': ' + unmet.reason)));
    if (each(acceptance.unexpected).length)
      append(
          made,
          element(
              'p', {class: 'notice'},
              'Nodes that the criteria do not name: ' +
                  acceptance.unexpected.map((node) => typeof node === 'string' ? node : node.node || JSON.stringify(node)).join(', ')));
    if (each(acceptance.not_judged).length)
      append(
          made, element('h3', {}, 'Rows that count for nothing'),
          data_table(
              'Rows that count for nothing',
              [field('Row', (row) => row.id, {wide: true, keep: true}), field('Reason', (row) => row.reason, {wide: true})],
              acceptance.not_judged));
  });
}
