// A table that sorts, filters and folds: one page of its rows is in the document at a time, and as many columns as the
// page is wide. What is not shown of a row stands below it when it is opened.

const page_rows = 25, print_rows = 1000;
const all_tables = [];

// columns: {title, get(row) -> value to sort by, show(row) -> text or node, tip(row), right, wide, kind,
//   choose: a menu of its values, fold: said once where all rows have it, keep: never left out for want of room,
//   aside: only below the row unless it is chosen}
// more: {rows(item) -> indices of the rows that the filter of the page judges it by; changed(shown) after each filter}
function data_table(caption, all_columns, data, more = {}) {
  const same = (column) => column.fold && new Set(data.map(column.get)).size === 1;
  const folded = data.length > 1 ? all_columns.filter(same) : [];
  const columns = all_columns.filter((column) => !folded.includes(column));
  const state = {sort: -1, down: false, page: 0, words: '', menus: new Map(), shown: data};
  const open = new Set(), left_out = new Set(), wanted = new Map();  // wanted: what the reader chose
  const body = element('tbody'), count = element('span', {class: 'count', role: 'status'});
  const printed = element('p', {class: 'printed soft'}), chooser = element('div', {class: 'choice'});
  const summary = element('summary', {}, 'Columns');
  const heads = columns.map(
      (column, i) => element(
          'th', {scope: 'col', class: column.right ? 'right' : null, 'aria-sort': 'none'},
          element('button', {type: 'button', title: 'Sort by ' + column.title, click: () => sort(i)}, column.title)));
  const corner = element('th', {scope: 'col', class: 'opener'}, element('span', {class: 'unseen'}, 'More of the row'));
  const previous = element('button', {type: 'button', click: () => turn(-1)}, 'Previous');
  const next = element('button', {type: 'button', click: () => turn(1)}, 'Next');
  const tools = element('div', {class: 'tools'});
  const searched = new Map();  // made when first asked for
  const order = new Map(data.map((row, i) => [row, i]));
  const table = element(
      'table', {}, element('caption', {hidden: true}, caption), element('thead', {}, element('tr', {}, corner, heads)), body);
  const box = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption}, table);

  function value(column, row) {
    return column.get(row) ?? null;
  }
  function shown_of(column, row) {
    const shown = column.show ? column.show(row) : value(column, row);
    if (shown === null || shown === undefined || shown === '') return '\u2013';
    return column.wide && typeof shown === 'string' ? breakable(shown) : shown;
  }
  function cell(column, row) {
    const got = value(column, row);
    const tip = column.tip ? column.tip(row) :
        column.right && known(got) || column.kind === 'short' ? String(got ?? '') :
                                                                null;
    const kinds = [column.right ? 'right' : '', column.wide ? 'wide' : '', column.kind || ''];
    return element('td', {class: kinds.filter(Boolean).join(' ') || null, title: tip}, shown_of(column, row));
  }
  function visible(column) {
    return wanted.get(column) ?? (!column.aside && !left_out.has(column));
  }
  // What its columns do not show of a row.
  function details(row) {
    const list = columns.filter((column) => !visible(column) || column.kind === 'short')
                     .flatMap((column) => [element('dt', {}, column.title), element('dd', {}, shown_of(column, row))]);
    return element('tr', {class: 'details'}, element('td', {colspan: columns.length + 1}, element('dl', {}, list)));
  }
  function line(row) {
    const opener = element('button', {
      type: 'button',
      'aria-label': 'More of this row',
      'aria-expanded': open.has(row) ? 'true' : 'false',
      click: () => {
        if (!open.delete(row)) open.add(row);
        draw(page_rows);
        [...body.querySelectorAll('.opener button')][state.shown.indexOf(row) - state.page * page_rows].focus();
      }
    });
    const made = element('tr', {}, element('td', {class: 'opener'}, opener), columns.map((column) => cell(column, row)));
    return open.has(row) ? [made, details(row)] : [made];
  }
  function text_of(row) {
    if (!searched.has(row))
      searched.set(
          row, columns
                   .map((column) => element('i', {}, shown_of(column, row)).textContent + ' ' +
                            (column.find ? column.find(row) : ''))
                   .join(' ')
                   .toLowerCase());
    return searched.get(row);
  }
  function select() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    state.shown = data.filter((row) => {
      if (more.rows && !more.rows(row).some(passes)) return false;
      for (const [column, chosen] of state.menus)
        if (chosen !== '' && String(value(column, row)) !== chosen) return false;
      return words.every((word) => text_of(row).includes(word));
    });
    if (state.sort >= 0) put_in_order(columns[state.sort], state.down ? -1 : 1);
    state.page = 0;
    draw(page_rows);
    if (more.changed) more.changed(state.shown);
  }
  function put_in_order(column, sign) {
    // What has no value stands last, whichever way.
    const key = new Map(state.shown.map((row) => [row, value(column, row)]));
    state.shown.sort((a, b) => {
      const x = key.get(a), y = key.get(b);
      if (x === null || y === null) return x === y ? order.get(a) - order.get(b) : x === null ? 1 : -1;
      const by = typeof x === 'number' && typeof y === 'number' ? x - y :
                                                                  String(x).localeCompare(String(y), 'en', {numeric: true});
      return by === 0 ? order.get(a) - order.get(b) : sign * by;
    });
  }
  function draw(most) {
    const from = state.page * page_rows, part = state.shown.slice(from, from + most);
    body.replaceChildren(...part.flatMap(line));
    const pages = Math.ceil(state.shown.length / page_rows);
    count.textContent = (state.shown.length === data.length ? '' : state.shown.length + ' of ') +
        plural(data.length, 'row') + (pages > 1 ? ', ' + (from + 1) + '\u2013' + (from + part.length) + ' shown' : '');
    previous.disabled = state.page === 0;
    next.disabled = state.page + 1 >= pages;
    previous.hidden = next.hidden = data.length <= page_rows;
    fit(false);
  }
  function show_columns() {
    columns.forEach((column, i) => {
      for (const row of [corner.parentNode, ...body.querySelectorAll('tr:not(.details)')])
        row.children[i + 1].hidden = !visible(column);
    });
    const hidden = columns.filter((column) => !visible(column)).length;
    summary.textContent = 'Columns' + (hidden ? ' (' + hidden + ' more)' : '');
    choosers.forEach(([column, choice]) => choice.checked = visible(column));
    table.classList.toggle('plain', hidden === 0 && !columns.some((column) => column.kind === 'short'));
  }
  // Leaves out the last columns until the table is no wider than its place.
  function fit(anew) {
    if (anew) left_out.clear();
    show_columns();
    if (!box.clientWidth || printing) return;
    const last_first = columns.filter((column) => !column.keep && !column.aside && !wanted.has(column)).reverse();
    for (const column of last_first) {
      if (table.scrollWidth <= box.clientWidth) break;
      if (!visible(column)) continue;
      left_out.add(column);
      show_columns();
    }
  }
  function sort(i) {
    state.down = state.sort === i ? !state.down : Boolean(columns[i].down);
    state.sort = i;
    heads.forEach(
        (head, j) => head.setAttribute('aria-sort', j === i ? (state.down ? 'descending' : 'ascending') : 'none'));
    select();
  }
  function turn(by) {
    state.page += by;
    draw(page_rows);
  }

  if (data.length > 8 && !more.rows) tools.append(...searches(caption, columns, data, value, state, select));
  const choosers = columns.map((column) => {
    const choice = element('input', {
      type: 'checkbox',
      change: () => {
        wanted.set(column, choice.checked);
        draw(page_rows);
      }
    });
    chooser.append(element('label', {}, choice, ' ' + column.title));
    return [column, choice];
  });
  if (columns.length > 4) tools.append(element('details', {class: 'columns'}, summary, chooser));
  const common = folded.map((column) => [column, column.get(data[0])])
                     .filter(([, got]) => got !== '' && got !== null)
                     .map(([column, got]) => column.bare ? got : column.title.toLowerCase() + ' ' + got)
                     .join(' \u00b7 ');
  tools.append(count, previous, next);
  all_tables.push({
    print() {
      state.page = 0;
      left_out.clear();  // paper is small print, and cannot be opened
      draw(print_rows);
      printed.textContent = state.shown.length > print_rows ? 'The first ' + print_rows + ' of ' + state.shown.length +
              ' rows are printed; filter the table on the screen for others.' :
                                                              '';
    },
    back() {
      draw(page_rows);
    },
  });
  if (more.rows) on_filter(select);
  draw(page_rows);
  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    fit(true);
  }).observe(box);
  return element(
      'div', {class: 'table'}, common ? element('p', {class: 'soft'}, 'All rows: ' + common) : null, tools, box, printed);
}

// A search field, and menus of the columns that are to be chosen from.
function searches(caption, columns, data, value, state, select) {
  const search =
      element('input', {type: 'search', placeholder: 'Filter: words that a row must hold', 'aria-label': 'Filter ' + caption});
  let timer = null;
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.words = search.value;
      select();
    }, 120);
  });
  const menus = [];
  for (const column of columns.filter((candidate) => candidate.choose)) {
    const values = [...new Set(data.map((row) => String(value(column, row))))].sort();
    if (values.length < 2 || values.length > 60) continue;
    menus.push(element(
        'select', {
          'aria-label': column.title,
          change: (event) => {
            state.menus.set(column, event.target.value);
            select();
          }
        },
        element('option', {value: ''}, column.title + ': all'),
        values.map((choice) => element('option', {value: choice}, choice === '' ? 'none' : choice))));
  }
  return [search, ...menus];
}

// Columns of texts and of numbers.
function field(title, get, more) {
  return {title, get: (row) => get(row) ?? '', ...more};
}
function measure(title, get, show, more) {
  return {title, right: true, get, show: (row) => show(get(row)), ...more};
}
// A number made of others has their mark.
function marked(column, mark) {
  return {
    ...column,
    show: (item) => {
      const text = column.show(item);
      return known(column.get(item)) ? text + mark(item) : text;
    }
  };
}
// A table that is opened by a click: the plot above it says the same.
function folded_table(title, table) {
  return element('details', {class: 'fold'}, element('summary', {}, title), table);
}

// The list of columns closes when something else is clicked.
document.addEventListener('click', (event) => {
  for (const list of document.querySelectorAll('details.columns[open]'))
    if (!list.contains(event.target)) list.open = false;
});

let printing = false;
window.addEventListener('beforeprint', () => {
  printing = true;
  for (const fold of document.querySelectorAll('details.fold:not([open])')) {
    fold.open = true;
    fold.dataset.closed = 'true';
  }
  all_tables.forEach((table) => table.print());
});
window.addEventListener('afterprint', () => {
  printing = false;
  all_tables.forEach((table) => table.back());
  for (const fold of document.querySelectorAll('details[data-closed]')) {
    fold.open = false;
    delete fold.dataset.closed;
  }
});
