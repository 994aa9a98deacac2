/*
 * Draws lines of text for the terminal. A picture is made in memory, so that it reaches the
 * terminal in one piece.
 */
#include "canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/output.h"

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN     20 /* enough for a strip of eight cells, and for the longest number */
#define COLUMNS_MAX     1000

/* By how many columns more the second line of a broken line is indented. */
#define INDENT 2

static const char *const ascii_glyphs[] = {
    [GLYPH_EMPTY_SLOT] = ".",   [GLYPH_CLOSED_SLOT] = " ", [GLYPH_MANY_TIMERS] = "#",
    [GLYPH_POINTER] = "v",      [GLYPH_HORIZONTAL] = "-",  [GLYPH_VERTICAL] = "|",
    [GLYPH_TOP_LEFT] = "+",     [GLYPH_TOP_RIGHT] = "+",   [GLYPH_BOTTOM_LEFT] = "+",
    [GLYPH_BOTTOM_RIGHT] = "+",
};

static const char *const unicode_glyphs[] = {
    [GLYPH_EMPTY_SLOT] = "·",   [GLYPH_CLOSED_SLOT] = " ", [GLYPH_MANY_TIMERS] = "█",
    [GLYPH_POINTER] = "▼",      [GLYPH_HORIZONTAL] = "─",  [GLYPH_VERTICAL] = "│",
    [GLYPH_TOP_LEFT] = "┌",     [GLYPH_TOP_RIGHT] = "┐",   [GLYPH_BOTTOM_LEFT] = "└",
    [GLYPH_BOTTOM_RIGHT] = "┘",
};

static const char *const colours[] = {
    [STYLE_PLAIN] = "",           [STYLE_FAINT] = "\033[2m",    [STYLE_STRONG] = "\033[1m",
    [STYLE_TIMER] = "\033[1;36m", [STYLE_POINTER] = "\033[33m", [STYLE_FIRED] = "\033[1;32m",
};

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && *value != '\0';
}

/* Returns the number in the variable COLUMNS, or 0. */
static unsigned columns_wanted(void)
{
    const char *value = getenv("COLUMNS");
    char *end;

    if (value == NULL || *value < '0' || *value > '9')
        return 0;
    unsigned long columns = strtoul(value, &end, 10);
    if (*end != '\0')
        return 0;
    return columns < COLUMNS_MAX ? (unsigned)columns : COLUMNS_MAX;
}

void show_look_measure(struct show_look *look)
{
    unsigned columns;
    unsigned rows;

    look->rows = 0;
    look->is_narrow = false;
    look->columns = columns_wanted();
    if (elapse__os_terminal_size(ELAPSE__OS_OUTPUT, &columns, &rows)) {
        look->rows = rows;
        look->is_narrow = columns > 0 && columns < COLUMNS_MIN;
        if (look->columns == 0 || (columns > 0 && look->columns > columns))
            look->columns = columns;
    }
    if (look->columns == 0)
        look->columns = COLUMNS_DEFAULT;
    if (look->columns < COLUMNS_MIN)
        look->columns = COLUMNS_MIN;
}

struct show_look show_look_of_output(bool ascii_only)
{
    const char *terminal = getenv("TERM");
    bool is_terminal = elapse__os_is_terminal(ELAPSE__OS_OUTPUT) && terminal != NULL &&
                       strcmp(terminal, "dumb") != 0;
    struct show_look look = {
        .has_colour = is_terminal && !is_set("NO_COLOR"),
        .is_animated = is_terminal,
    };

    look.is_unicode = is_terminal && !ascii_only && elapse__os_locale_is_utf8();
    show_look_measure(&look);
    return look;
}

void canvas_begin(struct show_canvas *canvas, const struct show_look *look)
{
    ELAPSE__ASSERT(look->columns >= COLUMNS_MIN);
    *canvas = (struct show_canvas){.look = *look};
}

static void change_style(struct show_canvas *canvas, enum show_style style)
{
    ELAPSE__ASSERT(style <= STYLE_FIRED);
    if (!canvas->look.has_colour || style == canvas->style)
        return;
    if (canvas->style != STYLE_PLAIN)
        buffer_add_text(&canvas->text, "\033[0m");
    buffer_add_text(&canvas->text, colours[style]);
    canvas->style = style;
}

/* Begins another line, and indents it so that a piece of `columns` columns has room. */
static void wrap_line(struct show_canvas *canvas, size_t columns)
{
    unsigned indent = canvas->indent;

    ELAPSE__ASSERT(columns > 0);
    if (columns <= canvas->look.columns && indent + columns > canvas->look.columns)
        indent = canvas->look.columns - (unsigned)columns;
    change_style(canvas, STYLE_PLAIN);
    buffer_add_text(&canvas->text, "\n");
    canvas->column = 0;
    canvas->blanks = indent;
}

/* Makes room for a piece that must not be broken. Begins another line if the piece does not fit. */
static void begin_piece(struct show_canvas *canvas, enum show_style style, size_t columns)
{
    if (canvas->column == 0)
        canvas->indent = canvas->blanks + INDENT;
    else if (columns > canvas_room(canvas))
        wrap_line(canvas, columns);
    ELAPSE__ASSERT(columns > 0);
    while (canvas->blanks > 0 && columns > canvas_room(canvas))
        canvas->blanks--;
    buffer_add_format(&canvas->text, "%*s", (int)canvas->blanks, "");
    canvas->column += canvas->blanks;
    canvas->blanks = 0;
    change_style(canvas, style);
}

/* Returns how many bytes at the beginning of the text must not be broken. In most cases that is a
 * word. A range that is wider than a line may be broken in its middle. In the narrowest lines, only
 * a number or the text between two numbers must not be broken. */
static size_t piece_length(const struct show_canvas *canvas, const char *text)
{
    static const char digits[] = "0123456789";
    size_t word = strcspn(text, " ");
    size_t half = strcspn(text, ", ") + 1;

    ELAPSE__ASSERT(*text != ' ');
    if (word <= canvas->look.columns)
        return word;
    if (half < word && half <= canvas->look.columns)
        return half;
    size_t number = strspn(text, digits);
    return number > 0 ? number : strcspn(text, digits);
}

void canvas_text(struct show_canvas *canvas, enum show_style style, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    int total = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ELAPSE__ASSERT(total >= 0);
    ELAPSE__ASSERT((size_t)total < sizeof text);
    (void)total; /* used only by assertions */

    for (const char *rest = text; *rest != '\0';) {
        size_t blanks = strspn(rest, " ");
        canvas->blanks += (unsigned)blanks;
        rest += blanks;
        size_t length = piece_length(canvas, rest);
        if (length == 0)
            continue;
        begin_piece(canvas, style, length);
        buffer_add(&canvas->text, rest, length);
        canvas->column += (unsigned)length;
        rest += length;
    }
}

void canvas_glyph(struct show_canvas *canvas, enum show_style style, enum show_glyph glyph)
{
    ELAPSE__ASSERT(glyph <= GLYPH_BOTTOM_RIGHT);
    begin_piece(canvas, style, 1);
    buffer_add_text(&canvas->text,
                    canvas->look.is_unicode ? unicode_glyphs[glyph] : ascii_glyphs[glyph]);
    canvas->column++;
}

void canvas_move_to(struct show_canvas *canvas, unsigned column)
{
    if (column > canvas->column + canvas->blanks)
        canvas->blanks = column - canvas->column;
}

unsigned canvas_room(const struct show_canvas *canvas)
{
    unsigned taken = canvas->column + canvas->blanks;

    return taken < canvas->look.columns ? canvas->look.columns - taken : 0;
}

bool canvas_list_next(struct show_canvas *canvas, const char *separator, bool is_last,
                      unsigned part_columns)
{
    ELAPSE__ASSERT(part_columns > 0);
    /* After each part but the last, there must be room for " ...". */
    unsigned needed = part_columns + (is_last ? 0 : 4);

    if (separator == NULL) {
        if (canvas_room(canvas) < needed && canvas->column > 0)
            wrap_line(canvas, needed);
        return true;
    }
    if (canvas_room(canvas) < needed + strlen(separator)) {
        canvas_text(canvas, STYLE_PLAIN, " ...");
        return false;
    }
    canvas_text(canvas, STYLE_PLAIN, "%s", separator);
    return true;
}

void canvas_end_line(struct show_canvas *canvas)
{
    change_style(canvas, STYLE_PLAIN);
    buffer_add_text(&canvas->text, "\n");
    canvas->column = 0;
    canvas->blanks = 0;
}

void canvas_print(struct show_canvas *canvas)
{
    output_add_buffer(&canvas->text);
    canvas_free(canvas);
}

void canvas_free(struct show_canvas *canvas)
{
    elapse__buffer_free(&canvas->text);
}
