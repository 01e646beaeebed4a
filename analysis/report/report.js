// The sections of the page, in the order in which a reader needs them. A part without data is left out.

const seconds = (value) => human(value, "s");
function dual(value, show) { return element("span", { title: known(value) ? String(value) : null }, show(value)); }
function notes_of(document) {
  const list = (document.notes || []).filter(Boolean);
  return list.length ? element("div", { class: "notice" }, list.map((one) => element("p", {}, one))) : null;
}
function source_of(document) {
  return element("p", { class: "soft" }, document.file, document.command ? [" \u00b7 ", element("code", {}, document.command)] : null);
}
function each(list) { return list || []; }

function heading() {
  document.getElementById("head").append(element("h1", {}, report.title),
    element("p", { class: "soft" }, "Made " + report.made + " by Assay " + report.version + " from " + report.files.length + (report.files.length === 1 ? " file" : " files") +
      ". A row counts as ok only when its result was verified before and after timing; any other row has no number."));
}

function summary() {
  const counts = report.counts || {}, list = [];
  if (report.counts) {
    list.push(tile(counts.ok, "rows ok", "good"));
    for (const [name, mood] of [["incorrect", "bad"], ["failed", "bad"], ["timeout", "bad"], ["unsupported", "mid"]])
      if (counts[name] > 0) list.push(tile(counts[name], name, mood));
    if (counts.published > 0) list.push(tile(counts.published, "of them published, not measured", ""));
  }
  const made = section("summary", "Summary and verdicts", tiles(...list));
  for (const one of each(report.comparison)) {
    const sum = one.summary || {};
    made.append(element("h3", {}, "Comparison: " + one.new.name + " (" + one.new.system + ") against " + one.base.name + " (" + one.base.system + ")"));
    if (one.allow_mismatch && each(one.mismatches).length) made.append(element("p", { class: "problem" }, "Compared by --allow-mismatch although more differed than was meant: " + one.mismatches.map((m) => m.field).join(", ")));
    if (one.refused) made.append(element("p", { class: "problem" }, "Refused: more differed than was meant (" + each(one.mismatches).map((m) => m.field).join(", ") + "). Nothing was compared."));
    made.append(tiles(tile(sum.slower, "slower", sum.slower > 0 ? "bad" : ""), tile(sum.faster, "faster", sum.faster > 0 ? "good" : ""), tile(sum.same, "same", ""), tile(sum.inconclusive, "inconclusive", sum.inconclusive > 0 ? "mid" : ""),
      one.only_base && one.only_base.length ? tile(one.only_base.length, "vanished", "bad") : null, one.only_new && one.only_new.length ? tile(one.only_new.length, "new", "") : null,
      one.geometric_mean ? tile(times(one.geometric_mean.speedup), "geometric mean speedup, " + one.geometric_mean.rows + " of " + one.geometric_mean.of + " rows", "") : null));
    if (!one.geometric_mean && one.geometric_mean_reason) made.append(element("p", { class: "soft" }, "No geometric mean: " + one.geometric_mean_reason));
  }
  for (const one of each(report.acceptance)) {
    const verdicts = count_of(one.nodes, "verdict");
    made.append(element("h3", {}, "Acceptance"), tiles(...["PASS", "PERF-FAIL", "INCORRECT", "MISSING"].filter((name) => verdicts.get(name)).map((name) => tile(verdicts.get(name), name, moods[name]))));
    const bad = each(one.nodes).filter((node) => node.verdict !== "PASS");
    if (bad.length) made.append(element("p", {}, bad.slice(0, 20).map((node) => [badge(node.verdict), " " + node.node + " \u2002"]), bad.length > 20 ? "and " + (bad.length - 20) + " more" : ""));
  }
  for (const one of each(report.history)) {
    const states = count_of(one.series, "state");
    made.append(element("h3", {}, "History"), tiles(...[...states].map(([name, count]) => tile(count, name, moods[name]))));
  }
  if (counts.shared > 0) made.append(element("p", { class: "notice" }, "! Other work wanted the processors while " + counts.shared + " rows were timed: their times are upper limits. Repeat them on a quiet machine."));
  if (report.several_environments) made.append(element("p", { class: "notice" }, "One id stands more than once: the hardware or the software of its launches differed, and such launches are never brought to one number."));
  if (report.plotly_reason) made.append(element("p", { class: "notice" }, "Plots are left out (" + report.plotly_reason + "). The tables hold every number."));
  const bad = rows.filter((row) => row.status !== "ok");
  if (bad.length) made.append(element("h3", {}, "Rows without a result"), data_table("Rows without a result", [
    { title: "Status", get: (row) => row.status, show: (row) => badge(row.status), choose: true }, ...work_columns(), { title: "Reason", get: (row) => row.reason, wide: true }], bad));
}

function work_columns() {
  const several = new Set(rows.map((row) => row.system)).size > 1;
  return [several ? { title: "System", get: (row) => row.system, choose: true } : null, { title: "Problem", get: (row) => row.problem, tip: (row) => row.id, find: (row) => row.id },
    { title: "Benchmark", get: (row) => row.benchmark, choose: true }, { title: "Direction", get: (row) => row.direction, choose: true }, { title: "Precision", get: (row) => row.precision, choose: true },
    { title: "Backend", get: (row) => row.backend, choose: true }, { title: "Algorithm", get: (row) => row.algorithm }].filter(Boolean)
    .filter((column) => column.title === "Problem" || column.title === "System" || rows.some((row) => column.get(row) !== ""));
}
function time_column() {
  return { title: "Time", right: true, get: (row) => row.median, show: (row) => seconds(row.median) + (row.published ? "*" : row.shared ? "!" : ""),
    tip: (row) => !known(row.median) ? row.reason : row.median + " s" + (row.published ? " (published: no interval)" : row.shared ? " (other work wanted the processors)" : "") };
}
function of_row(columns) { return columns.map((column) => ({ ...column, get: (one) => column.get(rows[one.row]), show: column.show && ((one) => column.show(rows[one.row])), tip: column.tip && ((one) => column.tip(rows[one.row])), find: column.find && ((one) => column.find(rows[one.row])) })); }

function comparisons() {
  each(report.comparison).forEach((one, i) => {
    const made = section("comparison" + (i || ""), "Comparison, row by row", source_of(one), element("p", {}, "Ratio of launch medians, new over base time: above 1 is slower. Meant to vary: " + one.vary + ". Stage: " + one.stage + "."), notes_of(one));
    if (each(one.rows).length) made.append(data_table("Comparison", [
      { title: "Verdict", get: (row) => row.verdict || "no verdict", show: (row) => badge(row.verdict || "no verdict"), tip: (row) => row.reason, choose: true },
      { title: "Row", get: (row) => row.id, wide: true, find: (row) => each(row.names).join(" ") },
      { title: "Base", right: true, get: (row) => row.base.median, show: (row) => seconds(row.base.median) + (row.published ? "*" : "") }, { title: "New", right: true, get: (row) => row.new.median, show: (row) => seconds(row.new.median) + (row.published ? "*" : "") },
      { title: "Change", right: true, get: (row) => row.ratio, show: (row) => change(row.ratio) },
      { title: "Interval", right: true, get: (row) => row.interval ? row.interval[0] : null, show: (row) => row.interval ? range(row.interval[0], row.interval[1], change) : "\u2013", tip: (row) => row.interval ? row.interval.join(" \u2026 ") : null },
      { title: "p", right: true, get: (row) => row.p, show: (row) => known(row.p) ? Number(row.p.toPrecision(2)).toString() : "\u2013" },
      { title: "Detectable", right: true, get: (row) => row.minimum_detectable, show: (row) => percent(row.minimum_detectable) },
      { title: "Launches", right: true, get: (row) => row.base.launches, show: (row) => row.base.launches + " + " + row.new.launches },
      { title: "Stage", get: (row) => row.stage }, { title: "Reason", get: (row) => row.reason || "", wide: true }], one.rows));
    const lone = [...each(one.only_base).map((row) => ({ ...row, what: "only in base (vanished)" })), ...each(one.only_new).map((row) => ({ ...row, what: "only in new" })), ...each(one.not_compared).map((row) => ({ ...row, what: "not compared", status: row.base_status && row.base_status + " / " + row.new_status }))];
    if (lone.length) made.append(element("h3", {}, "Rows without a ratio"), data_table("Rows without a ratio", [{ title: "Row", get: (row) => row.id, wide: true }, { title: "What", get: (row) => row.what, choose: true }, { title: "Status", get: (row) => row.status || "" }, { title: "Reason", get: (row) => row.reason || "", wide: true }], lone));
    if (each(one.mismatches).length) made.append(element("h3", {}, "What differed and was not meant to"), data_table("Mismatches", ["field", "base", "new"].map((key) => ({ title: key, get: (row) => typeof row[key] === "string" ? row[key] : JSON.stringify(row[key]), wide: true })), one.mismatches));
    if (each(one.rows).some((row) => row.published)) made.append(element("p", { class: "soft" }, "* published, not measured: no interval and no verdict."));
  });
}

function acceptance() {
  each(report.acceptance).forEach((one, i) => {
    const made = section("acceptance" + (i || ""), "Acceptance, node by node", source_of(one), notes_of(one));
    const rank = new Map(each(one.stragglers).map((node) => [node.node, node.rank]));
    made.append(data_table("Nodes", [{ title: "Verdict", get: (node) => node.verdict, show: (node) => badge(node.verdict), choose: true }, { title: "Node", get: (node) => node.node },
      { title: "Score", right: true, down: true, get: (node) => node.score, show: (node) => change(node.score) }, { title: "Straggler", right: true, get: (node) => rank.get(node.node) ?? null, show: (node) => rank.has(node.node) ? "rank " + rank.get(node.node) : "\u2013" },
      { title: "Findings", wide: true, get: (node) => [...each(node.rows).filter((row) => row.verdict && row.verdict !== "PASS" && row.verdict !== "ok").map((row) => row.id + ": " + (row.reason || row.verdict)), ...each(node.health && node.health.findings).map((f) => typeof f === "string" ? f : JSON.stringify(f))].slice(0, 6).join("; ") }], each(one.nodes)));
    const ids = [...new Set(each(one.nodes).flatMap((node) => each(node.rows).filter((row) => known(row.ratio)).map((row) => row.id)))];
    if (ids.length && one.nodes.length > 1) {
      const ratio = one.nodes.map((node) => new Map(each(node.rows).map((row) => [row.id, row.ratio])));
      const shown = ids.slice(0, 150);
      if (has_plots) made.append(element("h3", {}, "Time of each node over the fleet's median" + (ids.length > 150 ? ", the first 150 of " + ids.length + " rows" : "")), plot("Heat map of nodes", () => heat_plot(one.nodes.map((node) => node.node), shown, shown.map((id) => ratio.map((of) => of.get(id) ?? null)))));
    }
  });
}

function speedups() {
  if (!report.speedups) return;
  const made = section("speedups", "Speedup over other systems", element("p", {}, "Speedup is the other system's time over this row's: above 1, this row is faster. * marks published numbers, which have no interval."));
  made.append(data_table("Speedups", [...of_row(work_columns()), ...of_row([time_column()]),
    { title: "Other system", get: (one) => text_at(one.system), choose: true },
    { title: "Its time", right: true, get: (one) => one.value, show: (one) => seconds(one.value) + (one.published ? "*" : "") },
    { title: "Speedup", right: true, down: true, get: (one) => one.speedup, show: (one) => times(one.speedup) + (one.published ? "*" : "") },
    { title: "Note", get: (one) => text_at(one.note), wide: true }], report.speedups));
  const cited = [...new Set(report.speedups.map((one) => text_at(one.citation)).filter(Boolean))];
  if (cited.length) made.append(element("details", {}, element("summary", {}, "Sources of the published numbers (" + cited.length + ")"), element("ul", {}, cited.slice(0, 200).map((one) => element("li", {}, one)), cited.length > 200 ? element("li", {}, "and " + (cited.length - 200) + " more, in the result file") : null)));
}

function relations() {
  if (report.roofline) section("roofline", "Roofline", element("p", {}, "Measured rate against arithmetic intensity. The lines are what this machine did in the stream and arithmetic benchmarks beside the rows (medians of " + report.roofline.roofs.map((roof) => roof.rows + " rows: " + roof.name).join("; ") + ")."),
    plot("Roofline plot", () => roofline_plot(report.roofline)), thinned_note(report.roofline.points), data_table("Roofline", [...of_row(work_columns()), { title: "Intensity, FLOP/B", right: true, get: (one) => one.intensity, show: (one) => plain(one.intensity) },
      { title: "Rate", right: true, down: true, get: (one) => one.rate, show: (one) => human(one.rate, "FLOP/s") }, { title: "Of its ceiling", right: true, get: (one) => one.fraction, show: (one) => percent(one.fraction) }], report.roofline.points));
  if (report.precision) section("precision", "Precision: speed against error", element("p", {}, "Each row beside the fastest fp32 row of the same work in the same environment. The error is the largest over the checked outputs, over the RMS of the fp64 reference."),
    plot("Speedup over fp32 against error", () => precision_plot(report.precision)), thinned_note(report.precision), data_table("Precision", [...of_row(work_columns()), ...of_row([time_column()]),
      { title: "fp32", right: true, get: (one) => rows[one.reference].median, show: (one) => seconds(rows[one.reference].median) }, { title: "Speedup over fp32", right: true, down: true, get: (one) => one.speedup, show: (one) => times(one.speedup) },
      { title: "Largest error", right: true, get: (one) => one.error, show: (one) => error_text(one.error) }], report.precision));
  if (report.collectives) section("collectives", "Collectives", element("p", {}, "Bus bandwidth against message size. Dotted: t = \u03b1 + \u03b2\u00b7bytes, by least squares of the relative residuals."),
    plot("Bandwidth curves of the collectives", () => collectives_plot(report.collectives), "tall"), data_table("Fits", [{ title: "Series", get: (one) => one.name, wide: true }, { title: "Sizes", right: true, get: (one) => one.bytes.length, show: (one) => String(one.bytes.length) },
      { title: "Best bandwidth", right: true, get: (one) => Math.max(...one.busbw), show: (one) => human(Math.max(...one.busbw), "B/s") },
      { title: "\u03b1", right: true, get: (one) => one.fit ? one.fit.alpha : null, show: (one) => one.fit ? seconds(one.fit.alpha) + (one.fit.alpha <= 0 ? " (no latency seen)" : "") : one.fit_reason },
      { title: "\u03b2", right: true, get: (one) => one.fit ? one.fit.beta : null, show: (one) => one.fit ? one.fit.beta.toExponential(2) + " s/B" : "\u2013" }, { title: "1/\u03b2", right: true, get: (one) => one.fit && one.fit.beta > 0 ? 1 / one.fit.beta : null, show: (one) => one.fit && one.fit.beta > 0 ? human(1 / one.fit.beta, "B/s") : "\u2013" },
      { title: "Worst residual", right: true, get: (one) => one.fit ? one.fit.worst : null, show: (one) => one.fit ? percent(one.fit.worst) : "\u2013" }], report.collectives));
  if (report.scaling) {
    const made = section("scaling", "Scaling", element("p", {}, "The same problem with more of the machine. Speedup is over the smallest count of the same curve; ideal is proportional."));
    for (const over of ["ranks", "threads"]) {
      const curves = report.scaling.filter((curve) => curve.over === over);
      if (!curves.length) continue;
      made.append(element("h3", {}, "Over " + over));
      if (has_plots) made.append(plot("Speedup over " + over, () => scaling_plot(curves.slice(0, 20), over, "speedup", "speedup")), plot("Efficiency over " + over, () => scaling_plot(curves.slice(0, 20), over, "efficiency", "efficiency")));
      if (curves.length > 20) made.append(element("p", { class: "soft" }, "20 of " + curves.length + " curves are drawn; the table has all."));
      made.append(data_table("Scaling over " + over, [{ title: "Curve", get: (one) => one.name, wide: true }, { title: over, right: true, get: (one) => one.count, show: (one) => String(one.count) }, { title: "Time", right: true, get: (one) => one.seconds, show: (one) => seconds(one.seconds) },
        { title: "Speedup", right: true, get: (one) => one.speedup, show: (one) => times(one.speedup) }, { title: "Ideal", right: true, get: (one) => one.ideal, show: (one) => times(one.ideal) }, { title: "Efficiency", right: true, get: (one) => one.efficiency, show: (one) => percent(one.efficiency) }],
      curves.flatMap((curve) => curve.points.map((point) => ({ ...point, name: curve.name })))));
    }
  }
  if (report.nodes) {
    const part = report.nodes;
    section("nodes", "Nodes", element("p", {}, "Time of each node over the median of the fleet, for " + (part.rows.length < part.of ? "the " + part.rows.length + " rows of " + part.of + " that differ most" : part.of + " rows") + ". Above 1 is slower; an empty cell has no number."),
      plot("Heat map of nodes", () => heat_plot(part.hosts, part.rows.map((row) => row.id), part.rows.map((row) => row.ratios))),
      data_table("Nodes", [{ title: "Row", get: (row) => row.id, wide: true }, { title: "Fleet median", right: true, get: (row) => row.fleet_median, show: (row) => seconds(row.fleet_median) },
        { title: "Slowest node", get: (row) => part.hosts[worst(row.ratios)] }, { title: "Its ratio", right: true, down: true, get: (row) => row.ratios[worst(row.ratios)], show: (row) => times(row.ratios[worst(row.ratios)]) }], part.rows));
  }
}
function worst(ratios) { return ratios.reduce((best, one, i) => known(one) && (best < 0 || one > ratios[best]) ? i : best, -1); }

function histories() {
  each(report.history).forEach((one, i) => {
    const urgency = { slower: 0, drifting: 1, faster: 2, steady: 3, "too short": 4 };
    const series = [...each(one.series)].sort((a, b) => (urgency[a.state] ?? 5) - (urgency[b.state] ?? 5));
    const made = section("history" + (i || ""), "History", source_of(one), notes_of(one), data_table("History", [{ title: "State", get: (s) => s.state, show: (s) => badge(s.state), choose: true }, { title: "Series", get: (s) => s.id, wide: true, find: (s) => each(s.names).join(" ") }, { title: "System", get: (s) => s.system || "", choose: true },
      { title: "Points", right: true, get: (s) => each(s.points).length, show: (s) => String(each(s.points).length) }, { title: "Last", right: true, get: (s) => s.points && s.points.length ? s.points[s.points.length - 1].value : null, show: (s) => s.points && s.points.length ? seconds(s.points[s.points.length - 1].value) : "\u2013" },
      { title: "Over anchored", right: true, get: (s) => s.anchored ? s.anchored.ratio : null, show: (s) => change(s.anchored ? s.anchored.ratio : null) }, { title: "Over rolling", right: true, get: (s) => s.rolling ? s.rolling.ratio : null, show: (s) => change(s.rolling ? s.rolling.ratio : null) },
      { title: "Change points", get: (s) => each(s.change_points).map((c) => c.time + " " + change(c.ratio)).join("; "), wide: true }], series));
    const drawn = series.filter((s) => each(s.points).length > 1);
    if (!has_plots) return;
    for (const s of drawn.slice(0, 6)) made.append(element("h3", {}, badge(s.state), " " + s.id), plot("History of " + s.id, () => history_plot(s)));
    if (drawn.length > 6) {
      const pick = element("select", { class: "pick", "aria-label": "Another series" }, drawn.slice(6).map((s, j) => element("option", { value: j }, s.state + ": " + s.id)));
      const place = plot("History of the series chosen", () => history_plot(drawn[6 + Number(pick.value)]));
      pick.addEventListener("change", () => place.redraw());
      made.append(element("h3", {}, "Another series"), pick, place);
    }
  });
}

function models() {
  each(report.model).forEach((one, i) => {
    const made = section("model" + (i || ""), "Model", source_of(one), element("p", {}, element("code", {}, one.formula)),
      element("p", {}, one.n + " observations, " + one.df + " degrees of freedom. R\u00b2 " + plain(one.r2) + ", adjusted " + plain(one.adjusted_r2) + ", residual \u03c3 " + plain(one.sigma) + (one.f && known(one.f.value) ? ", F(" + one.f.df1 + ", " + one.f.df2 + ") = " + plain(one.f.value) + ", p = " + plain(one.f.p) : "") +
        (one.cluster ? "; errors clustered by " + one.cluster.by + " (" + one.cluster.groups + " groups)" : "") + ". Reference levels: " + Object.entries(one.reference || {}).map(([column, level]) => column + " = " + level).join(", ") + "."),
      one.published ? element("p", { class: "notice" }, "Some observations are published numbers, not measured ones: the intervals are of the fit, not of measurement.") : null, notes_of(one), plot("Coefficients with intervals", () => coefficients_plot(one)));
    made.append(data_table("Coefficients", [{ title: "Term", get: (c) => c.term, wide: true }, { title: "Speedup", right: true, get: (c) => c.speedup, show: (c) => times(c.speedup) }, { title: "Its interval", right: true, get: (c) => c.speedup_interval ? c.speedup_interval[0] : null, show: (c) => c.speedup_interval ? range(...c.speedup_interval, times) : "\u2013" },
      { title: "Estimate", right: true, get: (c) => c.estimate, show: (c) => plain(c.estimate) }, { title: "SE", right: true, get: (c) => c.se, show: (c) => plain(c.se) }, { title: "t", right: true, get: (c) => c.t, show: (c) => plain(c.t) }, { title: "p", right: true, get: (c) => c.p, show: (c) => plain(c.p) },
      { title: "Interval", right: true, get: (c) => c.interval ? c.interval[0] : null, show: (c) => c.interval ? range(...c.interval, plain) : "\u2013" }, { title: "Note", get: (c) => c.note || c.reason || "", wide: true }], each(one.coefficients)));
    if (each(one.aliased).length) made.append(element("h3", {}, "Aliased terms"), element("ul", {}, one.aliased.map((term) => element("li", {}, element("code", {}, term.term), ": " + term.because))));
    if (each(one.observations).length) made.append(element("h3", {}, "Residuals"), plot("Residuals against fitted values", () => residuals_plot(one)), thinned_note(one.observations));
    if (each(one.validation).length) made.append(element("h3", {}, "On observations that it has not seen"), data_table("Validation", [{ title: "Kind", get: (v) => v.kind }, { title: "Left out", get: (v) => v.left_out || "" }, { title: "Observations", right: true, get: (v) => v.n, show: (v) => String(v.n ?? "\u2013") },
      { title: "RMS error", right: true, get: (v) => v.rms_error, show: (v) => plain(v.rms_error) }, { title: "Worst ratio", right: true, get: (v) => v.worst_ratio, show: (v) => times(v.worst_ratio) }, { title: "Reason", get: (v) => v.reason || "", wide: true }], one.validation));
    if (each(one.predictions).length) made.append(element("h3", {}, "Predictions"), data_table("Predictions", [{ title: "Given", get: (p) => Object.entries(p.given || {}).map(([k, v]) => k + " = " + v).join(", "), wide: true }, { title: "Value", right: true, get: (p) => p.value, show: (p) => plain(p.value) }, { title: "Interval", right: true, get: (p) => p.interval ? p.interval[0] : null, show: (p) => p.interval ? range(...p.interval, plain) : "\u2013" },
      { title: "Caution", wide: true, get: (p) => [...each(p.extrapolated).map((e) => "extrapolated: " + (e.column || e)), ...each(p.unseen).map((u) => "unseen: " + u), p.reason || ""].filter(Boolean).join("; ") }], one.predictions));
    if (each(one.citations).length) made.append(element("details", {}, element("summary", {}, "Sources"), element("ul", {}, one.citations.map((c) => element("li", {}, c)))));
  });
}

function environments() {
  const part = report.environments;
  if (!part) return;
  const name = (one, i) => "E" + (i + 1) + " " + one.system;
  const made = section("environments", "Environments", data_table("Environments", [{ title: "Environment", get: (one) => name(one, part.distinct.indexOf(one)) }, { title: "Hosts", get: (one) => one.hosts.slice(0, 12).join(", ") + (one.hosts.length > 12 ? " and " + (one.hosts.length - 12) + " more" : ""), wide: true }, { title: "Files", get: (one) => one.files.join(", "), wide: true }], part.distinct));
  made.append(element("h3", {}, "Differences"));
  if (part.differences.length) {
    const shown = part.distinct.slice(0, 8);
    if (shown.length < part.distinct.length) made.append(element("p", { class: "soft" }, "The first 8 of " + part.distinct.length + " environments are set side by side."));
    made.append(data_table("Differences", [{ title: "Field", get: (one) => one.field }, ...shown.map((one, i) => ({ title: name(one, i), get: (row) => row.values[i] ?? "absent", wide: true }))], part.differences));
  } else made.append(element("p", {}, part.distinct.length > 1 ? "None in hardware and software." : "There is one environment alone."));
  made.append(element("details", {}, element("summary", {}, "What all have in common (" + part.common.length + " fields)"), data_table("Common fields", [{ title: "Field", get: (one) => one.field }, { title: "Value", get: (one) => one.value ?? "unknown", wide: true }], part.common)));
}

function all_rows() {
  if (!rows.length) return;
  const any = (key) => rows.some((row) => known(row[key]));
  const number = (key, title, show) => any(key) ? { title, right: true, get: (row) => row[key], show: (row) => show(row[key]) } : null;
  section("rows", "Every row", element("p", {}, "The last column measures a row again. Times are the median, with a 95 % interval: of the samples of one launch, or of the medians of several launches. p95 and p99 are of single launches."),
    data_table("Every row", [{ title: "Status", get: (row) => row.status, show: (row) => badge(row.status), tip: (row) => row.reason, choose: true }, ...work_columns(), { title: "Settings", get: (row) => row.settings }, time_column(),
      { title: "Interval", right: true, get: (row) => row.low, show: (row) => range(row.low, row.high, seconds), tip: (row) => known(row.low) ? row.low + " \u2026 " + row.high + " s" : null }, number("launches", "Launches", String), number("samples", "Samples", (value) => known(value) ? String(value) : "\u2013"),
      number("p95", "p95", seconds), number("p99", "p99", seconds), number("flops_per_s", "Rate", (value) => human(value, "FLOP/s")), number("images_per_s", "Images", (value) => human(value, "/s")), number("bytes_per_s", "Bandwidth", (value) => human(value, "B/s")), number("fraction", "Of ceiling", percent),
      number("max_error", "Largest error", error_text), number("bound", "Its bound", error_text), number("energy", "Energy", (value) => human(value, "J")), { title: "Repeat", kind: "command", get: (row) => row.repeat, show: (row) => row.repeat ? element("code", {}, row.repeat) : "published" }].filter(Boolean), rows));
}

function files() {
  section("files", "Files", data_table("Files", [{ title: "File", get: (one) => one.name || "result", wide: true }, { title: "Kind", get: (one) => one.kind }, { title: "System", get: (one) => one.system || "" }, { title: "Run", get: (one) => one.run || "" }, { title: "Suite", get: (one) => one.suite || "" },
    { title: "Started", get: (one) => one.started || "" }, { title: "Rows", right: true, get: (one) => one.rows ?? null, show: (one) => known(one.rows) ? String(one.rows) : "\u2013" }, { title: "Command", kind: "command", get: (one) => one.command || "", show: (one) => element("code", {}, one.command || "\u2013") }], report.files));
}

function navigation() {
  document.getElementById("sections").append(element("ul", {}, sections.map(([id, title]) => element("li", {}, element("a", { href: "#" + id }, title.replace(/, .*|: .*| over other.*/, ""))))));
  document.getElementById("foot").append(element("p", {}, "Times are medians of verified runs; ratios are never without both of their values. Hold the pointer over a number for all of its digits. " + (has_plots ? "Plots: plotly.js (MIT licence, in this file)." : "")));
}

for (const part of [heading, summary, comparisons, acceptance, speedups, relations, histories, models, environments, all_rows, files, navigation]) part();
document.documentElement.dataset.ready = "true";
