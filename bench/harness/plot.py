"""plot.py: curves as a PNG beside the JSON they come from, imported by show.py
of each target, and bars as an SVG.  Without matplotlib there is no plot, and a
line says how to get one."""
import io
import itertools
import os

COLUMN_INCHES, ROW_INCHES = 4.2, 3.2
COLORS = 32
BAR_INCHES, OURS, OTHERS = 0.19, "#1b6ca8", "#b8bcc2"
STYLES = ("o-", "s-", "^-", "d-", "v--", "x--", "+:", ".:")


def beside(path, suffix=""):
    """FILE.json -> FILE<suffix>.png"""
    return os.path.splitext(path)[0] + suffix + ".png"


def save_small(figure, path):
    """With a palette: a third of the bytes."""
    from PIL import Image
    whole = io.BytesIO()
    figure.savefig(whole, format="png")
    Image.open(whole).convert("RGB").quantize(COLORS).save(path, optimize=True)


def has_matplotlib():
    try:
        import matplotlib
    except ImportError:
        print("bench: no plot without matplotlib, which"
              " `bash test/setup/packages.sh bench` installs")
        return False
    matplotlib.use("Agg")
    # The same bytes each time; letters stay letters.
    matplotlib.rcParams["svg.hashsalt"] = "skipidx"
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans", "sans-serif"]
    return True


def draw_panel(axis, panel, ticker):
    for style, (label, xs, ys) in zip(STYLES * 9, panel["curves"]):
        axis.plot(xs, ys, style, label=label, linewidth=1, markersize=3)
    if panel.get("over_time"):
        for x in panel["over_time"]:
            axis.axvline(x, color="gray", linewidth=0.8)
        axis.tick_params(axis="x", labelsize=6)
    else:
        axis.set_xscale("log", base=2)
        axis.set_xticks([x for x, _ in panel["ticks"]])
        axis.set_xticklabels([name for _, name in panel["ticks"]], fontsize=6,
                             rotation=45)
    if not panel.get("linear"):
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.minorticks_off()
    axis.set_title(panel["title"], fontsize=9)
    axis.set_xlabel(panel["x"], fontsize=7)
    axis.set_ylabel(panel["y"], fontsize=7)
    axis.tick_params(axis="y", labelsize=6)
    axis.grid(True, linewidth=0.3)
    axis.legend(fontsize=6)


def bars(path, title, panels):
    """panels, one below the other: (title, [(label, value, its text) ...]);
    the first bar of each is ours.  One logarithmic axis for all."""
    if not has_matplotlib():
        return
    from matplotlib import pyplot
    count = max(len(values) for _, values in panels)
    figure, axes = pyplot.subplots(
        len(panels), 1, sharex=True, squeeze=False,
        figsize=(2 * COLUMN_INCHES, (count + 2) * BAR_INCHES * len(panels)))
    least = min(value for _, values in panels for _, value, _ in values)
    most = max(value for _, values in panels for _, value, _ in values)
    for axis, (name, values) in zip(axes.flat, panels):
        places = range(len(values))
        axis.barh(places, [value for _, value, _ in values], height=0.72,
                  color=[OURS] + [OTHERS] * (len(values) - 1))
        for place, (_, value, text) in zip(places, values):
            axis.text(value * 1.1, place, text, va="center", fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(least / 3, most * 6)
        axis.set_yticks(places)
        axis.set_yticklabels([label for label, _, _ in values], fontsize=8)
        axis.invert_yaxis()
        axis.set_title(name, fontsize=9, loc="left")
        for side in ("top", "right", "bottom"):
            axis.spines[side].set_visible(False)
        axis.tick_params(axis="y", length=0)
        axis.set_xticks([])
        axis.minorticks_off()
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print("drawn in %s" % os.path.relpath(path))


def draw(path, title, panels, columns=2):
    """panels: dicts of title, x, y (labels of axes), ticks (x values with
    their names) and curves ((label, xs, ys) each); both axes logarithmic, but
    for y of a panel that is `linear`, and for x of one that has no ticks but
    is `over_time`, with these times marked."""
    if not has_matplotlib():
        return
    from matplotlib import pyplot, ticker
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, squeeze=False, dpi=72,
        figsize=(COLUMN_INCHES * columns, ROW_INCHES * rows))
    for axis, panel in itertools.zip_longest(axes.flat, panels):
        if panel:
            draw_panel(axis, panel, ticker)
        else:
            axis.axis("off")
    figure.suptitle(title, fontsize=9)
    figure.tight_layout()
    save_small(figure, path)
    pyplot.close(figure)
    print("drawn in %s" % os.path.relpath(path))
