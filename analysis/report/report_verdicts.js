// The findings of `assay compare` and `assay accept`. A part without data is left out.

// A column of intervals, which sorts by their lower ends.
const interval_of = (title, name, more) => measure(
    title, (row) => row[name] ? row[name][0] : null, '',
    {show: (_, row) => range(...each(row[name + '_text'])), tip: (row) => each(row[name]).join(' \u2026 ') || null, ...more});
const sides_marks = (row) => [mark_told(row.base), mark_told(row.new)];
function comparison_columns() {
  const side = (title, name) => measure(title, (row) => row[name].median, '', {
    show: (_, row) => row[name].median_text,
    mark: (row) => (row.published ? '*' : '') + mark_told(row[name])
  });
  return [
    badge_column('Verdict', (row) => row.verdict || 'no verdict', 'choose keep', {tip: (row) => row.reason}),
    field('Row', 'id', 'wide keep', {find: (row) => row.names.join(' ')}),
    measure('New over base', 'speedup', 'keep', {mark: (row) => worst_mark(sides_marks(row))}),
    interval_of('Interval', 'speedup_interval'),
    side('Base', 'base'), side('New', 'new'), measure('p', 'p'), measure('Detectable', 'minimum_detectable'),
    measure('Launches', (row) => row.base.launches, '', {show: (count, row) => count + ' + ' + row.new.launches}),
    field('Reason', (row) => [row.reason, ...row.notes].filter(Boolean).join('; '), 'wide'),
    field('Stage', 'stage', 'fold'),
  ];
}
function comparison_tiles(comparison) {
  const sum = comparison.summary, mean = comparison.geometric_mean;
  const noisy = worst_mark(comparison.rows.flatMap(sides_marks));
  const counted = (name, mood) => [sum[name], name, sum[name] > 0 ? mood : ''];
  const listed = (list, name, mood) => list.length ? [list.length, name, mood] : null;
  return tiles(
      counted('slower', 'bad'), counted('faster', 'good'), counted('same', ''), counted('inconclusive', 'mid'),
      listed(comparison.only_base, 'vanished', 'bad'), listed(comparison.only_new, 'new', ''),
      mean && [mean.speedup_text + noisy, 'geometric mean, new over base, ' + mean.rows + ' of ' + plural(mean.of, 'row')]);
}
function comparison_warnings(comparison) {
  const fields = comparison.mismatches.map((mismatch) => mismatch.field).join(', ');
  const refused = 'Refused: more differed than was meant (' + fields + '). Nothing was compared.';
  const allowed = 'Compared by --allow-mismatch although more differed than was meant: ' + fields + '.';
  const no_mean = !comparison.geometric_mean && comparison.geometric_mean_reason;
  return [
    comparison.refused ? paragraph(refused, 'problem') : null,
    comparison.allow_mismatch && fields ? paragraph(allowed, 'problem') : null,
    no_mean ? paragraph('No geometric mean: ' + no_mean, 'soft') : null
  ];
}
// Rows of one side, and rows that were not compared.
function lone_rows(comparison) {
  const told = (list, what) => list.map((row) => ({...row, what}));
  const both = (row) => ({...row, status: row.base_status && row.base_status + ' / ' + row.new_status});
  return [
    ...told(comparison.only_base, 'only in base (vanished)'), ...told(comparison.only_new, 'only in new'),
    ...told(comparison.not_compared, 'not compared').map(both)
  ];
}
function comparison_part(comparison, source) {
  const side = ({name, system}) => name + ' (' + system + ')', all = comparison.rows;
  const text_of = (value) => typeof value === 'string' ? value : JSON.stringify(value);
  const told = all.flatMap(sides_marks), disturbed = Object.entries(mark_texts).filter(([mark]) => told.includes(mark));
  const lone_columns = [
    field('What', 'what', 'choose'), field('Row', 'id', 'wide keep'), field('Status', 'status'), field('Reason', 'reason', 'wide')
  ];
  return [
    subtitle(side(comparison.new) + ' against ' + side(comparison.base)), source, comparison_tiles(comparison),
    comparison_warnings(comparison),
    paragraph(
        speedup_header('new', 'base') + '; by launch medians. Meant to vary: ' + comparison.vary + '. Stage: ' +
        comparison.stage + '.'),
    notes_of(comparison), all.length ? data_table('Comparison', comparison_columns(), all) : null,
    titled_table('Rows without a ratio', lone_columns, lone_rows(comparison)),
    titled_table(
        'What differed and was not meant to', ['field', 'base', 'new'].map((key) => field(key, (row) => text_of(row[key]), 'wide')),
        comparison.mismatches, 'Mismatches'),
    disturbed.map(([mark, text]) => paragraph(mark + ' The side was disturbed while it was timed ' + text + '.', 'soft')),
    all.some((row) => row.published) ? paragraph('* published, not measured: no interval and no verdict.', 'soft') : null
  ];
}

const findings_column = field('Findings', (node) => node.findings.join('; '), 'wide', {
  show: (text, {findings}) => findings.length > 1 ? bullets(findings.map(breakable)) : breakable(text)
});
function node_columns(acceptance) {
  const rank = new Map(acceptance.stragglers.map((node) => [node.node, node.rank]));
  return [
    badge_column('Verdict', 'verdict', 'choose keep'), field('Node', 'node', 'keep', {show: whole}),
    measure('Node over the others', 'speedup', '', {mark: (node) => worst_mark(node.rows.map(mark_told))}),
    measure('Straggler', (node) => rank.get(node.node) ?? null, '', {show: (place) => place === null ? '' : 'rank ' + place}),
    findings_column,
  ];
}

// A hash that may break within.
const hash_text = (sha256) => element('code', {class: 'mono'}, sha256.match(/.{1,16}/g).flatMap((part, i) => i ? [element('wbr'), part] : [part]));

// The rows of all nodes as a map, and the table whose filter leaves some of its columns.
function acceptance_map(acceptance) {
  const nodes = acceptance.nodes, most = 150;
  // In a fleet, the nodes that passed have no rows here.
  const has_all = (node) => node.rows_of === node.rows.length;
  const whole_fleet = nodes.every((node) => !known(node.rows_of) || has_all(node));
  const mapped = whole_fleet ? nodes : nodes.filter((node) => node.verdict !== 'PASS' && has_all(node));
  const rows_by_id = new Map(nodes.map((node) => [node, new Map(node.rows.map((row) => [row.id, row]))]));
  const ids = [...new Set(mapped.flatMap((node) => node.rows.filter((row) => known(row.ratio)).map((row) => row.id)))];
  const cell = (node, id) => {
    const row = rows_by_id.get(node).get(id);
    return row ? {speedup: row.speedup, text: row.speedup_text, mark: mark_told(row)} : {speedup: null, mark: ''};
  };
  const drawn = ids.slice(0, most);
  const which = whole_fleet ? null : 'the ' + mapped.length + ' gravest of the nodes that have results and did not pass';
  const content = (list) => ({
    hosts: list.map((node) => node.node),
    cases: drawn,
    cells: drawn.map((id) => list.map((node) => cell(node, id)))
  });
  const last = ({verdict}) => verdict === 'PASS' ? 1 : 0, sorted = [...nodes].sort((a, b) => last(a) - last(b));
  const table = ['Nodes', node_columns(acceptance), sorted], has_map = ids.length && mapped.length > (whole_fleet ? 1 : 0);
  if (!has_map) return data_table(...table);
  const [text, place, of_nodes] = node_map(mapped, content, ids.length, which, ...table);
  return [of_nodes, text, place];
}

// The grounds of a PASS: the limits, the criteria and the results by their hashes.
function acceptance_grounds(acceptance) {
  const criteria = acceptance.criteria, met = ({judged, unknown, met, of}) => judged === 0 ? 'nothing was judged by it' :
      judged === unknown                                                                   ? 'not reported by any node' :
                           met + ' of ' + plural(judged - unknown, of) +
          (unknown ? ', not reported by ' + plural(unknown, of) : '');
  const results = acceptance.results || [];
  return [
    titled_table('Limits', [field('Limit', 'criterion', 'wide keep'), field('Met by', met)], acceptance.limits || []),
    criteria.sha256 ?
        paragraph(['Criteria ' + criteria.name + ': ', breakable(criteria.file), ', SHA-256 ', hash_text(criteria.sha256)]) :
        null,
    results.length ? fold(
        plural(results.length, 'result file') + ' and their hashes',
        data_table('Results', [
          field('File', 'file', 'wide keep'),
          field('SHA-256', 'sha256', 'wide', {show: (sha256) => hash_text(sha256)})
        ], results)) : null
  ];
}

function acceptance_part(acceptance, source) {
  const disturbed = acceptance.nodes.flatMap((node) => node.rows).filter((row) => row.disturbed).length;
  const verdicts = count_of(acceptance.nodes, 'verdict'), unexpected = acceptance.unexpected;
  const words = ['PASS', 'PERF-FAIL', 'INCORRECT', 'NOT-COMPARABLE', 'MISSING', 'NOT-QUIET'].filter((word) => verdicts.has(word));
  const list = (title, entries, word) => entries.length ? [
    subtitle(title),
    bullets(entries.map((unmet) => [word ? badge(word) : null, (word ? ' ' : '') + unmet.criterion + ': ' + unmet.reason]))
  ] : null;
  return [
    source, paragraph([badge(acceptance.verdict), acceptance.reason ? ' ' + acceptance.reason : '']),
    tiles(...words.map((word) => [verdicts.get(word), word, moods[word]])),
    disturbed ?
        paragraph(
            '! Other work wanted the processors while ' + disturbed + ' of the judged rows ' + (disturbed === 1 ? 'was' : 'were') +
                ' timed.',
            'notice') :
        null,
    notes_of(acceptance), acceptance_map(acceptance),
    list('Criteria of the fleet that are not met', acceptance.unmet, 'not met'),
    list('Optional criteria that hold for nothing', acceptance.optional_unmatched),
    unexpected.length ? paragraph('Nodes that the criteria do not name: ' + unexpected.join(', '), 'notice') : null,
    titled_table('Rows that count for nothing', [field('Row', 'id', 'wide keep'), reason_column], acceptance.not_judged),
    acceptance_grounds(acceptance)
  ];
}
