// A table that sorts, filters and folds: one page of its rows is in the document at a time, and as many columns as the
// page is wide. The other columns of a row stand below it when it is opened.

const page_rows = 25, print_rows = 1000;
const all_tables = [];

// Columns. `get`: a key of the row, or a function that gives the value to sort by. `flags`: words of
//   right, wide, short, name, command: how its cells look; short ones stand in full below the row
//   choose: a menu of its values; fold: said once where all rows have the same, bare: without the title
//   keep: never left out for want of room; aside: only below the row unless it is chosen; down: sorts downwards first
// `more`: {show(value, row) -> text or node, mark(row) -> the mark of a number, tip(row), find(row) -> hidden words}
function field(title, get, flags = '', more = {}) {
  const on = flags.split(' ').filter(Boolean), kinds = ['right', 'wide', 'short', 'name', 'command'];
  return {
    title,
    get: typeof get === 'function' ? (row) => get(row) ?? '' : (row) => row[get] ?? '',
    kinds: on.filter((flag) => kinds.includes(flag)).join(' ') || null,
    ...Object.fromEntries(on.map((flag) => [flag, true])),
    ...more
  };
}
function measure(title, get, flags = '', more = {}) {
  const number = typeof get === 'function' ? get : (row) => row[get], show = (value, row) => row[get + '_text'] ?? value;
  return {...field(title, number, 'right ' + flags, {show, ...more}), get: (row) => number(row) ?? null};
}
const badge_column = (title, get, flags, more) => field(title, get, flags, {show: (word) => badge(word), ...more});

// more: {rows(item) -> indices of the rows that the filter of the page judges it by; changed(shown) after each filter}
const data_table = (caption, columns, data, more = {}) =>
    new DataTable(caption, columns.filter(Boolean), data, more).element;
// A table with its title, null where it has no rows.
const titled_table = (title, columns, data, caption = title) =>
    data.length ? [subtitle(title), data_table(caption, columns, data)] : null;

class DataTable {
  constructor(caption, columns, data, more) {
    Object.assign(this, {caption, data, more, page: 0, down: false, sorted: null, shown: data});
    const same = (column) => column.fold && new Set(data.map(column.get)).size === 1;
    this.folded = data.length > 1 ? columns.filter(same) : [];
    this.columns = columns.filter((column) => !this.folded.includes(column));
    this.open = new Set();      // rows
    this.left_out = new Set();  // columns for which there is no room
    this.wanted = new Map();    // columns that the reader chose, or chose not to see
    this.varying = new Set(this.columns.filter((column) => new Set(data.map(column.get)).size > 1 || data.length === 1));
    this.element = this.make();
    all_tables.push(this);
    if (more.rows) on_filter(() => this.select());
    this.draw();
    let width = 0;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      this.fit(true);
    }).observe(this.box);
  }

  make() {
    const button = (text, click, title) => element('button', {type: 'button', title, click}, text);
    this.body = element('tbody');
    this.count = element('span', {class: 'count', role: 'status'});
    this.printed = paragraph([], 'printed soft');
    this.heads = this.columns.map((column) => element(
        'th', {scope: 'col', class: column.right ? 'right' : null, 'aria-sort': 'none'},
        button(column.title, () => this.sort(column), 'Sort by ' + column.title)));
    this.corner = element('th', {scope: 'col', class: 'opener'}, element('span', {class: 'unseen'}, 'More of the row'));
    this.previous = button('Previous', () => this.draw(this.page - 1));
    this.next = button('Next', () => this.draw(this.page + 1));
    this.table = element(
        'table', {}, element('caption', {hidden: true}, this.caption),
        element('thead', {}, element('tr', {}, this.corner, this.heads)), this.body);
    this.box = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': this.caption}, this.table);
    this.chooses = this.data.length > 8 && !this.more.rows ? this.search() : null;
    const tools = [this.chooses ? this.chooses.fields : null, this.chooser(), this.count, this.previous, this.next];
    return element('div', {class: 'table'}, this.common(), element('div', {class: 'tools'}, tools), this.box, this.printed);
  }
  // The values that all rows share, said once.
  common() {
    const parts = this.folded.map((column) => [column, column.get(this.data[0])])
                      .filter(([, got]) => got !== '' && got !== null)
                      .map(([column, got]) => column.bare ? got : column.title.toLowerCase() + ' ' + got);
    return parts.length ? paragraph('All rows: ' + parts.join(' \u00b7 '), 'soft') : null;
  }
  // The list of columns, each with a box to tick.
  chooser() {
    this.choosing = element('summary', {}, 'Columns');
    this.choices = this.columns.map((column) => element('input', {
      type: 'checkbox',
      change: (event) => {
        this.wanted.set(column, event.target.checked);
        this.draw();
      }
    }));
    if (this.columns.length <= 4) return null;
    const list = this.columns.map((column, i) => element('label', {}, this.choices[i], ' ' + column.title));
    return element('details', {class: 'columns'}, this.choosing, element('div', {class: 'choice'}, list));
  }
  // A search field, and menus of the columns that are to be chosen from.
  search() {
    const menus = this.columns.filter((column) => column.choose).map(({title, get}) => ({
      title,
      get,
      options: (values) => [['', title + ': all'], ...values.map((value) => [value, value || 'none'])]
    }));
    const text = (row, column) =>
        paragraph(this.shown_of(column, row)).textContent + ' ' + (column.find ? column.find(row) : '');
    const text_of = (row) => this.columns.map((column) => text(row, column)).join(' ');
    return choosing_fields(
        this.data, 'Filter: words that a row must hold', 'Filter ' + this.caption, menus, text_of, () => this.select());
  }

  shown_of(column, row) {
    const got = column.get(row), shown = column.show ? column.show(got, row) : got;
    if (shown === null || shown === undefined || shown === '') return '\u2013';
    if (column.mark && known(got)) return shown + column.mark(row);
    return column.wide && typeof shown === 'string' ? breakable(shown) : shown;
  }
  cell(column, row) {
    const got = column.get(row), digits = column.right && known(got) || column.short;
    const title = column.tip ? column.tip(row) : digits ? String(got) : null;
    return element('td', {class: column.kinds, title}, this.shown_of(column, row));
  }
  visible(column) {
    return this.wanted.get(column) ?? (!column.aside && !this.left_out.has(column));
  }
  // The columns of a row that are not shown, or not in full.
  details(row) {
    const list = this.columns.filter((column) => !this.visible(column) || column.short);
    const parts = list.flatMap((column) => [element('dt', {}, column.title), element('dd', {}, this.shown_of(column, row))]);
    return element('tr', {class: 'details'}, element('td', {colspan: this.columns.length + 1}, element('dl', {}, parts)));
  }
  line(row) {
    const click = () => {
      if (!this.open.delete(row)) this.open.add(row);
      this.draw();
      this.body.querySelectorAll('.opener button')[this.shown.indexOf(row) - this.page * page_rows].focus();
    };
    const open = this.open.has(row);
    const opener = element('button', {type: 'button', 'aria-label': 'More of this row', 'aria-expanded': String(open), click});
    const cells = this.columns.map((column) => this.cell(column, row));
    const line = element('tr', {}, element('td', {class: 'opener'}, opener), cells);
    return open ? [line, this.details(row)] : [line];
  }
  // The distinguishing values of a row whose columns have no room: a second line below it.
  under(row, columns) {
    const most_numbers = 3, numbers = columns.filter(({right}) => right).slice(0, most_numbers);
    const told = columns.filter((column) => !column.right || numbers.includes(column))
                     .filter((column) => ![null, ''].includes(column.get(row)))
                     .map((column) => [column.bare || column.wide ? '' : column.title + ' ', this.shown_of(column, row)]);
    const is_list = ([, shown]) => shown.tagName === 'UL';
    const parts = told.flatMap((part, i) => i && !is_list(part) ? [' \u00b7 ', ...part] : part);
    return element('tr', {class: 'under'}, element('td', {class: 'opener'}), element('td', {colspan: this.columns.length}, parts));
  }
  show_under() {
    this.body.querySelectorAll('tr.under').forEach((line) => line.remove());
    const narrow = this.box.clientWidth < 640;
    const columns = printing ? [] : this.columns.filter((column) => this.left_out.has(column) && this.varying.has(column) &&
        (narrow || !column.right && !column.short && column.kinds !== 'wide'));
    const shown = this.shown.slice(this.page * page_rows), lines = this.body.querySelectorAll('tr:not(.details)');
    lines.forEach((line, i) => {
      line.classList.toggle('has-under', columns.length > 0);
      if (columns.length) line.after(this.under(shown[i], columns));
    });
  }

  select() {
    const chosen = this.chooses ? this.chooses.chosen() : (row) => !this.more.rows || this.more.rows(row).some(passes);
    this.shown = this.data.filter(chosen);
    if (this.sorted) this.put_in_order();
    this.draw(0);
    if (this.more.changed) this.more.changed(this.shown);
  }
  // Rows without a value stand last, whichever way; equal ones stay as they were given.
  put_in_order() {
    const key = new Map(this.shown.map((row) => [row, this.sorted.get(row)])), sign = this.down ? -1 : 1;
    this.shown.sort((a, b) => {
      const x = key.get(a), y = key.get(b);
      if (x === null || y === null) return (x === null) - (y === null);
      const numbers = typeof x === 'number' && typeof y === 'number';
      return sign * (numbers ? x - y : String(x).localeCompare(String(y), 'en', {numeric: true}));
    });
  }
  sort(column) {
    this.down = this.sorted === column ? !this.down : Boolean(column.down);
    this.sorted = column;
    const way = this.down ? 'descending' : 'ascending';
    this.heads.forEach((head, i) => head.setAttribute('aria-sort', this.columns[i] === column ? way : 'none'));
    this.select();
  }

  draw(page = this.page, most = page_rows) {
    this.page = page;
    const start = page * page_rows, part = this.shown.slice(start, start + most);
    this.body.replaceChildren(...part.flatMap((row) => this.line(row)));
    const pages = Math.ceil(this.shown.length / page_rows);
    this.count.textContent = part_of(this.shown.length, this.data.length, 'row') +
        (pages > 1 ? ', ' + (start + 1) + '\u2013' + (start + part.length) + ' shown' : '');
    this.previous.disabled = page === 0;
    this.next.disabled = page + 1 >= pages;
    this.previous.hidden = this.next.hidden = this.data.length <= page_rows;
    this.fit(false);
  }
  show_columns() {
    this.columns.forEach((column, i) => {
      const visible = this.choices[i].checked = this.visible(column);
      for (const row of [this.corner.parentNode, ...this.body.querySelectorAll('tr:not(.details, .under)')])
        row.children[i + 1].hidden = !visible;
    });
    const hidden = this.choices.filter((choice) => !choice.checked).length;
    this.choosing.textContent = 'Columns' + (hidden ? ' (' + hidden + ' more)' : '');
    this.table.classList.toggle('plain', hidden === 0 && !this.columns.some((column) => column.short));
  }
  // Leaves out the last columns until the table is no wider than its place; those that are to be kept go last, long ones first
  // of them (an id, a file), since they read well in the line below.
  fit(anew) {
    if (anew) this.left_out.clear();
    this.show_under();
    this.show_columns();
    if (!this.box.clientWidth || printing) return;
    const may_go = this.columns.filter((column) => !column.aside && !this.wanted.has(column)).reverse();
    const turn = ({keep, wide, short}) => !keep ? 0 : wide ? 1 : short ? 2 : 3;
    for (const column of may_go.sort((a, b) => turn(a) - turn(b))) {
      if (this.table.scrollWidth <= this.box.clientWidth) break;
      if (!this.visible(column) || this.columns.filter((other) => this.visible(other)).length === 1) continue;
      this.left_out.add(column);
      this.show_columns();
    }
    this.show_under();
  }

  print() {
    this.left_out.clear();  // paper is small print, and cannot be opened
    this.draw(0, print_rows);
    this.printed.textContent = this.shown.length > print_rows ?
        'The first ' + print_rows + ' of ' + this.shown.length +
            ' rows are printed; filter the table on the screen for others.' :
        '';
  }
}

// The list of columns closes when something else is clicked.
document.addEventListener('click', (event) => {
  for (const list of document.querySelectorAll('details.columns[open]'))
    if (!list.contains(event.target)) list.open = false;
});

let printing = false;
window.addEventListener('beforeprint', () => {
  printing = true;
  for (const closed of document.querySelectorAll('details.fold:not([open])')) {
    closed.open = true;
    closed.dataset.closed = 'true';
  }
  all_tables.forEach((table) => table.print());
});
window.addEventListener('afterprint', () => {
  printing = false;
  all_tables.forEach((table) => table.draw());
  for (const closed of document.querySelectorAll('details[data-closed]')) {
    closed.open = false;
    delete closed.dataset.closed;
  }
});
