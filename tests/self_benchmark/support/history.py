"""Steps in series with 1 % noise, judged by the real judge: the series of history-table. --pairs: how many."""
import importlib.machinery
import importlib.util
import pathlib

from support import analytics

SCRIPT = pathlib.Path(__file__).with_name("history-table")
loader = importlib.machinery.SourceFileLoader("history_table", str(SCRIPT))
table = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(table)


def alarms(step):
    """Series in which the last week gives an alarm, and all series."""
    tool = pathlib.Path(analytics.BIN).parent / "tests" / "judge_series"
    if not tool.exists():
        analytics.tell(skip="the target judge_series was not built")
    series = table.series_of("1 % noise", analytics.pairs_asked(4000))
    return sum(found for _, found, _ in table.Assay(tool).judge(series, step)), len(series)
