'use strict';
// Small things that all parts use. Data reach the page as text nodes and attributes alone, never as markup.

const report = JSON.parse(document.getElementById('data').textContent);

// What is null (a part that there is no reason for) is passed over.
function append(parent, ...children) {
  parent.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return parent;
}
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function')
      made.addEventListener(name, value);
    else
      made.setAttribute(name, value === true ? '' : String(value));
  }
  return append(made, children);
}

// --- numbers: SI units in the data, three digits with a prefix for people, all digits in the tooltip
// -------------------
const prefixes = ['n', '\u00b5', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
function digits(value) {
  return Math.abs(value) < 9.995 ? value.toFixed(2) : Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0);
}
function known(value) {
  return typeof value === 'number' && Number.isFinite(value);
}
function human(value, unit) {
  if (!known(value)) return '\u2013';
  if (value === 0) return '0 ' + unit;
  if (unit === 's' && Math.abs(value) >= 999.5) return value.toFixed(0) + ' s';
  let step = Math.floor(Math.log10(Math.abs(value)) / 3);
  if (Math.abs(value) / 1000 ** step >= 999.5) ++step;
  if (step < -3 || step > 6) return value.toExponential(2) + ' ' + unit;
  return digits(value / 1000 ** step) + ' ' + prefixes[step + 3] + unit;
}
// Three digits of every ratio: a small one must not read as none.
function times(value) {
  if (!known(value)) return '\u2013';
  if (value > 0 && value < 1e-4) return value.toExponential(2) + '\u00d7';
  return (value > 0 && value < 0.995 ? value.toPrecision(3) : digits(value)) + '\u00d7';
}
// Of a ratio of times (new over base): the speedup, which is what is shown.
function speedup_of(ratio) {
  return known(ratio) && ratio > 0 ? 1 / ratio : null;
}
// analysis/ratio.cpp's words, as the beginning of a sentence.
function speedup_header(first, second) {
  const text = report.speedup_header.replaceAll('{first}', () => first).replaceAll('{second}', () => second);
  return text[0].toUpperCase() + text.slice(1);
}
function percent(value) {
  return known(value) ? (100 * value).toFixed(1) + ' %' : '\u2013';
}
function change(value) {
  return known(value) ? (value >= 1 ? '+' : '\u2212') + (100 * Math.abs(value - 1)).toFixed(1) + ' %' : '\u2013';
}
function error_text(value) {
  return !known(value) ? '\u2013' : value === 0 ? '0' : value.toExponential(1);
}
function plain(value) {
  return known(value) ? String(Number(value.toPrecision(4))) : '\u2013';
}
function range(low, high, show) {
  return known(low) && known(high) ? show(low) + ' \u2026 ' + show(high) : '\u2013';
}

// --- verdicts: a colour never stands alone, the word is beside it
// ------------------------------------------------------
const moods = {
  ok: 'good',
  faster: 'good',
  PASS: 'good',
  steady: 'good',
  same: 'good',
  incorrect: 'bad',
  failed: 'bad',
  timeout: 'bad',
  'target missed': 'bad',
  slower: 'bad',
  drifting: 'bad',
  lost: 'bad',
  suspect: 'mid',
  'PERF-FAIL': 'bad',
  INCORRECT: 'bad',
  MISSING: 'bad',
  'not met': 'bad',
  'software slower': 'bad',
  'machine slower': 'bad',
  noise: 'good',
  vanished: 'bad',
  unfinished: 'bad',
  refused: 'bad',
  unconfirmed: 'mid',
  wide: 'mid',
  '!': 'mid',
  '\u00b0': 'mid',
  '~': 'mid',
  unsupported: 'mid',
  inconclusive: 'mid',
  'NOT-QUIET': 'mid',
  'too short': 'mid',
  'no result': 'mid',
};
const marks = {
  good: '\u2713 ',
  bad: '\u2717 ',
  mid: '\u25cb '
};
// The marks of times that something disturbed, the most severe first.
const mark_texts = {
  '!': '(other work wanted the processors)',
  '\u00b0': '(power or heat held the clock of the device down)',
  '~': '(more threads or ranks than processors)'
};
function worst_mark(list) {
  return Object.keys(mark_texts).find((mark) => list.includes(mark)) || '';
}
// Of one side of a comparison, or of a row of an acceptance.
function mark_told(side) {
  return side.shared || side.disturbed ? '!' : side.throttled ? '\u00b0' : '';
}
function badge(word) {
  const mood = moods[word], mark = mark_texts[word] ? '' : marks[mood] || '';
  return element('span', {class: 'badge ' + (mood || '')}, mark + word);
}
function tile(number, text, mood) {
  return element('li', {class: 'tile ' + (mood || '')}, element('b', {}, String(number)), ' ' + text);
}
function tiles(...list) {
  return element('ul', {class: 'tiles'}, list.filter(Boolean));
}
function count_of(list, key) {
  const counts = new Map();
  for (const record of list || []) counts.set(record[key], (counts.get(record[key]) || 0) + 1);
  return counts;
}

// A text that may break after each slash (an id, a path).
function breakable(text) {
  return String(text).split(/(?<=\/)/).flatMap((part, i) => i ? [element('wbr'), part] : [part]);
}
// A name on one line, where it is not too long for that.
function whole(text) {
  return text.length > 32 ? element('span', {}, breakable(text)) : element('span', {class: 'whole'}, text);
}
// What all paths share at their beginnings and ends is said once: {names, common}.
function told_apart(paths) {
  const parts = paths.map((path) => path.split('/'));
  const least = Math.min(...parts.map((part) => part.length));
  const alike = (at) => parts.every((part) => at(part) === at(parts[0]));
  let first = 0, last = 0;
  if (paths.length > 1) {
    while (first < least - 1 && alike((part) => part[first])) ++first;
    while (last < least - 1 - first && alike((part) => part[part.length - 1 - last])) ++last;
  }
  const beginning = parts[0].slice(0, first), end = last ? parts[0].slice(-last) : [];
  return {
    names: parts.map((part) => part.slice(first, part.length - last).join('/')),
    common: first || last ? [...beginning, '\u2026', ...end].join('/') : ''
  };
}
function plural(count, word) {
  return count + ' ' + word + (count === 1 ? '' : 's');
}

// --- rows: text columns are indices into report.strings
// ----------------------------------------------------------------
const rows = [];
if (report.rows) {
  const names = report.rows.columns, texts = new Set(report.rows.texts);
  for (const values of report.rows.values) {
    const row = {index: rows.length};
    for (let i = 0; i < names.length; ++i)
      row[names[i]] = texts.has(names[i]) ? report.strings[values[i]] : values[i];
    rows.push(row);
  }
}
// A list of records that came as columns.
function records(part) {
  const names = Object.keys(part || {});
  return part ? part[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, part[name][i]]))) : null;
}
if (report.roofline) report.roofline.points = records(report.roofline.points);
report.precision = records(report.precision);
report.speedups = records(report.speedups);
function text_at(index) {
  return report.strings[index];
}
for (const point of report.precision || []) point.executed = text_at(point.executed);
function label(row) {
  return [row.benchmark, row.problem, row.direction, row.precision, row.backend, row.algorithm].filter(Boolean).join(
      ' \u00b7 ');
}

const main = document.getElementById('main');
const sections = [];
function section(id, title, ...children) {
  const made = element(
      'section', {id: id, 'aria-labelledby': id + '-title'}, element('h2', {id: id + '-title'}, title), children);
  main.append(made);
  sections.push([id, title]);
  return made;
}
