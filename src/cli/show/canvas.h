/*
 * The canvas of "elapse show" makes lines of text, and breaks them where the terminal ends. It uses
 * box drawing and colour if the user wants them, and else plain ASCII. A line is broken between
 * words, never within a number.
 *
 * Callers draw with glyphs and styles. Only the canvas knows their characters and escape sequences.
 */
#ifndef ELAPSE_CLI_SHOW_CANVAS_H
#define ELAPSE_CLI_SHOW_CANVAS_H

#include <stdbool.h>

#include "../common/buffer.h"

enum show_style {
    STYLE_PLAIN,
    STYLE_FAINT,   /* places without timers */
    STYLE_STRONG,  /* headings */
    STYLE_TIMER,   /* slots with timers */
    STYLE_POINTER, /* the position of the wheel */
    STYLE_FIRED,
};

enum show_glyph {
    GLYPH_EMPTY_SLOT,
    GLYPH_CLOSED_SLOT,
    GLYPH_MANY_TIMERS,
    GLYPH_POINTER,
    GLYPH_HORIZONTAL,
    GLYPH_VERTICAL,
    GLYPH_TOP_LEFT,
    GLYPH_TOP_RIGHT,
    GLYPH_BOTTOM_LEFT,
    GLYPH_BOTTOM_RIGHT,
};

/* How to draw: what the terminal can do, and what the user wants. */
struct show_look {
    unsigned columns;
    unsigned rows;  /* 0: no limit */
    bool is_narrow; /* the terminal has fewer than `columns` */
    bool is_unicode;
    bool has_colour;
    bool is_animated; /* the output is a terminal on which the cursor can move */
};

/* Returns the look that suits standard output. */
struct show_look show_look_of_output(bool ascii_only);

/* Updates the size, which changes when the user resizes the terminal. */
void show_look_measure(struct show_look *look);

/* A picture that is being drawn. */
struct show_canvas {
    struct show_look look;
    struct elapse__buffer text;
    unsigned column;
    unsigned
        blanks; /* how many blanks to write before the next word, unless the line is broken there */
    unsigned indent; /* the indentation of the next line, if this line is broken */
    enum show_style style;
};

void canvas_begin(struct show_canvas *canvas, const struct show_look *look);

/* Adds text in ASCII. A word for which there is no room begins another line. So a comma must be
 * added together with the word before it. */
__attribute__((format(printf, 3, 4))) void
canvas_text(struct show_canvas *canvas, enum show_style style, const char *format, ...);

void canvas_glyph(struct show_canvas *canvas, enum show_style style, enum show_glyph glyph);

/* Adds blanks up to the column, unless the line is already longer. */
void canvas_move_to(struct show_canvas *canvas, unsigned column);

/* Returns how many columns are left in the line. */
unsigned canvas_room(const struct show_canvas *canvas);

/* Prepares for a part of a list that takes `part_columns` columns. Adds the separator and returns
 * true, or adds " ..." and returns false if there is no room for the part. The first part has no
 * separator (NULL), and begins another line if it must. */
bool canvas_list_next(struct show_canvas *canvas, const char *separator, bool is_last,
                      unsigned part_columns);

void canvas_end_line(struct show_canvas *canvas);

/* Adds the picture to the output, and frees it. */
void canvas_print(struct show_canvas *canvas);

/* Frees the picture. */
void canvas_free(struct show_canvas *canvas);

#endif
