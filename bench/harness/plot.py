"""plot.py: curves and bars as SVG, imported by show.py of each target, by
summary.py and by page.py.  The same figures give the same bytes.
"""
import math
import os
from xml.sax.saxutils import escape

PANEL_WIDTH, PANEL_HEIGHT = 430, 252
LEFT, RIGHT, TOP, BOTTOM = 50, 136, 22, 68       # around the axes of a panel
TITLE_HEIGHT = 24
SMALL, MIDDLE, LARGE = 9, 11, 13                 # sizes of letters
LETTER = .62                                     # width over size, at most
COLORS = ("#1b6ca8", "#d1495b", "#2a9d5c", "#b8860b", "#7b52ab", "#00838f",
          "#8d5524", "#c2185b", "#607d8b", "#5d6d1e")
DASHES = ("", "5,2", "1.5,2")
OURS, OTHERS, GRID, INK = "#1b6ca8", "#b8bcc2", "#e0e0e0", "#222"
BAR_HEIGHT, BAR_GAP, BAR_LABELS, BAR_VALUES = 13, 5, 130, 130
MOST_TICKS = 10


def beside(path, suffix=""):
    """FILE.json -> FILE<suffix>.svg"""
    return os.path.splitext(path)[0] + suffix + ".svg"


def text(x, y, words, size=SMALL, anchor="start", more=""):
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s"%s>%s</text>' % (
        x, y, size, anchor, more, escape(str(words)))


def line(x1, y1, x2, y2, color, more=""):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>' % (
        x1, y1, x2, y2, color, more)


def whole(width, height, parts):
    return "\n".join(
        ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
         'viewBox="0 0 %d %d" font-family="DejaVu Sans, sans-serif" fill="%s">'
         % (width, height, width, height, INK),
         '<rect width="%d" height="%d" fill="#fff"/>' % (width, height)] +
        parts + ["</svg>", ""])


# ---- axes ----

class Axis:
    """From values to places; logarithmic, or linear from 0 on."""

    def __init__(self, values, start, end, log, padded):
        self.log, self.start, self.end = log, start, end
        least, most = min(values), max(values)
        if log:
            least, most = math.log(least), math.log(most)
        elif padded:
            least = min(least, 0)
        room = (most - least or 1) * .06
        self.low = least - (room if log or not padded else 0)
        self.high = most + room

    def place(self, value):
        value = math.log(value) if self.log else value
        return (self.start + (value - self.low) / (self.high - self.low) *
                (self.end - self.start))

    def within(self, value):
        value = math.log(value) if self.log else value
        return self.low <= value <= self.high

    def ticks(self):
        """1, 2 and 5 times powers of ten, as many as there is room for."""
        if not self.log:
            step = 10 ** math.floor(math.log10(self.high - self.low))
            step = next(step * part for part in (.1, .2, .5, 1)
                        if (self.high - self.low) / (step * part) <= MOST_TICKS)
            first = math.ceil(self.low / step)
            return [number * step for number in
                    range(first, math.floor(self.high / step) + 1)]
        powers = range(math.floor(self.low / math.log(10)) - 1,
                       math.ceil(self.high / math.log(10)) + 1)
        for parts in ((1, 2, 5), (1,)):
            found = [value for value in (part * 10.0 ** power for power in powers
                                         for part in parts)
                     if self.within(value)]
            if len(found) <= MOST_TICKS:
                return found
        return found[::-(-len(found) // MOST_TICKS)]


def number_name(value):
    return "%gM" % (value / 1e6) if value >= 1e6 else "%g" % value


def ticked_x(panel, axis, bottom):
    """With the name of the axis; names that are long, or many, go down to the
    right."""
    marks = ([(value, number_name(value)) for value in axis.ticks()]
             if panel.get("over_time") else panel["ticks"])
    slanted = sum(len(str(name)) + 1 for _, name in marks) * SMALL * LETTER > (
        PANEL_WIDTH - LEFT - RIGHT)
    for value, name in marks:
        x = axis.place(value)
        yield line(x, bottom, x, bottom + 3, INK)
        if slanted:
            yield text(x - 2, bottom + 11, name, SMALL, "start",
                       ' transform="rotate(32 %.1f %.1f)"' % (x - 2, bottom + 11))
        else:
            yield text(x, bottom + 13, name, SMALL, "middle")
    yield text((axis.start + axis.end) / 2, bottom + (62 if slanted else 28),
               panel["x"], SMALL, "middle")


def curve(xs, ys, x_axis, y_axis, number):
    color = COLORS[number % len(COLORS)]
    dash = DASHES[number // len(COLORS) % len(DASHES)]
    points = [(x_axis.place(x), y_axis.place(y)) for x, y in zip(xs, ys)]
    yield '<polyline fill="none" stroke="%s" stroke-width="1.4"%s points="%s"/>' % (
        color, ' stroke-dasharray="%s"' % dash if dash else "",
        " ".join("%.1f,%.1f" % point for point in points))
    for x, y in points if len(points) <= 16 else []:
        yield '<circle cx="%.1f" cy="%.1f" r="1.8" fill="%s"/>' % (x, y, color)


def drawable(panel):
    """Curves without the points that their axes do not have."""
    def has(x, y):
        return (x is not None and y is not None and
                (panel.get("over_time") or x > 0) and
                (panel.get("linear") or y > 0))
    for label, xs, ys in panel["curves"]:
        points = [(x, y) for x, y in zip(xs, ys) if has(x, y)]
        if points:
            yield label, [x for x, _ in points], [y for _, y in points]


def axes_of(panel, curves):
    xs = [x for _, values, _ in curves for x in values]
    ys = [y for _, _, values in curves for y in values]
    if not panel.get("over_time"):
        xs += [x for x, _ in panel["ticks"]]
    return (Axis(xs, LEFT, PANEL_WIDTH - RIGHT, not panel.get("over_time"), False),
            Axis(ys, PANEL_HEIGHT - BOTTOM, TOP, not panel.get("linear"), True))


def drawn_panel(panel):
    curves = list(drawable(panel))
    parts = [text(LEFT, TOP - 8, panel["title"], MIDDLE)]
    if not curves:
        return parts
    x_axis, y_axis = axes_of(panel, curves)
    right, bottom = PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM
    for value in y_axis.ticks():
        y = y_axis.place(value)
        parts += [line(LEFT, y, right, y, GRID),
                  text(LEFT - 4, y + 3, number_name(value), SMALL, "end")]
    for x in panel.get("over_time") or []:
        if x_axis.within(x):
            parts.append(line(x_axis.place(x), TOP, x_axis.place(x), bottom, "#888"))
    parts += ['<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#888"/>'
              % (LEFT, TOP, right - LEFT, bottom - TOP)]
    parts += ticked_x(panel, x_axis, bottom)
    parts.append(text(12, (TOP + bottom) / 2, panel["y"], SMALL, "middle",
                      ' transform="rotate(-90 12 %.1f)"' % ((TOP + bottom) / 2)))
    for number, (label, xs, ys) in enumerate(curves):
        y = TOP + 8 + number * (SMALL + 5)
        parts += curve(xs, ys, x_axis, y_axis, number)
        parts += [line(right + 8, y - 3, right + 22, y - 3,
                       COLORS[number % len(COLORS)], ' stroke-width="3"'),
                  text(right + 26, y, label)]
    return parts


# ---- figures ----

def figure(title, panels, columns=2):
    """panels: dicts of title, x, y (labels of axes), ticks (x values with
    their names) and curves ((label, xs, ys) each); both axes logarithmic, but
    for y of a panel that is `linear`, and for x of one that has no ticks but
    is `over_time`, with these times marked."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    parts = [text(columns * PANEL_WIDTH / 2, 17, title, LARGE, "middle")]
    for number, panel in enumerate(panels):
        parts += ['<g transform="translate(%d %d)">' % (
            number % columns * PANEL_WIDTH,
            TITLE_HEIGHT + number // columns * PANEL_HEIGHT)]
        parts += drawn_panel(panel) + ["</g>"]
    return whole(columns * PANEL_WIDTH, TITLE_HEIGHT + rows * PANEL_HEIGHT, parts)


def bar_figure(title, panels):
    """panels, one below the other: (title, [(label, value, its text) ...]);
    the first bar of each is ours.  One logarithmic axis for all, from a third
    of the least value on."""
    width = 2 * PANEL_WIDTH
    values = [value for _, bars in panels for _, value, _ in bars]
    axis = Axis([min(values) / 3, max(values)], BAR_LABELS, width - BAR_VALUES,
                True, False)
    parts, y = [text(width / 2, 17, title, LARGE, "middle")], TITLE_HEIGHT
    for name, bars in panels:
        parts.append(text(BAR_LABELS, y + 16, name, MIDDLE))
        y += 22
        for number, (label, value, words) in enumerate(bars):
            end = axis.place(value)
            parts += [
                text(BAR_LABELS - 6, y + BAR_HEIGHT - 3, label, MIDDLE, "end"),
                '<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>' % (
                    BAR_LABELS, y, end - BAR_LABELS, BAR_HEIGHT,
                    OTHERS if number else OURS),
                text(end + 5, y + BAR_HEIGHT - 3, words, MIDDLE)]
            y += BAR_HEIGHT + BAR_GAP
        y += BAR_GAP
    return whole(width, y + BAR_GAP, parts)


def keep(path, drawn):
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawn)
    print("drawn in %s" % os.path.relpath(path))


def draw(path, title, panels):
    keep(path, figure(title, panels))


def bars(path, title, panels):
    keep(path, bar_figure(title, panels))
