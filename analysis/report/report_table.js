// A table that sorts, filters and folds: one page of its rows is in the document at a time, and as many columns as the
// page is wide. What is not shown of a row stands below it when it is opened.

const page_rows = 25, print_rows = 1000;
const all_tables = [];

// columns: {title, get(row) -> value to sort by, show(row) -> text or node, tip(row), right, wide, kind,
//   choose: a menu of its values, fold: said once where all rows have it, keep: never left out for want of room,
//   aside: only below the row unless it is chosen}
// more: {rows(item) -> indices of the rows that the filter of the page judges it by; changed(shown) after each filter}
function data_table(caption, columns, data, more = {}) {
  return new DataTable(caption, columns, data, more).element;
}

class DataTable {
  constructor(caption, columns, data, more) {
    Object.assign(this, {caption, data, more, words: '', menus: new Map(), page: 0, down: false, sorted: null, shown: data});
    const same = (column) => column.fold && new Set(data.map(column.get)).size === 1;
    this.folded = data.length > 1 ? columns.filter(same) : [];
    this.columns = columns.filter((column) => !this.folded.includes(column));
    this.open = new Set();      // rows
    this.left_out = new Set();  // columns for which there is no room
    this.wanted = new Map();    // columns that the reader chose, or chose not to see
    this.searched = new Map();  // texts of rows, made when first asked for
    this.order = new Map(data.map((row, i) => [row, i]));
    this.element = this.make();
    all_tables.push(this);
    if (more.rows) on_filter(() => this.select());
    this.draw(page_rows);
    let width = 0;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      this.fit(true);
    }).observe(this.box);
  }

  make() {
    this.body = element('tbody');
    this.count = element('span', {class: 'count', role: 'status'});
    this.printed = element('p', {class: 'printed soft'});
    this.heads = this.columns.map(
        (column) => element(
            'th', {scope: 'col', class: column.right ? 'right' : null, 'aria-sort': 'none'},
            element('button', {type: 'button', title: 'Sort by ' + column.title, click: () => this.sort(column)}, column.title)));
    this.corner = element('th', {scope: 'col', class: 'opener'}, element('span', {class: 'unseen'}, 'More of the row'));
    this.previous = element('button', {type: 'button', click: () => this.turn(-1)}, 'Previous');
    this.next = element('button', {type: 'button', click: () => this.turn(1)}, 'Next');
    this.table = element(
        'table', {}, element('caption', {hidden: true}, this.caption),
        element('thead', {}, element('tr', {}, this.corner, this.heads)), this.body);
    this.box = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': this.caption}, this.table);
    const searches = this.data.length > 8 && !this.more.rows ? this.searches() : [];
    const tools =
        element('div', {class: 'tools'}, searches, this.chooser(), this.count, this.previous, this.next);
    return element('div', {class: 'table'}, this.common(), tools, this.box, this.printed);
  }
  // What all rows share, said once.
  common() {
    const parts = this.folded.map((column) => [column, column.get(this.data[0])])
                      .filter(([, got]) => got !== '' && got !== null)
                      .map(([column, got]) => column.bare ? got : column.title.toLowerCase() + ' ' + got);
    return parts.length ? element('p', {class: 'soft'}, 'All rows: ' + parts.join(' \u00b7 ')) : null;
  }
  // The list of columns, each with a box to tick.
  chooser() {
    this.choosing = element('summary', {}, 'Columns');
    this.choices = this.columns.map((column) => {
      const choice = element('input', {
        type: 'checkbox',
        change: () => {
          this.wanted.set(column, choice.checked);
          this.draw(page_rows);
        }
      });
      return [column, choice];
    });
    const list = this.choices.map(([column, choice]) => element('label', {}, choice, ' ' + column.title));
    return this.columns.length > 4 ?
        element('details', {class: 'columns'}, this.choosing, element('div', {class: 'choice'}, list)) :
        null;
  }
  // A search field, and menus of the columns that are to be chosen from.
  searches() {
    const search = element(
        'input', {type: 'search', placeholder: 'Filter: words that a row must hold', 'aria-label': 'Filter ' + this.caption});
    let timer = null;
    search.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.words = search.value;
        this.select();
      }, 120);
    });
    const made = [search];
    for (const column of this.columns.filter((candidate) => candidate.choose)) {
      const values = [...new Set(this.data.map((row) => String(this.value(column, row))))].sort();
      if (values.length < 2 || values.length > 60) continue;
      const change = (event) => {
        this.menus.set(column, event.target.value);
        this.select();
      };
      made.push(element(
          'select', {'aria-label': column.title, change}, element('option', {value: ''}, column.title + ': all'),
          values.map((choice) => element('option', {value: choice}, choice === '' ? 'none' : choice))));
    }
    return made;
  }

  value(column, row) {
    return column.get(row) ?? null;
  }
  shown_of(column, row) {
    const shown = column.show ? column.show(row) : this.value(column, row);
    if (shown === null || shown === undefined || shown === '') return '\u2013';
    return column.wide && typeof shown === 'string' ? breakable(shown) : shown;
  }
  cell(column, row) {
    const got = this.value(column, row), digits = column.right && known(got) || column.kind === 'short';
    const tip = column.tip ? column.tip(row) : digits ? String(got ?? '') : null;
    const kinds = [column.right ? 'right' : '', column.wide ? 'wide' : '', column.kind || ''];
    return element('td', {class: kinds.filter(Boolean).join(' ') || null, title: tip}, this.shown_of(column, row));
  }
  visible(column) {
    return this.wanted.get(column) ?? (!column.aside && !this.left_out.has(column));
  }
  // What its columns do not show of a row.
  details(row) {
    const list =
        this.columns.filter((column) => !this.visible(column) || column.kind === 'short')
            .flatMap((column) => [element('dt', {}, column.title), element('dd', {}, this.shown_of(column, row))]);
    return element('tr', {class: 'details'}, element('td', {colspan: this.columns.length + 1}, element('dl', {}, list)));
  }
  line(row) {
    const opener = element('button', {
      type: 'button',
      'aria-label': 'More of this row',
      'aria-expanded': this.open.has(row) ? 'true' : 'false',
      click: () => {
        if (!this.open.delete(row)) this.open.add(row);
        this.draw(page_rows);
        [...this.body.querySelectorAll('.opener button')][this.shown.indexOf(row) - this.page * page_rows].focus();
      }
    });
    const made = element(
        'tr', {}, element('td', {class: 'opener'}, opener), this.columns.map((column) => this.cell(column, row)));
    return this.open.has(row) ? [made, this.details(row)] : [made];
  }

  text_of(row) {
    if (!this.searched.has(row)) {
      const texts = this.columns.map(
          (column) => element('p', {}, this.shown_of(column, row)).textContent + ' ' + (column.find ? column.find(row) : ''));
      this.searched.set(row, texts.join(' ').toLowerCase());
    }
    return this.searched.get(row);
  }
  select() {
    const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = this.data.filter((row) => {
      if (this.more.rows && !this.more.rows(row).some(passes)) return false;
      for (const [column, chosen] of this.menus)
        if (chosen !== '' && String(this.value(column, row)) !== chosen) return false;
      return words.every((word) => this.text_of(row).includes(word));
    });
    if (this.sorted) this.put_in_order();
    this.page = 0;
    this.draw(page_rows);
    if (this.more.changed) this.more.changed(this.shown);
  }
  put_in_order() {
    // What has no value stands last, whichever way.
    const key = new Map(this.shown.map((row) => [row, this.value(this.sorted, row)])), sign = this.down ? -1 : 1;
    const as_given = (a, b) => this.order.get(a) - this.order.get(b);
    this.shown.sort((a, b) => {
      const x = key.get(a), y = key.get(b);
      if (x === null || y === null) return x === y ? as_given(a, b) : x === null ? 1 : -1;
      const numbers = typeof x === 'number' && typeof y === 'number';
      const by = numbers ? x - y : String(x).localeCompare(String(y), 'en', {numeric: true});
      return by === 0 ? as_given(a, b) : sign * by;
    });
  }
  sort(column) {
    this.down = this.sorted === column ? !this.down : Boolean(column.down);
    this.sorted = column;
    const way = this.down ? 'descending' : 'ascending';
    this.heads.forEach((head, i) => head.setAttribute('aria-sort', this.columns[i] === column ? way : 'none'));
    this.select();
  }
  turn(by) {
    this.page += by;
    this.draw(page_rows);
  }

  draw(most) {
    const from = this.page * page_rows, part = this.shown.slice(from, from + most);
    this.body.replaceChildren(...part.flatMap((row) => this.line(row)));
    const pages = Math.ceil(this.shown.length / page_rows), all = this.shown.length === this.data.length;
    this.count.textContent = (all ? '' : this.shown.length + ' of ') + plural(this.data.length, 'row') +
        (pages > 1 ? ', ' + (from + 1) + '\u2013' + (from + part.length) + ' shown' : '');
    this.previous.disabled = this.page === 0;
    this.next.disabled = this.page + 1 >= pages;
    this.previous.hidden = this.next.hidden = this.data.length <= page_rows;
    this.fit(false);
  }
  show_columns() {
    this.columns.forEach((column, i) => {
      for (const row of [this.corner.parentNode, ...this.body.querySelectorAll('tr:not(.details)')])
        row.children[i + 1].hidden = !this.visible(column);
    });
    const hidden = this.columns.filter((column) => !this.visible(column)).length;
    this.choosing.textContent = 'Columns' + (hidden ? ' (' + hidden + ' more)' : '');
    this.choices.forEach(([column, choice]) => choice.checked = this.visible(column));
    this.table.classList.toggle('plain', hidden === 0 && !this.columns.some((column) => column.kind === 'short'));
  }
  // Leaves out the last columns until the table is no wider than its place.
  fit(anew) {
    if (anew) this.left_out.clear();
    this.show_columns();
    if (!this.box.clientWidth || printing) return;
    const may_go = this.columns.filter((column) => !column.keep && !column.aside && !this.wanted.has(column));
    for (const column of may_go.reverse()) {
      if (this.table.scrollWidth <= this.box.clientWidth) break;
      if (!this.visible(column)) continue;
      this.left_out.add(column);
      this.show_columns();
    }
  }

  print() {
    this.page = 0;
    this.left_out.clear();  // paper is small print, and cannot be opened
    this.draw(print_rows);
    this.printed.textContent = this.shown.length > print_rows ?
        'The first ' + print_rows + ' of ' + this.shown.length +
            ' rows are printed; filter the table on the screen for others.' :
        '';
  }
  back() {
    this.draw(page_rows);
  }
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
