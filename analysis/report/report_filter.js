// One filter for all that shows rows: the tables and the plots. It stands below the links, which stay in view.

const row_filter = {words: [], chosen: new Map(), listeners: [], passing: rows.length};
const row_texts = [];  // made when first asked for

function row_text(row) {
  if (row_texts[row.index] === undefined)
    row_texts[row.index] = Object.values(row).filter((value) => typeof value === 'string').join(' ').toLowerCase();
  return row_texts[row.index];
}
function row_passes(row) {
  for (const [key, wanted] of row_filter.chosen)
    if (row[key] !== wanted) return false;
  return row_filter.words.every((word) => row_text(row).includes(word));
}
let passing_rows = new Set(rows.map((row) => row.index));
function passes(index) {
  return passing_rows.has(index);
}
// `again` is called after each change of the filter.
function on_filter(again) {
  row_filter.listeners.push(again);
}
// A text that says something of what passes; hidden where it has nothing to say.
function filtered_note(text) {
  const place = element('p', {class: 'soft'});
  const tell = () => {
    place.textContent = text() || '';
    place.hidden = !place.textContent;
  };
  tell();
  on_filter(tell);
  return place;
}

function filter_bar() {
  if (rows.length < 2) return null;
  const count = element('span', {class: 'count', role: 'status'});
  const search = element(
      'input', {type: 'search', placeholder: 'words of a row', 'aria-label': 'Filter all rows and plots'});
  const menus = [];
  const apply = () => {
    row_filter.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    row_filter.chosen = new Map(menus.filter((menu) => menu.value !== '').map((menu) => [menu.name, menu.value]));
    passing_rows = new Set(rows.filter(row_passes).map((row) => row.index));
    const all = passing_rows.size === rows.length;
    count.textContent = (all ? '' : passing_rows.size + ' of ') + plural(rows.length, 'row');
    clear.hidden = all && !search.value;
    for (const again of row_filter.listeners) again();
  };
  const clear = element('button', {
    type: 'button',
    hidden: true,
    click: () => {
      search.value = '';
      for (const menu of menus) menu.value = '';
      apply();
    }
  }, 'Clear');
  let timer = null;
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 120);
  });
  for (const [key, title] of [
           ['system', 'System'], ['benchmark', 'Benchmark'], ['direction', 'Direction'], ['precision', 'Precision'],
           ['backend', 'Backend'], ['algorithm', 'Algorithm'], ['status', 'Status']]) {
    const values = [...new Set(rows.map((row) => row[key]))].sort();
    if (values.length < 2 || values.length > 60) continue;
    menus.push(element(
        'select', {name: key, 'aria-label': title, change: apply}, element('option', {value: ''}, title),
        values.filter(Boolean).map((value) => element('option', {value: value}, value))));
  }
  count.textContent = plural(rows.length, 'row');
  return element('div', {class: 'tools', id: 'filter', role: 'search'}, 'Filter ', search, menus, clear, count);
}
