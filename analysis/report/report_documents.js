// What `assay history` and `assay model` found.

function histories() {
  each(report.history).forEach((one, i) => {
    const urgency = {lost: 0, slower: 1, drifting: 2, suspect: 3, faster: 4, steady: 5, 'too short': 6};
    const series = [...each(one.series)].sort((a, b) => (urgency[a.state] ?? 7) - (urgency[b.state] ?? 7));
    const last = (s) => each(s.points).length ? s.points[s.points.length - 1].value : null;
    const changes = (s) => each(s.change_points).map((c) => c.time + ' ' + change(c.ratio)).join('; ');
    const columns = [
      field('State', (s) => s.state, {show: (s) => badge(s.state), choose: true}),
      field('Series', (s) => s.id, {wide: true, find: (s) => each(s.names).join(' ')}),
      field('System', (s) => s.system, {choose: true}),
      measure('Points', (s) => each(s.points).length, String),
      measure('Last', last, seconds),
      measure('Time over anchored', (s) => s.anchored ? s.anchored.ratio : null, change),
      measure('Time over rolling', (s) => s.rolling ? s.rolling.ratio : null, change),
      field('Change points', changes, {wide: true}),
      field('Why', (s) => s.reason, {wide: true}),
    ];
    const made = section(
        'history' + (i || ''), 'History', source_of(one), notes_of(one), data_table('History', columns, series));
    const gaps = series.flatMap((s) => each(s.gaps).map((gap) => ({...gap, id: s.id})));
    if (gaps.length)
      append(
          made, element('h3', {}, 'Runs without a number (nothing is filled in)'),
          data_table(
              'Gaps',
              [
                {title: 'Time', get: (gap) => gap.time}, {title: 'Series', get: (gap) => gap.id, wide: true},
                {title: 'Status', get: (gap) => gap.status, show: (gap) => badge(gap.status)},
                {title: 'Reason', get: (gap) => gap.reason || '', wide: true}
              ],
              gaps));
    if (each(one.passed_over).length)
      append(
          made, element('h3', {}, 'Passed over'),
          element('ul', {}, one.passed_over.map((p) => element('li', {}, p.what + ': ' + p.reason))));
    const drawn = series.filter((s) => each(s.points).length > 1);
    if (!has_plots) return;
    for (const s of drawn.slice(0, 6))
      append(made, element('h3', {}, badge(s.state), ' ' + s.id), plot('History of ' + s.id, () => history_plot(s)));
    if (drawn.length > 6) {
      const pick = element(
          'select', {class: 'pick', 'aria-label': 'Another series'},
          drawn.slice(6).map((s, j) => element('option', {value: j}, s.state + ': ' + s.id)));
      const place = plot('History of the series chosen', () => history_plot(drawn[6 + Number(pick.value)]));
      pick.addEventListener('change', () => place.redraw());
      append(made, element('h3', {}, 'Another series'), pick, place);
    }
  });
}

function models() {
  each(report.model).forEach((one, i) => {
    const made = section(
        'model' + (i || ''), 'Model', source_of(one), element('p', {}, element('code', {}, one.formula)),
        element(
            'p', {},
            one.n + ' observations, ' + one.df + ' degrees of freedom. R\u00b2 ' + plain(one.r2) + ', adjusted ' +
                plain(one.adjusted_r2) + ', residual \u03c3 ' + plain(one.sigma) +
                (one.f && known(one.f.value) ?
                     ', F(' + one.f.df1 + ', ' + one.f.df2 + ') = ' + plain(one.f.value) + ', p = ' + plain(one.f.p) :
                     '') +
                (one.cluster ? '; errors clustered by ' + one.cluster.by + ' (' + one.cluster.groups + ' groups)' :
                               '') +
                '. Reference levels: ' +
                Object.entries(one.reference || {}).map(([column, level]) => column + ' = ' + level).join(', ') +
                '.'),
        one.published && !each(one.notes).length ?
            element(
                'p', {class: 'notice'},
                'Some observations are published numbers, not measured ones: ' +
                    'the intervals are of the fit, not of measurement.') :
            null,
        notes_of(one), plot('Coefficients with intervals', () => coefficients_plot(one), 'free'));
    const interval = (title, get, show) => ({
      ...measure(title, (c) => get(c) ? get(c)[0] : null, show),
      show: (c) => get(c) ? range(...get(c), show) : '\u2013'
    });
    const columns = [
      field('Term', (c) => c.term, {wide: true}),
      measure('Speedup', (c) => c.speedup, times),
      interval('Its interval', (c) => c.speedup_interval, times),
      measure('Estimate', (c) => c.estimate, plain),
      measure('SE', (c) => c.se, plain),
      measure('t', (c) => c.t, plain),
      measure('p', (c) => c.p, plain),
      interval('Interval', (c) => c.interval, plain),
      field('Note', (c) => c.note || c.reason, {wide: true}),
    ];
    append(made, data_table('Coefficients', columns, each(one.coefficients)));
    if (each(one.aliased).length)
      append(
          made, element('h3', {}, 'Aliased terms'),
          element(
              'ul', {},
              one.aliased.map((term) => element('li', {}, element('code', {}, term.term), ': ' + term.because))));
    if (each(one.observations).length)
      append(
          made, element('h3', {}, 'Residuals'), plot('Residuals against fitted values', () => residuals_plot(one)),
          thinned_note(one.observations));
    if (each(one.validation).length)
      append(
          made, element('h3', {}, 'On observations that it has not seen'),
          data_table(
              'Validation',
              [
                {title: 'Kind', get: (v) => v.kind}, {title: 'Left out', get: (v) => v.left_out || ''},
                {title: 'Observations', right: true, get: (v) => v.n, show: (v) => String(v.n ?? '\u2013')},
                {title: 'RMS error', right: true, get: (v) => v.rms_error, show: (v) => plain(v.rms_error)},
                {title: 'Worst ratio', right: true, get: (v) => v.worst_ratio, show: (v) => times(v.worst_ratio)},
                {title: 'Reason', get: (v) => v.reason || '', wide: true}
              ],
              one.validation));
    if (each(one.predictions).length)
      append(
          made, element('h3', {}, 'Predictions'),
          data_table(
              'Predictions',
              [
                {
                  title: 'Given',
                  get: (p) => Object.entries(p.given || {}).map(([k, v]) => k + ' = ' + v).join(', '),
                  wide: true
                },
                {title: 'Value', right: true, get: (p) => p.value, show: (p) => plain(p.value)}, {
                  title: 'Interval',
                  right: true,
                  get: (p) => p.interval ? p.interval[0] : null,
                  show: (p) => p.interval ? range(...p.interval, plain) : '\u2013'
                },
                {
                  title: 'Caution',
                  wide: true,
                  get: (p) => [...each(p.extrapolated).map((e) => 'extrapolated: ' + (e.column || e)),
                               ...each(p.unseen).map((u) => 'unseen: ' + u), p.reason || '']
                                  .filter(Boolean)
                                  .join('; ')
                }
              ],
              one.predictions));
    if (each(one.citations).length)
      append(
          made,
          element(
              'details', {}, element('summary', {}, 'Sources'),
              element('ul', {}, one.citations.map((c) => element('li', {}, c)))));
  });
}
