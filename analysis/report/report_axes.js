// Axes whose ticks can be read, and labels that do not lie on one another.

// Okabe and Ito's palette without its yellow, which white paper swallows; lighter where the system wishes for a dark page.
// `look` is that of the screen, and that of paper while the page is printed.
const looks = {
  light: {
    colours: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'],
    paper: '#ffffff', ink: '#1b1f24', grey: '#57606a', note: '#3d444d', veil: '#ffffffd9', grid: '#e6eaee', zero: '#b8c0c8',
    arrow: '#8c959f', outside: '#a33c00', heat: ['#f0a06a', '#f7f7f7', '#76b5de']
  },
  dark: {
    colours: ['#4ea8de', '#f0803c', '#2dc99a', '#e39cc4', '#f0b429', '#9ad6f5', '#e6eaef'],
    paper: '#14181d', ink: '#e6eaef', grey: '#a3adb8', note: '#c3ccd5', veil: '#14181dd9', grid: '#272e36', zero: '#4a545f',
    arrow: '#7a8590', outside: '#ff9e64', heat: ['#a3541f', '#2a3139', '#2f6f9f']
  }
};
const wishes_dark = window.matchMedia('(prefers-color-scheme: dark)');
let look = looks.light;
function choose_look() {
  look = wishes_dark.matches && !printing ? looks.dark : looks.light;
}
choose_look();
// A narrow page gives all room to the data: names stand in the legend, the pointer tells the rest.
const is_narrow = (width) => width < 640;

const axis = (title, more) => ({
  title: {text: title, standoff: 14},
  gridcolor: look.grid,
  zerolinecolor: look.zero,
  linecolor: look.grey,
  ticks: 'outside',
  automargin: true,
  ...more
});
// Some 9 ticks at most from `low` to `high`: powers of ten, with 2 and 5 between them where there is room. Undefined where
// the range is so short that Plotly's own ticks, which are even, are better.
function log_ticks(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), decades = Math.log10(high / low);
  const powers = (every, digits) => Array.from({length: last - first + 1}, (_, i) => first + i)
                                        .filter((power) => power % every === 0)
                                        .flatMap((power) => digits.map((digit) => Number(digit + 'e' + power)))
                                        .filter((value) => value >= low * 0.999 && value <= high * 1.001);
  if (decades < 0.8) return undefined;
  return decades < 3 ? powers(1, [1, 2, 5]) : powers(Math.ceil(decades / 8), [1]);
}
// A logarithmic axis over all of `values`.
function log_axis(title, values, tickformat = '.4~r') {
  const good = values.filter((value) => known(value) && value > 0);
  if (!good.length) return axis(title, {range: [0, 1], showticklabels: false, showgrid: false, zeroline: false});
  const room = 1.25, low = Math.min(...good) / room, high = Math.max(...good) * room;
  const range = [Math.log10(low), Math.log10(high)];
  return axis(title, {type: 'log', range, tickvals: log_ticks(low, high), tickformat});
}
// Counts (of ranks, of images, of bytes) on a logarithmic axis: those that have room. `counts` are in their order.
function count_axis(title, counts, text = String, room = 0.05) {
  const whole = Math.log(counts[counts.length - 1] / counts[0]) || 1, ticks = [];
  for (const count of counts)
    if (!ticks.length || Math.log(count / ticks[ticks.length - 1]) / whole > room) ticks.push(count);
  return axis(title, {type: 'log', tickvals: ticks, ticktext: ticks.map(text)});
}

const is_disturbed = (point) => point.mark === '!' || point.mark === '\u00b0';
// The numbers of a list without outliers, which would flatten the rest: an outlier is beyond 5 quartile ranges, and a
// whole median, from the quartiles. All of fewer than 5.
function without_outliers(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), quantile = (part) => sorted[Math.round(part * (sorted.length - 1))];
  if (sorted.length < 5) return sorted;
  const low = quantile(0.25), high = quantile(0.75), most = 5 * Math.max(high - low, 0.2 * Math.abs(quantile(0.5)));
  return sorted.filter((number) => number >= low - most && number <= high + most);
}
// The range of an axis that follows the medians of what nothing disturbed, so that neither one row of a busy moment nor one
// long interval flattens the rest. `ends`: the ends of an item's interval; of few intervals it shows what does not double the
// range. Undefined where Plotly's own range shows all.
function view_range(list, value, disturbed, from_zero, ends = () => []) {
  const medians = list.filter((item) => known(value(item))), quiet = medians.filter((item) => !disturbed(item));
  const calm = quiet.length ? quiet : medians, typical = without_outliers(calm.map(value));
  if (!typical.length) return undefined;
  const first = from_zero ? Math.min(0, ...typical) : typical[0], last = typical[typical.length - 1];
  const most = ((last - first) || 0.5 * Math.abs(last) || 1) / 2, reach = calm.flatMap(ends).filter(known);
  const near = reach.length < 10 ? reach.filter((end) => end >= first - most && end <= last + most) : without_outliers(reach);
  const low = from_zero ? Math.min(0, ...typical, ...near) : Math.min(...typical, ...near), high = Math.max(...typical, ...near);
  const room = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1;
  const range = [from_zero && low === 0 ? 0 : low - room, high + room];
  const all = [...medians.map(value), ...list.flatMap(ends)].filter(known);
  return Math.min(...all) < range[0] || Math.max(...all) > range[1] ? range : undefined;
}
const ranged = (range, otherwise) => range ? {...otherwise, rangemode: 'normal', range} : otherwise;
const outside = (range, one) => Boolean(range) && known(one) && (one < range[0] || one > range[1]);
// A value outside the range of the y axis is a triangle at the edge, with the value beside it. `text`: as of series_of.
function edge_marks(list, x, value, text, range) {
  const far = list.filter((item) => outside(range, value(item)));
  if (!far.length) return [];
  const up = (item) => value(item) > range[1];
  return [series_of(far, x, (item) => range[up(item) ? 1 : 0], text, {
    name: 'outside the axis, with its value',
    showlegend: true,
    cliponaxis: false,
    marker: {symbol: far.map((item) => up(item) ? 'triangle-up' : 'triangle-down'), size: 11, color: look.outside}
  })];
}
// The values beside them, on lines of their own where they would lie on one another; where three lines are full, the
// pointer tells the value. `drawn`: the layout that came out.
function edge_labels(list, x, value, show, range, drawn) {
  const most_lines = 3, size = 11;
  return [1, -1].flatMap((sign) => {
    const far = list.filter((item) => outside(range, value(item)) && (value(item) > range[1]) === (sign === 1));
    const named = far.map((item) => {
      const long = text_width(show(item), size) + 8, at = drawn.xaxis.d2p(x(item)), left = at + long + 12 > drawn._size.w;
      return {item, left, from: left ? at - long - 10 : at + 4, to: left ? at - 4 : at + long + 10};
    });
    const lines_of = levels(named, 4);
    return named.filter((_, i) => lines_of[i] < most_lines).map(({item, left}) => ({
      x: drawn.xaxis.type === 'log' ? Math.log10(x(item)) : x(item),
      y: range[sign === 1 ? 1 : 0],
      text: safe(show(item)),
      showarrow: false,
      xanchor: left ? 'right' : 'left',
      yanchor: sign === 1 ? 'top' : 'bottom',
      xshift: left ? -7 : 7,
      yshift: sign * (-2 - 14 * lines_of[named.findIndex((one) => one.item === item)]),
      font: {size, color: look.ink}
    }));
  });
}
// A second axis over the same plot that counts nothing: where marks stand that have no number on the first one.
const bare_axis = (over) => ({overlaying: over, range: [0, 1], visible: false, fixedrange: true});

// Places from `low` to `high` that are near the wanted ones and at least `gap` apart, in their order.
function spread(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]), places = wanted.slice();
  let least = low, most = high;
  for (const i of order) least = (places[i] = Math.max(wanted[i], least)) + gap;
  for (const i of order.reverse()) most = (places[i] = Math.min(places[i], most)) - gap;
  return places;
}
// The same for the heights of labels, none of which lies on a line at the height `at`, if there is room.
function off_the_line(wanted, gap, high, at) {
  const half = gap / 2, most = high - half;
  const below = [half, Math.min(at - half - 2, most)], above = [Math.max(half, at + half + 2), most];
  const all = wanted.map((_, i) => i), low = all.filter((i) => wanted[i] < at), rest = all.filter((i) => wanted[i] >= at);
  const fits = (part, [from, to]) => !part.length || (part.length - 1) * gap <= to - from;
  // Near the edge of the plot one side may have no room.
  for (const [under, over] of [[low, rest], [[], all], [all, []]]) {
    if (!fits(under, below) || !fits(over, above)) continue;
    const places = [];
    for (const [part, [from, to]] of [[under, below], [over, above]])
      spread(part.map((i) => wanted[i]), gap, from, to).forEach((height, i) => places[part[i]] = height);
    return places;
  }
  return spread(wanted, gap, half, most);
}
// Columns of the points that stand close by each other, {list, edge, anchor}: their labels are all at the right of the
// column, or all at its left, where they lie on none of the points at `taken`, on no other label, and not beyond `most`.
// Neighbours of which one has no such side become one column.
function label_columns(points, across, taken, width, most) {
  const columns = [];
  for (const point of [...points].sort((a, b) => across(a) - across(b))) {
    const last = columns[columns.length - 1];
    if (last && across(point) - across(last[last.length - 1]) < 24)
      last.push(point);
    else
      columns.push([point]);
  }
  for (;;) {
    const placed = sided(columns, across, taken, width, most), stuck = placed.findIndex((column) => !column.free);
    if (stuck < 0 || columns.length === 1) return placed;
    const first = Math.min(stuck, columns.length - 2);
    columns.splice(first, 2, [...columns[first], ...columns[first + 1]]);
  }
}
function sided(columns, across, taken, width, most) {
  const gap = 16, near = 8, placed = [];
  const free = ({from, to}) => from >= 0 && to <= most && !taken.some((x) => x > from - near && x < to + near) &&
      !placed.some((other) => from < other.to + near && to > other.from - near);
  for (const list of [...columns].reverse()) {
    const wide = Math.max(...list.map(width)) + 4;
    const low = across(list[0]) - gap, high = across(list[list.length - 1]) + gap;
    const right = {list, edge: high, anchor: 'left', from: high, to: high + wide};
    const left = {list, edge: low, anchor: 'right', from: low - wide, to: low};
    const side = [right, left].find(free);
    placed.unshift({...(side || right), free: Boolean(side)});
  }
  return placed;
}
// The lowest line for each stretch {from, to} on which it meets none before it.
function levels(stretches, gap) {
  const ends = [];
  return stretches.map(({from, to}) => {
    let level = ends.findIndex((end) => end.every((taken) => to + gap < taken.from || from > taken.to + gap));
    if (level < 0) level = ends.push([]) - 1;
    ends[level].push({from, to});
    return level;
  });
}
const measuring = typeof document.createElement === 'function' ? document.createElement('canvas').getContext('2d') : null;
function text_width(text, size) {
  if (!measuring) return 0.65 * size * text.length;
  measuring.font = size + 'px ' + getComputedStyle(document.body).fontFamily;
  return measuring.measureText(text).width;
}
