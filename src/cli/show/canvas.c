/*
 * Lines of text for the terminal. A picture is put together in memory first, so
 * that it reaches the terminal in one piece.
 */
#include "canvas.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../common/message.h"

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN     20 /* a strip of eight cells; the longest number */
#define COLUMNS_MAX     1000

/* How much deeper a line that goes on begins. */
#define INDENT 2

static const char *const ascii_glyphs[] = {
    [GLYPH_EMPTY_SLOT] = ".",   [GLYPH_PASSED_SLOT] = " ", [GLYPH_MANY_TIMERS] = "#",
    [GLYPH_POINTER] = "v",      [GLYPH_HORIZONTAL] = "-",  [GLYPH_VERTICAL] = "|",
    [GLYPH_TOP_LEFT] = "+",     [GLYPH_TOP_RIGHT] = "+",   [GLYPH_BOTTOM_LEFT] = "+",
    [GLYPH_BOTTOM_RIGHT] = "+",
};

static const char *const unicode_glyphs[] = {
    [GLYPH_EMPTY_SLOT] = "·",   [GLYPH_PASSED_SLOT] = " ", [GLYPH_MANY_TIMERS] = "█",
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

/* The number in COLUMNS, or 0. */
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
    struct winsize size = {0};

    look->rows = 0;
    look->is_narrow = false;
    look->columns = columns_wanted();
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        look->rows = size.ws_row;
        look->is_narrow = size.ws_col > 0 && size.ws_col < COLUMNS_MIN;
        if (look->columns == 0 || (size.ws_col > 0 && look->columns > size.ws_col))
            look->columns = size.ws_col;
    }
    if (look->columns == 0)
        look->columns = COLUMNS_DEFAULT;
    if (look->columns < COLUMNS_MIN)
        look->columns = COLUMNS_MIN;
}

struct show_look show_look_of_output(bool ascii_only)
{
    const char *terminal = getenv("TERM");
    bool is_terminal = isatty(STDOUT_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    struct show_look look = {
        .has_colour = is_terminal && !is_set("NO_COLOR"),
        .is_animated = is_terminal,
    };

    if (is_terminal && !ascii_only && setlocale(LC_CTYPE, "") != NULL)
        look.is_unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    show_look_measure(&look);
    return look;
}

void canvas_begin(struct show_canvas *canvas, const struct show_look *look)
{
    *canvas = (struct show_canvas){.look = *look};
    canvas->stream = open_memstream(&canvas->text, &canvas->bytes);
    if (canvas->stream == NULL)
        out_of_memory();
}

static void change_style(struct show_canvas *canvas, enum show_style style)
{
    if (!canvas->look.has_colour || style == canvas->style)
        return;
    if (canvas->style != STYLE_PLAIN)
        fputs("\033[0m", canvas->stream);
    fputs(colours[style], canvas->stream);
    canvas->style = style;
}

/* Goes on in another line, which has room for so many columns. */
static void wrap_line(struct show_canvas *canvas, size_t columns)
{
    unsigned indent = canvas->indent;

    if (columns <= canvas->look.columns && indent + columns > canvas->look.columns)
        indent = canvas->look.columns - (unsigned)columns;
    change_style(canvas, STYLE_PLAIN);
    fputc('\n', canvas->stream);
    canvas->column = 0;
    canvas->blanks = indent;
}

/* Makes room for a piece that is not to be broken. */
static void begin_piece(struct show_canvas *canvas, enum show_style style, size_t columns)
{
    if (canvas->column == 0)
        canvas->indent = canvas->blanks + INDENT;
    else if (columns > canvas_room(canvas))
        wrap_line(canvas, columns);
    while (canvas->blanks > 0 && columns > canvas_room(canvas))
        canvas->blanks--;
    fprintf(canvas->stream, "%*s", (int)canvas->blanks, "");
    canvas->column += canvas->blanks;
    canvas->blanks = 0;
    change_style(canvas, style);
}

/* How much of the text stays together: a word; of a range that is wider than a
 * line its half, or, in the narrowest lines, a number or what is beside it. */
static size_t piece_length(const struct show_canvas *canvas, const char *text)
{
    static const char digits[] = "0123456789";
    size_t word = strcspn(text, " ");
    size_t half = strcspn(text, ", ") + 1;

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
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    for (const char *rest = text; *rest != '\0';) {
        size_t blanks = strspn(rest, " ");
        canvas->blanks += (unsigned)blanks;
        rest += blanks;
        size_t length = piece_length(canvas, rest);
        if (length == 0)
            continue;
        begin_piece(canvas, style, length);
        fwrite(rest, 1, length, canvas->stream);
        canvas->column += (unsigned)length;
        rest += length;
    }
}

void canvas_glyph(struct show_canvas *canvas, enum show_style style, enum show_glyph glyph)
{
    begin_piece(canvas, style, 1);
    fputs(canvas->look.is_unicode ? unicode_glyphs[glyph] : ascii_glyphs[glyph], canvas->stream);
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
    /* Behind each part but the last, room for " ..." must be left. */
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
    fputc('\n', canvas->stream);
    canvas->column = 0;
    canvas->blanks = 0;
}

void canvas_finish(struct show_canvas *canvas)
{
    if (fclose(canvas->stream) != 0)
        out_of_memory();
}

void canvas_print(struct show_canvas *canvas)
{
    canvas_finish(canvas);
    fwrite(canvas->text, 1, canvas->bytes, stdout);
    free(canvas->text);
}
