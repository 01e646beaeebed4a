'use strict';
// Small things that all parts use. Data reach the page as text nodes and attributes alone, never as markup.

// A list of records comes as columns, a column of texts that repeat as places in a list.
function unpacked(columns) {
  const lists = Object.entries(columns).map(
      ([name, list]) => [name, list.texts ? list.places.map((place) => list.texts[place]) : list]);
  return lists[0][1].map((_, i) => Object.fromEntries(lists.map(([name, list]) => [name, list[i]])));
}
const report = JSON.parse(
    document.getElementById('data').textContent,
    (_, value) => value && value['packed columns'] ? unpacked(value['packed columns']) : value);

// A part that is null or undefined (there is no reason for it) is passed over.
function append(parent, ...children) {
  parent.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return parent;
}
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function')
      node.addEventListener(name, value);
    else
      node.setAttribute(name, value === true ? '' : String(value));
  }
  return append(node, children);
}
// `kind` is a class: soft, notice, problem, calm.
const paragraph = (content, kind) => element('p', {class: kind}, content);
const subtitle = (...content) => element('h3', {}, content);
const code = (text) => element('code', {}, text);
const bullets = (list) => element('ul', {}, list.map((content) => element('li', {}, content)));
// It opens by a click, and before printing.
const fold = (title, ...content) => element('details', {class: 'fold'}, element('summary', {}, title), content);
// Calls `act` once the last call is `wait` milliseconds ago.
function delayed(act, wait) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };
}

// --- numbers: SI units in the data; the text of a number NAME for people is NAME_text
const known = (value) => typeof value === 'number' && Number.isFinite(value);
const range = (low, high) => low && high ? low + ' \u2026 ' + high : '\u2013';
// The speedup, which is shown, from a ratio of times (new over base).
const speedup_of = (ratio) => known(ratio) && ratio > 0 ? 1 / ratio : null;
// The words of analysis/ratio.cpp, as the beginning of a sentence.
function speedup_header(first, second) {
  const text = report.speedup_header.replaceAll('{first}', () => first).replaceAll('{second}', () => second);
  return text[0].toUpperCase() + text.slice(1);
}
const plural = (count, word) => count + ' ' + word + (count === 1 ? '' : 's');
// "3 of 12 rows", or "12 rows" where these are all.
const part_of = (count, all, word) => (count === all ? '' : count + ' of ') + plural(all, word);
const day = (time) => time ? time.slice(0, 16).replace('T', ' ') : '';
const few = (list, most) =>
    list.slice(0, most).join(', ') + (list.length > most ? ' and ' + (list.length - most) + ' more' : '');
const each = (list) => list || [];
const count_of = (list, key) => new Map([...grouped(list, (record) => record[key])].map(([name, group]) => [name, group.length]));

// --- verdicts: a colour never stands alone, the word is beside it
const words_of_moods = {
  good: ['ok', 'faster', 'PASS', 'steady', 'same', 'noise'],
  bad: [
    'incorrect', 'failed', 'timeout', 'target missed', 'slower', 'drifting', 'lost', 'PERF-FAIL', 'INCORRECT', 'NOT-COMPARABLE', 'MISSING',
    'not met', 'software slower', 'machine slower', 'vanished', 'unfinished', 'refused'
  ],
  mid: [
    'suspect', 'unconfirmed', 'wide', '!', '\u00b0', '~', 'unsupported', 'inconclusive', 'NOT-QUIET', 'too short',
    'no result'
  ],
};
const moods = Object.fromEntries(
    Object.entries(words_of_moods).flatMap(([mood, words]) => words.map((word) => [word, mood])));
const marks = {good: '\u2713 ', bad: '\u2717 ', mid: '\u25cb '};
// The marks of times that something disturbed, the most severe first.
const mark_texts = {
  '!': '(other work wanted the processors)',
  '\u00b0': '(power or heat held the clock of the device down)',
  '~': '(more threads or ranks than processors)'
};
const worst_mark = (list) => Object.keys(mark_texts).find((mark) => list.includes(mark)) || '';
// The mark of one side of a comparison, or of a row of an acceptance.
const mark_told = (side) => side.shared || side.disturbed ? '!' : side.throttled ? '\u00b0' : '';
// The mark of a fraction of the ceiling.
const ceiling_mark = (row) => (row.exceeded ? '^' : '') + row.mark;
const exceeded_sentence = ' ^ marks a row that was faster than its ceiling by more than 3 %, which is impossible: the machine ' +
    'was slower when the ceiling was measured, or one of the two numbers is wrong.';
const badge = (word, mood = moods[word]) =>
    element('span', {class: 'badge ' + (mood || '')}, (mark_texts[word] ? '' : marks[mood] || '') + word);
// `list`: [number, text, mood] of each tile, null for one that is left out.
function tiles(...list) {
  const tile = ([number, text, mood]) =>
      element('li', {class: 'tile ' + (mood || '')}, element('b', {}, String(number)), ' ' + text);
  return element('ul', {class: 'tiles'}, list.filter(Boolean).map(tile));
}

// A text that may break after each slash (an id, a path).
const breakable = (text) => String(text).split(/(?<=\/)/).flatMap((part, i) => i ? [element('wbr'), part] : [part]);
// A name on one line, where it is not too long for that.
const whole = (text) => text.length > 32 ? element('span', {}, breakable(text)) : element('span', {class: 'whole'}, text);

const rows = each(report.rows).map((row, index) => ({index, ...row}));
function label(row) {
  const parts = [row.benchmark, row.problem, row.direction, row.precision, row.backend, row.algorithm];
  return parts.filter(Boolean).join(' \u00b7 ');
}

const main = document.getElementById('main');
const sections = [];
function section(id, title, ...children) {
  sections.push([id, title]);
  const heading = element('h2', {id: id + '-title'}, title);
  return append(main, element('section', {id, 'aria-labelledby': id + '-title'}, heading, children)).lastChild;
}
// A section for each document of a kind: its id, its title, `make(document, i)` the content.
function document_sections(kind, title, make) {
  each(report[kind]).forEach((document, i) => {
    const command = document.command ? [' \u00b7 ', code(document.command)] : null;
    section(kind + (i || ''), title, make(document, paragraph([breakable(document.file), command], 'soft')));
  });
}
function notes_of(document) {
  const list = each(document.notes).filter(Boolean);
  return list.length ? element('div', {class: 'notice'}, list.map((text) => paragraph(text))) : null;
}
