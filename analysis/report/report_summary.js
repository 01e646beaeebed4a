// What the page opens with: machine, suite, date and one verdict; then what failed, what was lost, what is noisy.

const verdict_moods = {0: 'good', 5: 'mid', 8: 'mid'};  // by exit code; all others are bad
function mood_of(code) {
  return code === null ? '' : verdict_moods[code] || 'bad';
}
function day(time) {
  return time ? time.slice(0, 16).replace('T', ' ') : '';
}
function few(list, most) {
  return list.slice(0, most).join(', ') + (list.length > most ? ' and ' + (list.length - most) + ' more' : '');
}

function machine_text(machine) {
  const parts = [
    machine.processor, known(machine.cores) ? plural(machine.cores, 'core') : '',
    known(machine.memory_bytes) ? binary(machine.memory_bytes) : '',
    machine.accelerators ? plural(machine.accelerators, 'accelerator') : '',
    machine.hosts.length > 1 ? plural(machine.hosts.length, 'host') : machine.hosts[0]
  ];
  return [...new Set(parts)].filter((part) => part && part !== machine.name).join(', ');
}
function facts() {
  const head = report.head, list = [];
  const most = 3, systems = head.machines.slice(0, most);
  const add = (name, ...content) => list.push(element('dt', {}, name), element('dd', {}, content));
  if (systems.length)
    add(systems.length > 1 ? 'Machines' : 'Machine',
        systems.map((machine) => element('div', {}, element('strong', {}, machine.name), ' ' + machine_text(machine))),
        head.machines.length > most ?
            element('div', {class: 'soft'}, 'and ' + (head.machines.length - most) + ' more (see Environments)') :
            null);
  if (head.suites.length) add(head.suites.length > 1 ? 'Suites' : 'Suite', few(head.suites, 6));
  if (head.first) {
    const [first, last] = [day(head.first), day(head.last)];
    add('Date', (first === last ? first : first + ' to ' + last) + ' UTC');
  }
  add('Report', 'made ' + day(report.made) + ' UTC by Assay ' + report.version + ' from ' + plural(report.files.length, 'file'));
  return element('dl', {class: 'facts'}, list);
}

function heading() {
  document.getElementById('head').append(element('h1', {}, report.title), facts());
}

function verdict_box() {
  const verdict = report.verdict, mood = mood_of(verdict.code);
  const sentence = verdict.text[0].toUpperCase() + verdict.text.slice(1) + '.';
  return element(
      'div', {class: 'verdict ' + mood},
      element('p', {class: 'word'}, (marks[mood] || '') + verdict.word),
      element(
          'div', {}, element('p', {}, sentence), verdict.note ? element('p', {}, verdict.note) : null,
          verdict.also.map(
              (other) => element(
                  'p', {class: 'soft'},
                  element('span', {class: 'badge ' + mood_of(other.code)}, (marks[mood_of(other.code)] || '') + other.word),
                  ' ' + other.text))));
}

const first_items = 5;
function finding(group) {
  const line = (item) => element(
      'li', {}, element('span', {class: 'mono'}, breakable(item.name)),
      item.reason ? element('span', {class: 'soft'}, ' \u2013 ', breakable(item.reason)) : null);
  const items = group.items, rest = items.slice(first_items), unnamed = group.count - items.length;
  return element(
      'div', {class: 'finding'},
      element(
          'p', {}, badge(group.word), ' ', group.what + ': ', element('strong', {}, String(group.count)), ' ',
          element('a', {href: '#' + group.section, class: 'soft'}, 'see below')),
      element('ul', {}, items.slice(0, first_items).map(line)),
      rest.length ? element(
                        'details', {class: 'fold'}, element('summary', {}, rest.length + unnamed + ' more'),
                        element('ul', {}, rest.map(line)),
                        unnamed ? element('p', {class: 'soft'}, 'and ' + unnamed + ' more') : null) :
                    null);
}
function findings() {
  const made = [], none = [];
  for (const [key, title, nothing] of [
           ['failed', 'What failed', 'failed'], ['lost', 'What was lost', 'was lost'],
           ['noisy', 'What is noisy', 'is noisy']]) {
    const groups = report.findings[key];
    if (!groups.length) {
      none.push(nothing);
      continue;
    }
    made.push(element('h3', {id: key}, title), groups.map(finding));
  }
  if (none.length && report.verdict.code !== null) {
    const last = none.pop();
    const text = 'Nothing ' + (none.length ? none.join(', nothing ') + ', and nothing ' : '') + last + '.';
    const line = element('p', {class: 'calm'}, marks.good + text);
    if (report.findings.failed.length)
      made.push(line);
    else
      made.unshift(line);
  }
  return made;
}

function counted_tiles() {
  const counts = report.counts;
  if (!counts) return null;
  return tiles(
      counts.ok > 0 || counts.published === 0 ? tile(counts.ok, 'verified', counts.ok ? 'good' : '') : null,
      ...['incorrect', 'failed', 'timeout', 'target missed'].map(
          (name) => counts[name] > 0 ? tile(counts[name], name, 'bad') : null),
      counts.unsupported > 0 ? tile(counts.unsupported, 'unsupported', '') : null,
      counts.published > 0 ? tile(counts.published, 'published by others', '') : null,
      tile(counts.rows, counts.rows === 1 ? 'row in all' : 'rows in all', ''));
}

function summary() {
  const made = section('summary', 'Verdict', verdict_box(), counted_tiles(), findings());
  const notice = (text) => append(made, element('p', {class: 'notice'}, text));
  if (report.several_environments)
    notice(
        'One id stands more than once: the hardware or the software of its launches differed, ' +
        'and such launches are never brought to one number.');
  if (report.plotly_reason)
    notice('Plots are left out (' + report.plotly_reason + '). The tables hold every number.');
}

function navigation() {
  const short = (title) => title.replace(/, .*|: .*| over other.*/, '');
  const bar = document.getElementById('sections');
  append(
      bar,
      element('ul', {}, sections.map(([id, title]) => element('li', {}, element('a', {href: '#' + id}, short(title))))),
      filter_bar());
  // What a link leads to must not lie under the bar.
  new ResizeObserver(() => {
    document.documentElement.style.scrollPaddingTop = bar.offsetHeight + 8 + 'px';
  }).observe(bar);
  document.getElementById('foot').append(element(
      'p', {},
      'Times are medians of verified runs; ratios are never without both of their values. ' +
          'Hold the pointer over a number for all of its digits. ' +
          (has_plots ? 'Plots: plotly.js (MIT licence, in this file).' : '')));
}
