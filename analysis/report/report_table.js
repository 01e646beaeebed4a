// A table that sorts and filters thousands of rows: one page of them is in the document at a time.

const page_rows = 25, print_rows = 1000;
const all_tables = [];

// columns: {title, get(row) -> value to sort by, show(row) -> text or node, tip(row), right, wide, choose (a menu of
// its values)}
function data_table(caption, all_columns, data) {
  // What is the same in all rows is said once, above the table.
  const same = (column) => column.fold && new Set(data.map(column.get)).size === 1;
  const folded = data.length > 1 ? all_columns.filter(same) : [];
  const columns = all_columns.filter((column) => !folded.includes(column));
  const state = {sort: -1, down: false, page: 0, words: '', chosen: new Map(), shown: data};
  const body = element('tbody'), count = element('span', {class: 'count', role: 'status'});
  const printed = element('p', {class: 'printed soft'});
  const heads = columns.map(
      (column, i) => element(
          'th', {scope: 'col', class: column.right ? 'right' : null, 'aria-sort': 'none'},
          element('button', {type: 'button', title: 'Sort by ' + column.title, click: () => sort(i)}, column.title)));
  const previous = element('button', {type: 'button', click: () => turn(-1)}, 'Previous');
  const next = element('button', {type: 'button', click: () => turn(1)}, 'Next');
  const tools = element('div', {class: 'tools'});
  const searched = data.map(() => null);  // made when first asked for
  const order = new Map(data.map((row, i) => [row, i]));

  function value(column, row) {
    const got = column.get(row);
    return got === undefined ? null : got;
  }
  function cell(column, row) {
    const shown = column.show ? column.show(row) : value(column, row);
    const got = value(column, row);
    const tip = column.tip ? column.tip(row) : column.right && known(got) ? String(got) : null;
    return element(
        'td', {
          class: [column.right ? 'right' : '', column.wide ? 'wide' : '', column.kind || ''].join(' ').trim() || null,
          title: tip
        },
        shown === null || shown === undefined || shown === '' ? '\u2013' : shown);
  }
  function text_of(i) {
    if (searched[i] === null)
      searched[i] = columns
                        .map((column) => {
                          const shown = column.show ? column.show(data[i]) : value(column, data[i]);
                          return (shown instanceof Node ? shown.textContent : String(shown === null ? '' : shown)) +
                              ' ' + (column.find ? column.find(data[i]) : '');
                        })
                        .join(' ')
                        .toLowerCase();
    return searched[i];
  }
  function select() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    state.shown = data.filter((row) => {
      for (const [column, wanted] of state.chosen)
        if (wanted !== '' && String(value(column, row)) !== wanted) return false;
      return words.length === 0 || words.every((word) => text_of(order.get(row)).includes(word));
    });
    if (state.sort >= 0) {
      const column = columns[state.sort], sign = state.down ? -1 : 1;
      // What has no value stands last, whichever way.
      const key = new Map(state.shown.map((row) => [row, value(column, row)]));
      state.shown.sort((a, b) => {
        const x = key.get(a), y = key.get(b);
        if (x === null || y === null) return x === y ? order.get(a) - order.get(b) : x === null ? 1 : -1;
        const by = typeof x === 'number' && typeof y === 'number' ?
            x - y :
            String(x).localeCompare(String(y), 'en', {numeric: true});
        return by === 0 ? order.get(a) - order.get(b) : sign * by;
      });
    }
    state.page = 0;
    draw(page_rows);
  }
  function draw(most) {
    const from = state.page * page_rows, part = state.shown.slice(from, from + most);
    body.replaceChildren(...part.map((row) => element('tr', {}, columns.map((column) => cell(column, row)))));
    const pages = Math.ceil(state.shown.length / page_rows);
    count.textContent = (state.shown.length === data.length ? '' : state.shown.length + ' of ') + data.length +
        (data.length === 1 ? ' row' : ' rows') +
        (pages > 1 ? ', ' + (from + 1) + '\u2013' + (from + part.length) + ' shown' : '');
    previous.disabled = state.page === 0;
    next.disabled = state.page + 1 >= pages;
    previous.hidden = next.hidden = data.length <= page_rows;
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

  if (data.length > 8) {
    const search = element(
        'input',
        {type: 'search', placeholder: 'Filter: words that a row must hold', 'aria-label': 'Filter ' + caption});
    let timer = null;
    search.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        state.words = search.value;
        select();
      }, 120);
    });
    tools.append(search);
    for (const column of columns.filter((one) => one.choose)) {
      const values = [...new Set(data.map((row) => String(value(column, row))))].sort();
      if (values.length < 2 || values.length > 60) continue;
      const menu = element(
          'select', {
            'aria-label': column.title,
            change: (event) => {
              state.chosen.set(column, event.target.value);
              select();
            }
          },
          element('option', {value: ''}, column.title + ': all'),
          values.map((one) => element('option', {value: one}, one === '' ? 'none' : one)));
      tools.append(menu);
    }
  }
  const common = folded.map((column) => column.get(data[0])).filter(Boolean).join(' \u00b7 ');
  const said = common ? element('p', {class: 'soft'}, 'All: ' + common) : null;
  tools.append(count, previous, next);
  all_tables.push({
    print() {
      state.page = 0;
      draw(print_rows);
      printed.textContent = state.shown.length > print_rows ? 'The first ' + print_rows + ' of ' +
              state.shown.length + ' rows are printed; filter the table on the screen for others.' :
                                                              '';
    },
    back() {
      draw(page_rows);
    },
  });
  draw(page_rows);
  return element(
      'div', {}, said, tools,
      element(
          'div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
          element(
              'table', {}, element('caption', {hidden: true}, caption),
              element('thead', {}, element('tr', {}, heads)), body)),
      printed);
}

// Columns of texts and of numbers.
function field(title, get, more) {
  return {title, get: (row) => get(row) ?? '', ...more};
}
function measure(title, get, show, more) {
  return {title, right: true, get, show: (row) => show(get(row)), ...more};
}

window.addEventListener('beforeprint', () => all_tables.forEach((table) => table.print()));
window.addEventListener('afterprint', () => all_tables.forEach((table) => table.back()));
