// What `assay history` and `assay model` found.

const urgency = {lost: 0, slower: 1, drifting: 2, suspect: 3, faster: 4, steady: 5, 'too short': 6, 'no result': 7};

// What is made of the last points has their mark.
function mark_of_series(latest) {
  return (series) => worst_mark(each(series.points).slice(-latest).map(mark_told));
}
function history_columns(document) {
  const last = (s) => each(s.points).length ? s.points[s.points.length - 1] : null;
  const changes = (s) => each(s.change_points).map((c) => c.time.slice(0, 10) + ' ' + times(speedup_of(c.ratio))).join('; ');
  const over = (key) => (s) => s[key] ? speedup_of(s[key].ratio) : null;
  const mark = mark_of_series((document.settings || {}).latest || 1);
  return [
    field('State', (s) => s.state, {show: (s) => badge(s.state), choose: true, keep: true}),
    field('Series', (s) => s.id, {wide: true, find: (s) => each(s.names).join(' '), keep: true}),
    {
      ...measure('Last', (s) => last(s) ? last(s).value : null, seconds),
      show: (s) => last(s) ? seconds(last(s).value) + mark_told(last(s)) : ''
    },
    marked(measure('Over anchored', over('anchored'), times), mark),
    marked(measure('Over rolling', over('rolling'), times), mark),
    field('Why', (s) => s.reason, {wide: true}),
    field('System', (s) => s.system, {choose: true, fold: true, kind: 'short'}),
    measure('Points', (s) => each(s.points).length, String),
    field('Change points', changes, {wide: true}),
  ];
}

// The answers of fresh launches to what was suspect (assay history --confirm).
function confirmations(series) {
  const asked = series.filter((s) => s.confirmation), answer = (s) => s.confirmation;
  if (!asked.length) return null;
  const interval = (s) => answer(s).interval && [speedup_of(answer(s).interval[1]), speedup_of(answer(s).interval[0])];
  const columns = [
    field('Answer', (s) => answer(s).answer, {show: (s) => badge(answer(s).answer), choose: true, keep: true}),
    field('Series', (s) => s.id, {wide: true, keep: true}),
    measure('New over promoted', (s) => speedup_of(answer(s).ratio), times, {keep: true}),
    {
      ...measure('Interval', (s) => interval(s) ? interval(s)[0] : null, times),
      show: (s) => interval(s) ? range(...interval(s), times) : ''
    },
    measure('New build', (s) => answer(s).new_s, seconds),
    measure('Promoted build', (s) => answer(s).base_s, seconds),
    measure('Promoted level', (s) => answer(s).level_s, seconds),
    field('Reason', (s) => answer(s).reason, {wide: true, keep: true}),
    measure('p', (s) => answer(s).p, plain),
  ];
  return [
    element('h3', {}, 'Confirmations'),
    element(
        'p', {},
        'Each suspect was measured anew: launches of the promoted build and of the new one, in turns. ' +
            speedup_header('the new build', 'the promoted one') + '.'),
    data_table('Confirmations', columns, asked)
  ];
}

// Where a series has no number, and what was known to happen.
function gaps_and_events(series) {
  const gaps = series.flatMap((s) => each(s.gaps).map((gap) => ({...gap, id: s.id})));
  const events = new Map(series.flatMap((s) => each(s.events)).map((event) => [event.time + event.text, event]));
  return [
    gaps.length ? [
      element('h3', {}, 'Runs without a number (nothing is filled in)'),
      data_table(
          'Gaps',
          [
            field('Time', (gap) => gap.time), field('Status', (gap) => gap.status, {show: (gap) => badge(gap.status)}),
            field('Series', (gap) => gap.id, {wide: true, keep: true}), field('Reason', (gap) => gap.reason, {wide: true})
          ],
          gaps)
    ] :
                  null,
    events.size ? folded_table(
                      'Table of events (' + events.size + ')',
                      data_table(
                          'Events',
                          [
                            field('Time', (event) => event.time), field('Kind', (event) => event.kind, {choose: true}),
                            field('Event', (event) => event.text, {wide: true, keep: true})
                          ],
                          [...events.values()])) :
                  null
  ];
}

// The first plots, and a menu of the others; what the filter of the table leaves.
function history_plots(series) {
  if (!has_plots) return {parts: null, show: () => {}};
  const most = 6, drawn = series.filter((s) => each(s.points).length > 1), place = element('div');
  const made = new Map();
  const titled = (s) => {
    if (!made.has(s))
      made.set(
          s, element(
                 'div', {}, element('h3', {}, badge(s.state), ' ', breakable(s.id)),
                 plot('History of ' + s.id, (width) => history_plot(s, width))));
    return made.get(s);
  };
  const show = (list) => {
    const chosen = drawn.filter((s) => list.includes(s)), rest = chosen.slice(most);
    place.replaceChildren(...chosen.slice(0, most).map(titled));
    if (!rest.length) return;
    const pick = element(
        'select', {class: 'pick', 'aria-label': 'Another series'},
        rest.map((s, j) => element('option', {value: j}, s.state + ': ' + s.id)));
    const another = element('div', {}, titled(rest[0]));
    pick.addEventListener('change', () => another.replaceChildren(titled(rest[Number(pick.value)])));
    append(place, element('h3', {}, 'Another series'), pick, another);
  };
  show(series);
  return {parts: place, show};
}

function histories() {
  each(report.history).forEach((history, i) => {
    const series = [...each(history.series)].sort((a, b) => (urgency[a.state] ?? 8) - (urgency[b.state] ?? 8));
    const states = count_of(series, 'state'), plots = history_plots(series);
    const made = section(
        'history' + (i || ''), 'History', source_of(history), notes_of(history),
        tiles(...[...states].map(([name, count]) => tile(count, name, moods[name]))), confirmations(series),
        element('h3', {}, 'Series'), element('p', {}, speedup_header('the latest', 'the baseline') + '.'),
        data_table('History', history_columns(history), series, {changed: plots.show}), plots.parts, gaps_and_events(series));
    if (each(history.passed_over).length)
      append(
          made, element('h3', {}, 'Passed over'),
          element('ul', {}, history.passed_over.map((p) => element('li', {}, p.what + ': ' + p.reason))));
  });
}

// How much of the observations the model explains, in a sentence.
function model_quality(model) {
  const reference = Object.entries(model.reference || {}).map(([column, level]) => column + ' = ' + level).join(', ');
  const f = model.f && known(model.f.value) ?
      ', F(' + model.f.df1 + ', ' + model.f.df2 + ') = ' + plain(model.f.value) + ', p = ' + plain(model.f.p) :
      '';
  return model.n + ' observations, ' + model.df + ' degrees of freedom. R\u00b2 ' + plain(model.r2) + ', adjusted ' +
      plain(model.adjusted_r2) + ', residual \u03c3 ' + plain(model.sigma) + f +
      (model.cluster ? '; errors clustered by ' + model.cluster.by + ' (' + model.cluster.groups + ' groups)' : '') +
      '. Reference levels: ' + reference + '.';
}
function interval_of(title, get, show) {
  return {
    ...measure(title, (row) => get(row) ? get(row)[0] : null, show),
    show: (row) => get(row) ? range(...get(row), show) : ''
  };
}
function coefficients_table(model) {
  const columns = [
    field('Term', (c) => c.term, {wide: true, keep: true}),
    measure('Speedup', (c) => c.speedup, times),
    interval_of('Its interval', (c) => c.speedup_interval, times),
    measure('Estimate', (c) => c.estimate, plain),
    measure('SE', (c) => c.se, plain),
    measure('t', (c) => c.t, plain),
    measure('p', (c) => c.p, plain),
    interval_of('Interval', (c) => c.interval, plain),
    field('Note', (c) => c.note || c.reason, {wide: true}),
  ];
  return data_table('Coefficients', columns, each(model.coefficients));
}
function validation_table(model) {
  const columns = [
    field('Kind', (v) => v.kind), field('Left out', (v) => v.left_out), measure('Observations', (v) => v.n, plain),
    measure('RMS error', (v) => v.rms_error, plain), measure('Worst ratio', (v) => v.worst_ratio, times),
    field('Reason', (v) => v.reason, {wide: true})
  ];
  return data_table('Validation', columns, model.validation);
}
function predictions_table(model) {
  const caution = (p) => [...each(p.extrapolated).map((e) => 'extrapolated: ' + (e.column || e)),
                          ...each(p.unseen).map((u) => 'unseen: ' + u), p.reason || '']
                             .filter(Boolean)
                             .join('; ');
  const given = (p) => Object.entries(p.given || {}).map(([k, v]) => k + ' = ' + v).join(', ');
  const columns = [
    field('Given', given, {wide: true, keep: true}), measure('Value', (p) => p.value, plain),
    interval_of('Interval', (p) => p.interval, plain), field('Caution', caution, {wide: true})
  ];
  return data_table('Predictions', columns, model.predictions);
}

function models() {
  each(report.model).forEach((model, i) => {
    const published = 'Some observations are published numbers, not measured ones: ' +
        'the intervals are of the fit, not of measurement.';
    const made = section(
        'model' + (i || ''), 'Model', source_of(model), element('p', {}, element('code', {}, model.formula)),
        element('p', {}, model_quality(model)),
        model.published && !each(model.notes).length ? element('p', {class: 'notice'}, published) : null, notes_of(model),
        plot('Coefficients with intervals', () => coefficients_plot(model), 'free'), coefficients_table(model));
    const part = (title, list, ...content) =>
        each(list).length ? append(made, element('h3', {}, title), ...content.map((make) => make())) : null;
    part(
        'Aliased terms', model.aliased,
        () => element(
            'ul', {},
            model.aliased.map((term) => element('li', {}, element('code', {}, term.term), ': ' + term.because))));
    part(
        'Residuals', model.observations, () => plot('Residuals against fitted values', () => residuals_plot(model)),
        () => element('p', {class: 'soft'}, thinned_text(model.observations.length)));
    part('On observations that it has not seen', model.validation, () => validation_table(model));
    part('Predictions', model.predictions, () => predictions_table(model));
    if (each(model.citations).length)
      append(
          made,
          element(
              'details', {class: 'fold'}, element('summary', {}, 'Sources'),
              element('ul', {}, model.citations.map((c) => element('li', {}, c)))));
  });
}
