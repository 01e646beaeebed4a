// One filter for all that shows rows: the tables and the plots. It stands below the links, which stay in view.

const filter_listeners = [];
let passing_rows = new Set(rows.keys());
const passes = (index) => passing_rows.has(index);
// `again` is called after each change of the filter.
function on_filter(again) {
  filter_listeners.push(again);
}
// Calls `again` now and after each change of the filter.
function now_and_on_filter(again) {
  again();
  on_filter(again);
}
// A text that says something of what passes; hidden where it has nothing to say.
function filtered_note(text) {
  const place = paragraph([], 'soft');
  now_and_on_filter(() => {
    place.textContent = text() || '';
    place.hidden = !place.textContent;
  });
  return place;
}

// A search field and menus that choose among items. `menus`: {title, get, name, options(values)} of each; one whose values
// are too few or too many to choose from is left out. `text_of` gives the words of an item, when first asked for.
function choosing_fields(items, placeholder, label, menus, text_of, changed) {
  const texts = new Map(), search = element(
      'input', {type: 'search', placeholder, 'aria-label': label, input: delayed(() => changed(), 120)});
  const selects = menus.flatMap(({title, get, name, options}) => {
    const values = [...new Set(items.map((item) => String(get(item))))].sort();
    if (values.length < 2 || values.length > 60) return [];
    const attributes = {name, 'aria-label': title, change: () => changed()};
    const select = element('select', attributes, options(values).map(([value, text]) => element('option', {value}, text)));
    return [{select, fits: (item) => select.value === '' || String(get(item)) === select.value}];
  });
  const text = (item) => {
    if (!texts.has(item)) texts.set(item, text_of(item).toLowerCase());
    return texts.get(item);
  };
  const fields = [search, ...selects.map(({select}) => select)];
  const chosen = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return (item) => selects.every(({fits}) => fits(item)) && words.every((word) => text(item).includes(word));
  };
  return {fields, chosen, clear: () => fields.forEach((field) => field.value = '')};
}

const filter_menus = {
  system: 'System', benchmark: 'Benchmark', direction: 'Direction', precision: 'Precision', backend: 'Backend',
  algorithm: 'Algorithm', status: 'Status'
};
function filter_bar() {
  if (rows.length < 2) return null;
  const count = element('span', {class: 'count', role: 'status'}, plural(rows.length, 'row'));
  const apply = () => {
    passing_rows = new Set(rows.filter(filter.chosen()).map((row) => row.index));
    count.textContent = part_of(passing_rows.size, rows.length, 'row');
    clear.hidden = passing_rows.size === rows.length && !filter.fields[0].value;
    for (const again of filter_listeners) again();
  };
  const menus = Object.entries(filter_menus).map(([name, title]) => ({
    name,
    title,
    get: (row) => row[name],
    options: (values) => [['', title], ...values.filter(Boolean).map((value) => [value, value])]
  }));
  const text_of = (row) => Object.values(row).filter((value) => typeof value === 'string').join(' ');
  const filter = choosing_fields(rows, 'words of a row', 'Filter all rows and plots', menus, text_of, apply);
  const click = () => {
    filter.clear();
    apply();
  };
  const clear = element('button', {type: 'button', hidden: true, click}, 'Clear');
  return element('div', {class: 'tools', id: 'filter', role: 'search'}, 'Filter ', filter.fields, clear, count);
}
