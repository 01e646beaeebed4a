// The findings of `assay history` and `assay model`.

const urgency = ['lost', 'slower', 'drifting', 'suspect', 'faster', 'steady', 'too short', 'no result'];

function history_columns(document) {
  const latest = document.settings.latest, last = (s) => s.points[s.points.length - 1] || {};
  // A number that is made of the last points has their mark.
  const mark = (s) => worst_mark(s.points.slice(-latest).map(mark_told));
  const changes = (s) => s.change_points.map((c) => c.time.slice(0, 10) + ' ' + c.ratio_text).join('; ');
  const over = (key) => measure(
      'Over ' + key, (s) => s[key] ? speedup_of(s[key].ratio) : null, '', {show: (_, s) => s[key] && s[key].ratio_text, mark});
  return [
    badge_column('State', 'state', 'choose keep'),
    field('Series', 'id', 'wide keep', {find: (s) => s.names.join(' ')}),
    measure('Last', (s) => last(s).value, '', {show: (_, s) => last(s).value_text, mark: (s) => mark_told(last(s))}),
    over('anchored'), over('rolling'), field('Why', 'reason', 'wide'), field('System', 'system', 'choose fold short'),
    measure('Points', (s) => s.points.length), field('Change points', changes, 'wide'),
  ];
}

// The answers of fresh launches to what was suspect (assay history --confirm).
function confirmations(series) {
  const asked = series.filter((s) => s.confirmation).map(({confirmation, id}) => ({
    ...confirmation,
    id,
    speedup_interval: each(confirmation.interval).map(speedup_of).reverse(),
    speedup_interval_text: each(confirmation.interval_text).reverse()
  }));
  if (!asked.length) return null;
  const columns = [
    badge_column('Answer', 'answer', 'choose keep'), field('Series', 'id', 'wide keep'),
    measure('New over promoted', (answer) => speedup_of(answer.ratio), 'keep', {show: (_, answer) => answer.ratio_text}),
    interval_of('Interval', 'speedup_interval'), measure('New build', 'new_s'),
    measure('Promoted build', 'base_s'), measure('Promoted level', 'level_s'),
    field('Reason', 'reason', 'wide keep'), measure('p', 'p'),
  ];
  return [
    subtitle('Confirmations'),
    paragraph(
        'Each suspect was measured anew: launches of the promoted build and of the new one, in turns. ' +
        speedup_header('the new build', 'the promoted one') + '.'),
    data_table('Confirmations', columns, asked)
  ];
}

// The runs in which a series has no number, and what was known to happen.
function gaps_and_events(series) {
  const gaps = series.flatMap((s) => s.gaps.map((gap) => ({...gap, id: s.id})));
  const events = new Map(series.flatMap((s) => s.events).map((event) => [event.time + event.text, event]));
  const gap_columns = [
    field('Time', 'time'), badge_column('Status', 'status'), field('Series', 'id', 'wide keep'), field('Reason', 'reason', 'wide')
  ];
  const event_columns = [field('Time', 'time'), field('Kind', 'kind', 'choose'), field('Event', 'text', 'wide keep')];
  return [
    titled_table('Runs without a number (nothing is filled in)', gap_columns, gaps, 'Gaps'),
    events.size ? fold('Table of events (' + events.size + ')', data_table('Events', event_columns, [...events.values()])) : null
  ];
}

// The first plots, and a menu of the others; what the filter of the table leaves.
function history_plots(series) {
  if (!has_plots) return {parts: null, show: () => {}};
  const most = 6, drawn = series.filter((s) => s.points.length > 1), place = element('div'), drawings = new Map();
  const titled = (s) => {
    if (!drawings.has(s))
      drawings.set(s, element('div', {}, subtitle(badge(s.state), ' ', breakable(s.id)),
                          plot('History of ' + s.id, (width) => history_plot(s, width))));
    return drawings.get(s);
  };
  const show = (list) => {
    const chosen = drawn.filter((s) => list.includes(s)), rest = chosen.slice(most);
    place.replaceChildren(...chosen.slice(0, most).map(titled));
    if (!rest.length) return;
    const another = element('div', {}, titled(rest[0]));
    const change = (event) => another.replaceChildren(titled(rest[Number(event.target.value)]));
    const options = rest.map((s, j) => element('option', {value: j}, s.state + ': ' + s.id));
    const pick = element('select', {class: 'pick', 'aria-label': 'Another series', change}, options);
    append(place, subtitle('Another series'), pick, another);
  };
  show(series);
  return {parts: place, show};
}

function history_part(history, source) {
  const gravity = (s) => urgency.includes(s.state) ? urgency.indexOf(s.state) : urgency.length;
  const series = [...history.series].sort((a, b) => gravity(a) - gravity(b)), plots = history_plots(series);
  const passed_over = history.passed_over.map((p) => p.what + ': ' + p.reason);
  return [
    source, notes_of(history),
    tiles(...[...count_of(series, 'state')].map(([name, count]) => [count, name, moods[name]])), confirmations(series),
    subtitle('Series'), paragraph(speedup_header('the latest', 'the baseline') + '.'),
    data_table('History', history_columns(history), series, {changed: plots.show}), plots.parts, gaps_and_events(series),
    passed_over.length ? [subtitle('Passed over'), bullets(passed_over)] : null
  ];
}

// "column = level, column = level"
const equations = (object) => Object.entries(object || {}).map(([name, value]) => name + ' = ' + value).join(', ');
// States in a sentence how much of the observations the model explains.
function model_quality(model) {
  const f = model.f && known(model.f.value) ?
      ', F(' + model.f.df1 + ', ' + model.f.df2 + ') = ' + model.f.value_text + ', p = ' + model.f.p_text :
      '';
  return model.n + ' observations, ' + model.df + ' degrees of freedom. R\u00b2 ' + model.r2_text + ', adjusted ' +
      model.adjusted_r2_text + ', residual \u03c3 ' + model.sigma_text + f +
      (model.cluster ? '; errors clustered by ' + model.cluster.by + ' (' + model.cluster.groups + ' groups)' : '') +
      '. Reference levels: ' + equations(model.reference) + '.';
}
const coefficient_columns = () => [
  field('Term', 'term', 'wide keep'), measure('Speedup', 'speedup'), interval_of('Its interval', 'speedup_interval'),
  measure('Estimate', 'estimate'), measure('SE', 'se'), measure('t', 't'), measure('p', 'p'), interval_of('Interval', 'interval'),
  field('Note', (c) => c.note || c.reason, 'wide'),
];
const validation_columns = () => [
  field('Kind', 'kind'), field('Left out', 'left_out'), measure('Observations', 'n'),
  measure('RMS error', 'rms_error'), measure('Worst ratio', 'worst_ratio'), field('Reason', 'reason', 'wide')
];
function prediction_columns() {
  const caution = (p) => [
    ...each(p.extrapolated).map((e) => 'extrapolated: ' + (e.column || e)), ...each(p.unseen).map((u) => 'unseen: ' + u),
    p.reason || ''
  ].filter(Boolean).join('; ');
  return [
    field('Given', (p) => equations(p.given), 'wide keep'), measure('Value', 'value'), interval_of('Interval', 'interval'),
    field('Caution', caution, 'wide')
  ];
}

function model_part(model, source) {
  const published = 'Some observations are published numbers, not measured ones: ' +
      'the intervals are of the fit, not of measurement.';
  const observations = each(model.observations), citations = each(model.citations), aliased = each(model.aliased);
  return [
    source, paragraph(code(model.formula)), paragraph(model_quality(model)),
    model.published && !each(model.notes).length ? paragraph(published, 'notice') : null, notes_of(model),
    plot('Coefficients with intervals', (width) => coefficients_plot(model, width), 'free'),
    data_table('Coefficients', coefficient_columns(), each(model.coefficients)),
    aliased.length ?
        [subtitle('Aliased terms'), bullets(aliased.map((term) => [code(term.term), ': ' + term.because]))] :
        null,
    observations.length ? [
      subtitle('Residuals'), plot('Residuals against fitted values', () => residuals_plot(model)),
      paragraph(thinned_text(observations.length), 'soft')
    ] : null,
    titled_table('On observations that it has not seen', validation_columns(), each(model.validation), 'Validation'),
    titled_table('Predictions', prediction_columns(), each(model.predictions)),
    citations.length ? fold('Sources', bullets(citations)) : null
  ];
}
