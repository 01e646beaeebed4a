// The page opens with machine, suite, date and one verdict; then what failed, what was lost, what is noisy.

const verdict_moods = {0: 'good', 5: 'mid', 8: 'mid'};  // by exit code; all others are bad
const mood_of = (code) => code === null ? '' : verdict_moods[code] || 'bad';

function machine_text(machine) {
  const parts = [
    machine.processor, known(machine.cores) ? plural(machine.cores, 'core') : '',
    machine.memory_bytes_text,
    machine.accelerators ? plural(machine.accelerators, 'accelerator') : '',
    machine.hosts.length > 1 ? plural(machine.hosts.length, 'host') : machine.hosts[0]
  ];
  return [...new Set(parts)].filter((part) => part && part !== machine.name).join(', ');
}
function facts() {
  const head = report.head, most = 3, machines = head.machines.slice(0, most), more = head.machines.length - most;
  const first = day(head.first), last = day(head.last);
  const machine_line = (machine) => element('div', {}, element('strong', {}, machine.name), ' ' + machine_text(machine));
  const more_line = more > 0 ? element('div', {class: 'soft'}, 'and ' + more + ' more (see Environments)') : null;
  const list = [
    machines.length ? [machines.length > 1 ? 'Machines' : 'Machine', machines.map(machine_line), more_line] : null,
    head.suites.length ? [head.suites.length > 1 ? 'Suites' : 'Suite', few(head.suites, 6)] : null,
    first ? ['Date', (first === last ? first : first + ' to ' + last) + ' UTC'] : null, [
      'Report',
      'made ' + day(report.made) + ' UTC by Assay ' + report.version + ' from ' + plural(report.files.length, 'file')
    ]
  ].filter(Boolean);
  return element(
      'dl', {class: 'facts'},
      list.map(([name, ...content]) => [element('dt', {}, name), element('dd', {}, content)]));
}
function heading() {
  document.getElementById('head').append(element('h1', {}, report.title), facts());
}

function verdict_box() {
  const verdict = report.verdict, mood = mood_of(verdict.code), counts = report.counts || {};
  // Rows that are verified, and whose times say less.
  const marked = [['disturbed', '!'], ['throttled', '\u00b0'], ['oversubscribed', '~']].filter(([what]) => counts[what] > 0);
  return element(
      'div', {class: 'verdict ' + mood}, paragraph((marks[mood] || '') + verdict.word, 'word'),
      marked.map(([what, mark]) => element(
          'a', {href: '#noisy', class: 'badge mid', title: mark_texts[mark]}, mark + ' ' + counts[what] + ' ' + what)),
      element(
          'div', {}, paragraph(verdict.text[0].toUpperCase() + verdict.text.slice(1) + '.'),
          verdict.note ? paragraph(verdict.note) : null,
          verdict.also.map((other) => paragraph([badge(other.word, mood_of(other.code)), ' ' + other.text], 'soft'))));
}

function finding(group) {
  const first_items = 5, items = group.items, rest = items.slice(first_items), unnamed = group.count - items.length;
  const line = (item) => [
    element('span', {class: 'mono'}, breakable(item.name)),
    item.reason ? element('span', {class: 'soft'}, ' \u2013 ', breakable(item.reason)) : null
  ];
  return element(
      'div', {class: 'finding'},
      paragraph([
        badge(group.word), ' ', group.what + ': ', element('strong', {}, String(group.count)), ' ',
        element('a', {href: '#' + group.section, class: 'soft'}, 'see below')
      ]),
      bullets(items.slice(0, first_items).map(line)),
      rest.length ? fold(
          rest.length + unnamed + ' more', bullets(rest.map(line)),
          unnamed ? paragraph('and ' + unnamed + ' more', 'soft') : null) :
          null);
}
const finding_lists =
    [['failed', 'What failed', 'failed'], ['lost', 'What was lost', 'was lost'], ['noisy', 'What is noisy', 'is noisy']];
function findings() {
  const groups = finding_lists.filter(([key]) => report.findings[key].length)
                   .map(([key, title]) => [element('h3', {id: key}, title), report.findings[key].map(finding)]);
  const none = finding_lists.filter(([key]) => !report.findings[key].length).map(([, , nothing]) => nothing);
  // A bad verdict has no green line below it: criteria may have failed that no list here has.
  if (!none.length || report.verdict.code === null || mood_of(report.verdict.code) === 'bad') return groups;
  const last = none.pop(), others = none.length ? none.join(', nothing ') + ', and nothing ' : '';
  const calm = paragraph(marks.good + 'Nothing ' + others + last + '.', 'calm');
  return report.findings.failed.length ? [...groups, calm] : [calm, ...groups];
}

function counted_tiles() {
  const counts = report.counts;
  if (!counts) return null;
  const bad = ['incorrect', 'failed', 'timeout', 'target missed'];
  return tiles(
      counts.ok > 0 || counts.published === 0 ? [counts.ok, 'verified', counts.ok ? 'good' : ''] : null,
      ...bad.map((name) => counts[name] > 0 ? [counts[name], name, 'bad'] : null),
      counts.unsupported > 0 ? [counts.unsupported, 'unsupported'] : null,
      counts.published > 0 ? [counts.published, 'published by others'] : null,
      [counts.rows, counts.rows === 1 ? 'row in all' : 'rows in all']);
}

function summary() {
  section(
      'summary', 'Verdict', verdict_box(), counted_tiles(), findings(),
      report.several_environments ? paragraph(
          'One id stands more than once: the hardware or the software of its launches differed, ' +
          'and such launches are never brought to one number.', 'notice') : null,
      report.plotly_reason ? paragraph(
          'Plots are left out (' + report.plotly_reason + '). The tables hold every number.', 'notice') : null);
}

function navigation() {
  const bar = document.getElementById('sections');
  const link = ([id, title]) => element('a', {href: '#' + id}, title.replace(/, .*|: .*| over other.*/, ''));
  const links = bullets(sections.map(link)), filter = filter_bar(), title = element('summary', {}, 'Sections');
  const menus = element('details', {class: 'menus', open: true}, title, links, filter);
  append(bar, menus);
  // A narrow page has no room for both beside what they are for.
  const narrow = window.matchMedia('(max-width: 45rem)'), fit = () => menus.open = !narrow.matches;
  narrow.addEventListener('change', fit);
  fit();
  links.addEventListener('click', (event) => event.target.closest('a') && fit());
  if (filter)
    now_and_on_filter(() => title.textContent = 'Sections and filter (' + part_of(passing_rows.size, rows.length, 'row') + ')');
  // The target of a link must not lie under the bar.
  new ResizeObserver(() => {
    document.documentElement.style.scrollPaddingTop = bar.offsetHeight + 8 + 'px';
  }).observe(bar);
  document.getElementById('foot').append(paragraph(
      'Times are medians of verified runs; ratios are never without both of their values. ' +
      'Hold the pointer over a number for all of its digits. ' +
      (has_plots ? 'Plots: plotly.js (MIT licence, in this file).' : '')));
}
